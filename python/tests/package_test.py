"""The package: standard library only, of Python 3.9 on, and installable from the tree."""

import ast
import contextlib
import shutil
import subprocess
import sys
import unittest

from helper import LIBRARY, LibraryTest


# The modules of muster.ralp.
RALP = {"ralp.py", "_chain.py", "_exchange.py", "_parameter_server.py"}


class Sources(LibraryTest):
    def modules(self):
        return sorted((LIBRARY / "muster").glob("*.py"))

    def test_of_python_3_9(self):
        for path in self.modules():
            ast.parse(path.read_text(), path.name, feature_version=(3, 9))

    @unittest.skipIf(sys.version_info < (3, 10), "Python 3.9 has no list of its own modules")
    def test_standard_library_only(self):
        for path in self.modules():
            tree = ast.parse(path.read_text())
            # The exporter of layers is about PyTorch, and imports it only when it is used.
            later = {"torch"} if path.name == "layers.py" else set()
            always = {"torch"} if path.name in RALP else set()
            for node in ast.walk(tree):
                names = []
                if isinstance(node, ast.Import):
                    names = [alias.name for alias in node.names]
                elif isinstance(node, ast.ImportFrom) and node.level == 0:
                    names = [node.module]
                for name in names:
                    allowed = {*sys.stdlib_module_names, "muster", *always}
                    allowed |= set() if node in tree.body else later
                    self.assertIn(name.split(".")[0], allowed, path.name)


    def test_only_ralp_needs_pytorch(self):
        code = ("import importlib, sys\n"
                f"for name in {sorted(p.stem for p in self.modules() if p.name not in RALP)}:\n"
                "    importlib.import_module('muster.' + name)\n"
                "print('torch' in sys.modules)")
        self.says(self.start(code), "False")


# A newer setuptools makes wheels itself.
CAN_INSTALL = """
import setuptools, pip
try: import setuptools.command.bdist_wheel
except ImportError: import wheel
"""


def python_with_pip():
    """This one, else Debian's."""
    for python in (sys.executable, "/usr/bin/python3"):
        with contextlib.suppress(FileNotFoundError):
            if subprocess.run([python, "-c", CAN_INSTALL], stderr=subprocess.DEVNULL,
                              check=False).returncode == 0:
                return python
    return None


class Install(LibraryTest):
    def test_by_pip_from_the_tree(self):
        python = python_with_pip()
        if python is None:
            self.skipTest("SKIPPED: Install: no Python with pip, setuptools and wheel here")
        source, there = self.folder / "python", self.folder / "there"
        shutil.copytree(LIBRARY, source, ignore=shutil.ignore_patterns("build", "*.egg-info"))
        done = subprocess.run(
            [python, "-m", "pip", "install", "--quiet", "--no-build-isolation", "--no-deps",
             "--no-index", "--disable-pip-version-check", "--target", there, source],
            capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        found = subprocess.run([python, "-c", "import muster; print(muster.__file__)"],
                               env={"PYTHONPATH": str(there)}, cwd=self.folder, text=True,
                               stdout=subprocess.PIPE, check=True)
        self.assertEqual(found.stdout.strip(), str(there / "muster" / "__init__.py"))
        self.assertTrue((there / "muster" / "py.typed").exists())


if __name__ == "__main__":
    unittest.main()
