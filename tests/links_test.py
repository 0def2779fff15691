#!/usr/bin/env python3
"""Checks the documents: links, headings that links name, mentions of documents, length of README.

    tests/links_test.py              check the repository
    tests/links_test.py --self-test  break each rule in a scratch tree; each must be reported
"""

import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
README_WORDS = 900
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
FENCE = re.compile(r"^\s*(```|~~~)")
# A document named in code or text by its path from the root of the repository.
MENTION = re.compile(r"(?<![\w/.-])docs/[\w/-]+\.md\b")
SKIPPED = ("tests/fuzz/corpus/", "web/build/", "tests/links_test.py")


def tracked(root):
    names = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=root, check=True,
                           capture_output=True, text=True).stdout.splitlines()
    return [name for name in names if (root / name).is_file()]


def prose(text):
    """The lines outside code blocks, with their numbers."""
    inside = False
    for number, line in enumerate(text.splitlines(), 1):
        if FENCE.match(line):
            inside = not inside
        elif not inside:
            yield number, re.sub(r"`[^`]*`", "", line)


def anchors(text):
    """The fragments that a renderer makes from headings."""
    found = set()
    inside = False
    for line in text.splitlines():
        if FENCE.match(line):
            inside = not inside
        heading = re.match(r"#{1,6}\s+(.*?)\s*#*$", line)
        if inside or not heading:
            continue
        words = re.sub(r"[^\w\- ]", "", heading.group(1).replace("`", "").lower())
        anchor = words.replace(" ", "-")
        count = sum(1 for each in found if each == anchor or re.fullmatch(anchor + r"-\d+", each))
        found.add(f"{anchor}-{count}" if count else anchor)
    return found


def check_link(root, name, target):
    """Returns the problem with the target of a link in the document `name`, or None."""
    if re.match(r"[a-z]+:", target):
        return None
    path, _, fragment = target.partition("#")
    file = (root / name).parent / path if path else root / name
    try:
        file.resolve().relative_to(root.resolve())
    except ValueError:
        return "leads out of the repository"
    if not file.exists():
        return "no such file"
    if fragment and file.suffix == ".md" and fragment not in anchors(file.read_text()):
        return f"no heading '#{fragment}' in {file.resolve().relative_to(root.resolve())}"
    return None


def findings(root):
    for name in tracked(root):
        if name.startswith(SKIPPED):
            continue
        try:
            text = (root / name).read_text()
        except UnicodeDecodeError:
            continue
        if name.endswith(".md"):
            for number, line in prose(text):
                for target in LINK.findall(line):
                    wrong = check_link(root, name, target)
                    if wrong:
                        yield f"{name}:{number}: {target}: {wrong}"
        for number, line in enumerate(text.splitlines(), 1):
            for mention in MENTION.findall(line):
                if not (root / mention).exists():
                    yield f"{name}:{number}: {mention}: no such file"
    words = len((root / "README.md").read_text().split())
    if words > README_WORDS:
        yield f"README.md: {words} words; at most {README_WORDS}"


def self_test():
    broken = {
        "no such file": ("README.md", "[a](docs/none.md)\n"),
        "leads out": ("README.md", "[a](../other/README.md)\n"),
        "no heading": ("README.md", "[a](docs/there.md#absent)\n"),
        "docs/gone.md: no such file": ("code.py", "# See docs/gone.md.\n"),
        "at most 900": ("README.md", "word " * 901),
    }
    for expected, (name, text) in broken.items():
        with tempfile.TemporaryDirectory() as scratch:
            root = pathlib.Path(scratch)
            subprocess.run(["git", "init", "-q"], cwd=root, check=True)
            (root / "docs").mkdir()
            (root / "docs/there.md").write_text("# Here\n## Two words: `x`\n")
            (root / "README.md").write_text("[a](docs/there.md#two-words-x)\n")
            assert not list(findings(root)), list(findings(root))
            (root / name).write_text(text)
            found = list(dict.fromkeys(findings(root)))  # A link is a mention too.
            assert len(found) == 1 and expected in found[0], (expected, found)
    print(f"links: {len(broken)} rules report what they should")


def main():
    if sys.argv[1:] == ["--self-test"]:
        self_test()
        return 0
    found = list(dict.fromkeys(findings(ROOT)))
    print("\n".join([*found, f"links: {len(found)} findings"]))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
