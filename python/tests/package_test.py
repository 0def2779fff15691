"""The package: standard library only, of Python 3.9 on, and installable from the tree."""

import ast
import importlib.util
import shutil
import subprocess
import sys
import unittest

from helper import LIBRARY, LibraryTest


class Sources(LibraryTest):
    def modules(self):
        return sorted((LIBRARY / "muster").glob("*.py"))

    def test_of_python_3_9(self):
        for path in self.modules():
            ast.parse(path.read_text(), path.name, feature_version=(3, 9))

    @unittest.skipIf(sys.version_info < (3, 10), "Python 3.9 has no list of its own modules")
    def test_standard_library_only(self):
        for path in self.modules():
            for node in ast.walk(ast.parse(path.read_text())):
                names = []
                if isinstance(node, ast.Import):
                    names = [alias.name for alias in node.names]
                elif isinstance(node, ast.ImportFrom) and node.level == 0:
                    names = [node.module]
                for name in names:
                    self.assertIn(name.split(".")[0], {*sys.stdlib_module_names, "muster"},
                                  path.name)


class Install(LibraryTest):
    def test_by_pip_from_the_tree(self):
        missing = [name for name in ("pip", "setuptools", "wheel")
                   if importlib.util.find_spec(name) is None]
        if missing == ["wheel"] and importlib.util.find_spec("setuptools.command.bdist_wheel"):
            missing = []  # A newer setuptools makes wheels itself.
        if missing:
            self.skipTest(f"SKIPPED: Install: no {' and no '.join(missing)} here")
        source, there = self.folder / "python", self.folder / "there"
        shutil.copytree(LIBRARY, source, ignore=shutil.ignore_patterns("build", "*.egg-info"))
        done = subprocess.run(
            [sys.executable, "-m", "pip", "install", "--quiet", "--no-build-isolation", "--no-deps",
             "--no-index", "--disable-pip-version-check", "--target", there, source],
            capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        found = subprocess.run([sys.executable, "-c", "import muster; print(muster.__file__)"],
                               env={"PYTHONPATH": str(there)}, cwd=self.folder, text=True,
                               stdout=subprocess.PIPE, check=True)
        self.assertEqual(found.stdout.strip(), str(there / "muster" / "__init__.py"))
        self.assertTrue((there / "muster" / "py.typed").exists())


if __name__ == "__main__":
    unittest.main()
