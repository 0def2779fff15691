#!/usr/bin/env python3
"""Writes docs/reference/command-line.md from the --help of all commands.

    tools/command_line.py build/release/bin/muster           write the document
    tools/command_line.py --check build/release/bin/muster   exit with 1 if it is out of date
"""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
DOCUMENT = ROOT / "docs" / "reference" / "command-line.md"
HEAD = """# Command line

This page lists all commands of `muster` and their options. It is generated from `muster --help`:

```
tools/command_line.py build/release/bin/muster
```

Exit status: 0 success, 1 failure, 2 wrong usage or wrong input, 130 interrupted. `muster plan` has two more, listed there.
"""


def help_of(muster, words):
    run = subprocess.run([muster, *words, "--help"], check=True, capture_output=True, text=True)
    return "\n".join(line.rstrip() for line in run.stdout.strip().splitlines())


def commands_in(text):
    """The names in all groups of subcommands of a help text."""
    names = []
    inside = False
    for line in text.splitlines():
        if re.match(r"\S.*:$", line):
            inside = not line.startswith(("Options", "Positionals", "Usage", "Example"))
        elif inside:
            found = re.match(r"  ([a-z][a-z-]*)(\s|$)", line)
            if found:
                names.append(found.group(1))
    return names


def sections(muster, words):
    text = help_of(muster, words)
    subcommands = commands_in(text) if len(words) < 2 else []
    title = " ".join(["muster", *words])
    yield f"\n{'#' * (2 if len(words) < 2 else 3)} {title}\n\n```\n{text}\n```\n"
    for name in subcommands:
        yield from sections(muster, [*words, name])


def main():
    check = sys.argv[1:2] == ["--check"]
    muster = sys.argv[2 if check else 1]
    text = HEAD + "".join(sections(muster, []))
    if not check:
        DOCUMENT.write_text(text)
        return 0
    if DOCUMENT.read_text() == text:
        return 0
    print(f"{DOCUMENT.relative_to(ROOT)} is out of date: run tools/command_line.py MUSTER")
    return 1


if __name__ == "__main__":
    sys.exit(main())
