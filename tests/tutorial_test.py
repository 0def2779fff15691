#!/usr/bin/env python3
"""Runs the commands of the tutorials and compares their output with the documents.

    tests/tutorial_test.py MUSTER TRAINER [TUTORIAL.md...]
    tests/tutorial_test.py --write MUSTER TRAINER [TUTORIAL.md...]   update the documents instead

A block that begins with ```console is run: a line that begins with "$ " is a command, the lines
after it are its output. All blocks of a document run in one shell, in a directory that has the
examples and the programs as a built checkout has them. "console masked" compares with every number
masked, for output with times and ids; the user is called "anna" there. A line
"..." matches any lines.
"""

import getpass
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
TUTORIALS = ROOT / "docs" / "tutorials"
END = "--end-of-command--"
BLOCK = re.compile(r"^```console( masked)?\n(.*?)^```$", re.M | re.S)


def split(body):
    """Commands of a block with the output that the document shows for each."""
    steps = []
    for line in body.splitlines():
        if line.startswith("$ "):
            steps.append((line[2:], []))
        elif line.startswith("> ") and not steps[-1][1]:
            steps[-1] = (steps[-1][0] + "\n" + line[2:], [])
        else:
            steps[-1][1].append(line)
    return steps


def renamed(line, directory):
    """With the names that the documents use for this machine, its user and its directories."""
    line = line.replace(f"{directory}/home", "/home/anna/.local/state/muster")
    line = line.replace(str(directory), "/home/anna/muster")
    return re.sub(rf"\b{re.escape(getpass.getuser())}\b", "anna", line)


def masked(line):
    line = re.sub(r"\d+([.,]\d+)*", "N", line)
    line = re.sub(r"N (ms|s|min|h)\b|\bN(ms|s|m|h)\b", "TIME", line)
    line = re.sub(r"TIME( TIME)*", "TIME", line)
    return re.sub(r"[ -]{2,}|─+", " ", line).strip()


def matches(expected, actual):
    """Whether the lines agree; "..." matches any number of lines."""
    if not expected:
        return not actual
    if expected[0] == "...":
        return any(matches(expected[1:], actual[at:]) for at in range(len(actual) + 1))
    return bool(actual) and expected[0] == actual[0] and matches(expected[1:], actual[1:])


class Shell:
    def __init__(self, directory, muster, trainer):
        bin_dir = directory / "build" / "release" / "bin"
        bin_dir.mkdir(parents=True)
        for program in (muster, trainer, muster.parent / "muster-shim"):
            (bin_dir / program.name).symlink_to(program)
        (directory / "examples").symlink_to(ROOT / "examples")
        (directory / "home").mkdir(mode=0o700)
        (directory / "home" / "config.yaml").write_text("nodes: [{name: gpu1, gpus: 4}]\n")
        # The variables of the caller could name a real manager.
        own = {key: value for key, value in os.environ.items() if not key.startswith("MUSTER_")}
        environment = {**own, "MUSTER_HOME": str(directory / "home"), "COLUMNS": "100",
                       "LANG": "C.UTF-8", "TZ": "UTC", "NO_COLOR": "1"}
        self.process = subprocess.Popen(["bash", "--norc"], cwd=directory, env=environment, text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT)

    def run(self, command):
        self.process.stdin.write(f"{command}\nprintf '\\n%s\\n' {END}\n")
        self.process.stdin.flush()
        lines = []
        for line in self.process.stdout:
            if line == END + "\n":
                break
            lines.append(line.rstrip())
        else:
            raise AssertionError(f"the shell ended in: {command}")
        while lines and not lines[-1]:
            lines.pop()
        return lines

    def close(self):
        self.run("muster serve --stop >/dev/null 2>&1")
        self.process.stdin.close()
        self.process.wait(timeout=60)


def check(document, muster, trainer, write):
    """Differences, as text; with `write` the document gets the real output instead."""
    text = document.read_text()
    trouble = []

    def run_block(block):
        mask, parts = block.group(1) or "", []
        for command, expected in split(block.group(2)):
            actual = shell.run(command)
            if mask:
                actual = [renamed(line, directory) for line in actual]
            change = masked if mask else str.strip
            if not write and not matches([each if each == "..." else change(each) for each in expected],
                                         [change(each) for each in actual]):
                trouble.append("\n".join([f"{document.name}: $ {command}", "expected:", *expected,
                                          "printed:", *actual]))
            shown = expected if "..." in expected else actual
            parts += ["$ " + command.replace("\n", "\n> "), *shown]
        return "\n".join([f"```console{mask}", *parts, "```"])

    with tempfile.TemporaryDirectory(prefix="muster-tutorial-") as directory:
        shell = Shell(pathlib.Path(directory), muster, trainer)
        try:
            new = BLOCK.sub(run_block, text)
        finally:
            shell.close()
    if write and new != text:
        document.write_text(new)
    return trouble


def main():
    signal.alarm(300)  # A command that hangs ends the test.
    words = sys.argv[1:]
    write = words[:1] == ["--write"]
    muster, trainer, *names = words[1:] if write else words
    documents = [pathlib.Path(name) for name in names] or sorted(TUTORIALS.glob("*.md"))
    trouble = []
    for document in documents:
        trouble += check(document, pathlib.Path(muster).resolve(), pathlib.Path(trainer).resolve(), write)
        print(f"{document.name}: {len(trouble)} differences so far")
    print("\n\n".join(trouble))
    return 1 if trouble else 0


if __name__ == "__main__":
    sys.exit(main())
