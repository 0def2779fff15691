#!/usr/bin/env python3
"""Checks the source tree against its rules.

    layering_test.py [ROOT]        prints one line per finding; exit status 1 if there is one
    layering_test.py --self-test   breaks every rule once in a scratch tree; each must be caught

The rules:
    layering  src/CMakeLists.txt lists the subsystems, each once, with the subsystems that it may use
              (MAY_USE), which stand above it. src/SUBSYSTEM/CMakeLists.txt lists its folders: a
              folder includes only itself and its DEPS; DEPS in the same subsystem stand above it,
              DEPS in another one need that subsystem in MAY_USE. So there are no cycles. Unit tests
              obey the same rule.
    pure      a folder marked PURE uses only PURE folders, and has no I/O, clock, thread,
              environment, mutable global, exception, hash order or result that depends on the
              machine (unit tests are exempt from the second part)
    header    starts with #pragma once, then a comment that says what the header is for
    columns   lines of at most 100 columns (120 in the dashboard); size_test.py checks the rest
    todo      names an issue: TO DO(#12), in one word
    errors    in live/, api/ and exec/ every Error has an explicit code
    executors only exec/ and the configuration name Slurm; what decides, serves and stores does not
    markup    the dashboard never turns text into markup or code
    map       ARCHITECTURE.md has one row per folder, `src/SUBSYSTEM/FOLDER`, with one sentence of
              at most 15 words; files that ARCHITECTURE.md and CONTRIBUTING.md name exist
    folders   at most 14 folders per subsystem, 50 files and 8,000 lines per folder
    launch    exec/launch uses only libc, libcrypto and base/types/result.h, without exceptions and
              threads; with exec/rank and exec/cgroup it has at most 1,800 lines
    alone     at most 10 files are marked ALONE: all others can be compiled in one unit
    names     no two types of one name outside of functions, classes and files: the linker would
              merge them (unit tests are exempt)
"""

import pathlib
import re
import sys
from typing import NamedTuple

from source_text import mutable_globals, privileged_findings, without_comments

COLUMNS = 100
WEB_COLUMNS = 120
WEB_FOLDERS = ("web/src", "web/test", "web/bench", "tests/browser")
WEB_SUFFIXES = (".ts", ".tsx", ".css", ".mjs")
MARKUP = re.compile(r"\b(?:innerHTML|outerHTML|insertAdjacentHTML|dangerouslySetInnerHTML|srcdoc"
                    r"|document\.write|createContextualFragment|DOMParser|eval|new Function)\b")
CODE_FOLDERS = ("src", "tests", "bench")
TEXT_FOLDERS = ("src", "tests", "bench", "tools", "cmake")
TEXT_SUFFIXES = (".cc", ".h", ".py", ".sh", ".cmake", ".txt")
MAX_FOLDERS = 14
MAX_FILES = 50
MAX_LINES = 8000
MAX_ALONE = 10
MAX_PRIVILEGED_LINES = 1800
MAX_WORDS = 15

# Impure words that a file may use: it reports a bug and ends the program, or shares a constant.
EXEMPT = {
    "src/base/types/check.h": {"printing", "ending the program"},
    "src/engine/roster/roster_view.h": {"shared ownership"},
    "src/engine/roster/roster_queries.cc": {"shared ownership"},
    "src/api/port/service.h": {"shared ownership"},
}
NO_EXECUTORS = tuple(f"src/{name}/" for name in ("base", "engine", "sim", "api", "live", "study"))
MAY_NAME_EXECUTORS = (
    "src/live/config/serve_file.cc",  # The section of the configuration file.
    "src/live/config/serve_file.h",
    "src/live/config/serve_file_test.cc",
    "src/live/config/site.cc",        # Where the configuration becomes an executor.
    "src/live/access/manager_mode.cc",  # The mode of this name, and what to use instead of others.
    "src/live/access/manager_mode.h",
    "src/live/access/access_gate_test.cc",
    "src/live/lease/launch.cc",       # The index of an array, as scripts for Slurm read it.
)
NAMED_PATH = re.compile(r"`((?:src|web|tests|signatures|docs|tools|python)/[a-z0-9_./]+)`")
PRIVILEGED = ("exec/launch", "exec/rank", "exec/cgroup")
BARE_ERROR = re.compile(r"\bError\{[^{}]*\}")


class Finding(NamedTuple):
    path: str
    line: int
    rule: str
    text: str

    def __str__(self):
        return f"{self.path}:{self.line}: {self.rule}: {self.text}"


# Forbidden in pure code: (what it is, pattern, reason or alternative).
BANNED = [
    ("a clock", r"\b(?:system_clock|steady_clock|high_resolution_clock|utc_clock|file_clock)\b",
     "the time is an argument"),
    ("a clock", r"\bstd::(?:time|clock)\s*\(|(?<![\w.>:])time\s*\(\s*(?:nullptr|NULL|0|&)"
                r"|(?<![\w.>:])clock\s*\(\s*\)|\b(?:gettimeofday|clock_gettime)\b",
     "the time is an argument"),
    ("the environment", r"\b(?:secure_)?getenv\b", "settings are arguments"),
    ("files", r"\b(?:fopen|[io]?fstream|std::filesystem)\b", "the shells do I/O"),
    ("printing", r"\bstd::(?:cout|cerr|clog|cin)\b|\b(?:f|v|vf)?printf\s*\(|\bf?puts\s*\("
                 r"|\bfmt::print\b", "the shells do I/O"),
    ("ending the program", r"(?<![\w.>:])(?:abort|_?exit)\s*\("
                           r"|\bstd::(?:abort|\w*exit|terminate)\s*\(", "use MUSTER_CHECK"),
    ("threads", r"\bstd::(?:j?thread|(?:\w+_)?mutex|atomic\w*|async|future|promise"
                r"|condition_variable\w*|call_once)\b|\bthread_local\b",
     "the engine has one thread"),
    ("hash containers", r"\bunordered_(?:multi)?(?:map|set)\b|\bstd::hash\b",
     "their order depends on the library; use vectors by id, or std::map"),
    ("foreign randomness", r"\b(?:random_device|mt19937(?:_64)?|minstd_rand0?|default_random_engine"
                           r"|\w+_distribution|random_shuffle|std::shuffle|ranges::shuffle)\b"
                           r"|(?<![\w.>:])s?rand\s*\(|\bstd::s?rand\s*\(|\b[dlm]rand48\b",
     "use base/types/random.h, the same everywhere"),
    ("exceptions", r"\bthrow\b", "a bug is a MUSTER_CHECK, a refusal is a Result"),
    ("shared ownership", r"\bshared_ptr\b|\bmake_shared\b", "own by value, refer by id"),
    ("libm functions", r"\bstd::(?:log(?:2|10|1p)?|exp(?:2|m1)?|pow|a?(?:sin|cos|tan)h?|atan2|cbrt"
                       r"|hypot|[lt]gamma|erfc?)[fl]?\s*\(",
     "their last bits differ between machines; use portable_log and portable_exp"),
    ("a header of the outside world",
     r"#\s*include\s*<(?:thread|mutex|shared_mutex|atomic|future|condition_variable|random|iostream"
     r"|fstream|filesystem|ctime|time\.h|unistd\.h|unordered_map|unordered_set|sys/\w+\.h)>",
     "pure code has no use for it"),
]
BANNED = [(what, re.compile(pattern), why) for what, pattern, why in BANNED]


class Folder(NamedTuple):
    name: str  # "engine/core"
    pure: bool
    deps: tuple
    alone: tuple


class Tree:
    """One source tree and its findings."""

    def __init__(self, root):
        self.root = pathlib.Path(root)
        self.findings = []
        self.may_use = {}  # Subsystem -> the subsystems it may use, in the order of the list.
        self.folders = {}  # "engine/core" -> Folder, in the order of the lists.

    def check(self):
        self.read_subsystems()
        self.check_deps()
        self.check_folders()
        self.check_map()
        self.check_names()
        for path in self.files(CODE_FOLDERS, (".cc", ".h")):
            self.check_code(path)
        for path in self.files(TEXT_FOLDERS, TEXT_SUFFIXES):
            self.check_todo(path)
            self.check_executors(path)
        for path in self.files(WEB_FOLDERS, WEB_SUFFIXES):
            self.check_columns(path, self.read(path), WEB_COLUMNS)
            if path.parts[:2] == ("web", "src"):
                self.check_markup(path)
        return sorted(self.findings)

    def add(self, path, line, rule, text):
        self.findings.append(Finding(str(path), line, rule, text))

    def files(self, folders, suffixes):
        for folder in folders:
            for path in sorted((self.root / folder).rglob("*")):
                if path.is_file() and path.suffix in suffixes and "node_modules" not in path.parts:
                    yield path.relative_to(self.root)

    def read(self, path):
        path = self.root / path
        return path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""

    # ---- layering

    def read_subsystems(self):
        text = re.sub(r"#[^\n]*", "", self.read("src/CMakeLists.txt"))
        for name, rest in re.findall(r"^subsystem\(\s*(\w+)([^)]*)\)", text, re.MULTILINE):
            uses = rest.split()[1:] if rest.split()[:1] == ["MAY_USE"] else []
            for use in uses:
                if use not in self.may_use:
                    self.add("src/CMakeLists.txt", 1, "layering",
                             f"{name} MAY_USE {use}, which is not listed above it")
            self.may_use[name] = uses
            self.read_folders(name)
        if not self.may_use:
            self.add("src/CMakeLists.txt", 1, "layering", "lists no subsystem(...)")

    def read_folders(self, subsystem):
        path = f"src/{subsystem}/CMakeLists.txt"
        text = re.sub(r"#[^\n]*", "", self.read(path))
        for name, rest in re.findall(r"^library\(\s*(\w+)([^)]*)\)", text, re.MULTILINE):
            lists = {"": [], "DEPS": [], "LINK": [], "ALONE": []}
            key = ""
            for word in rest.split():
                if word in lists:
                    key = word
                else:
                    lists[key].append(word)
            folder = f"{subsystem}/{name}"
            self.folders[folder] = Folder(folder, "PURE" in lists[""], tuple(lists["DEPS"]),
                                          tuple(lists["ALONE"]))

    def check_deps(self):
        above = []
        for folder in self.folders.values():
            subsystem = folder.name.split("/")[0]
            path = f"src/{subsystem}/CMakeLists.txt"
            for dep in folder.deps:
                other = dep.split("/")[0]
                if dep not in above:
                    self.add(path, 1, "layering", f"{folder.name} DEPS {dep}: not listed above it")
                elif other != subsystem and other not in self.may_use[subsystem]:
                    self.add(path, 1, "layering",
                             f"{folder.name} DEPS {dep}, but {subsystem} may not use {other}")
                elif folder.pure and not self.folders[dep].pure:
                    self.add(path, 1, "pure", f"{folder.name} is PURE, but its DEPS {dep} is not")
            above.append(folder.name)

    def check_includes(self, path, folder, source):
        allowed = set(folder.deps) | {folder.name}
        is_test = path.name.endswith("_test.cc")
        for number, line in enumerate(without_comments(source, False).splitlines(), 1):
            match = re.match(r"\s*#\s*include\s*([\"<])([^\">]+)[\">]", line)
            if not match:
                continue
            quote, target = match.groups()
            if is_test and target.startswith("tests/"):
                continue
            first = "/".join(target.split("/")[:2])
            if first in self.folders:
                if first not in allowed:
                    self.add(path, number, "layering",
                             f"{folder.name} includes {target}, but {first} is not in its DEPS")
                elif quote == "<":
                    self.add(path, number, "layering", f"own header in angle brackets: {target}")
            elif quote == '"':
                self.add(path, number, "layering",
                         f"quoted include is not \"subsystem/folder/file.h\": {target}")

    # ---- one file of code

    def check_code(self, path):
        source = self.read(path)
        self.check_columns(path, source, COLUMNS)
        if path.suffix == ".h":
            self.check_header(path, source)
        if path.parts[0] != "src" or len(path.parts) < 4:
            return
        if path.parts[1] in ("live", "api", "exec") and not path.name.endswith("_test.cc"):
            self.check_errors(path, source)
        folder = self.folders.get("/".join(path.parts[1:3]))
        if folder is None:
            return
        self.check_includes(path, folder, source)
        if folder.name == "exec/launch" and not path.name.endswith("_test.cc"):
            for number, text in privileged_findings(source):
                self.add(path, number, "launch", text)
        if folder.pure and not path.name.endswith(("_test.cc", "testing.h")):
            self.check_pure(path, source)

    def check_columns(self, path, source, most):
        for number, line in enumerate(source.splitlines(), 1):
            if len(line) > most:
                self.add(path, number, "columns", f"{len(line)} columns, more than {most}")

    def check_header(self, path, source):
        lines = [line for line in source.splitlines() if line.strip()]
        if not source.startswith("#pragma once\n"):
            self.add(path, 1, "header", "does not start with #pragma once")
        elif len(lines) < 2 or not lines[1].startswith("//"):
            self.add(path, 2, "header", "no comment after #pragma once saying what it is for")

    def check_pure(self, path, source):
        code = without_comments(source, True)
        exempt = EXEMPT.get(path.as_posix(), set())
        for number, line in enumerate(code.splitlines(), 1):
            for what, pattern, why in BANNED:
                match = pattern.search(line)
                if match and what not in exempt:
                    self.add(path, number, "pure", f"{what}: '{match.group().strip()}': {why}")
        for number, name in mutable_globals(code):
            self.add(path, number, "pure", f"a mutable global: '{name}': state lives in objects")

    def check_errors(self, path, source):
        code = without_comments(source, True)
        for match in BARE_ERROR.finditer(code):
            if "code" not in match.group().lower():
                self.add(path, code.count("\n", 0, match.start()) + 1, "errors",
                         "an Error without a code; write Error{message, ErrorCode::k...}")

    # ---- the rest

    def check_todo(self, path):
        for number, line in enumerate(self.read(path).splitlines(), 1):
            if re.search(r"\bTO" r"DO\b(?!\s*\(?#\d+)", line):
                self.add(path, number, "todo", "names no issue; write it with (#number)")

    def check_executors(self, path):
        name = path.as_posix()
        if not name.startswith(NO_EXECUTORS) or name in MAY_NAME_EXECUTORS:
            return
        if path.name == "CMakeLists.txt":
            return  # It lists what the configuration uses.
        for number, line in enumerate(self.read(path).splitlines(), 1):
            if re.search(r"slurm|squeue|sinfo|scontrol|s(?:run|batch|cancel)\b", line, re.I):
                self.add(path, number, "executors", "names an executor; exec/ alone knows it")

    def check_markup(self, path):
        for number, line in enumerate(self.read(path).splitlines(), 1):
            if match := MARKUP.search(line):
                self.add(path, number, "markup", f"'{match.group()}': show text as text")

    def check_map(self):
        rows = dict(re.findall(r"^\| `src/(\w+/\w+)` \|([^|\n]*)\|", self.read("ARCHITECTURE.md"),
                               re.MULTILINE))
        for folder in self.folders:
            if folder not in rows:
                self.add("ARCHITECTURE.md", 1, "map", f"has no row for `src/{folder}`")
            elif len(rows[folder].split()) > MAX_WORDS:
                self.add("ARCHITECTURE.md", 1, "map",
                         f"`src/{folder}`: {len(rows[folder].split())} words, more than {MAX_WORDS}")
        for folder in rows:
            if folder not in self.folders:
                self.add("ARCHITECTURE.md", 1, "map", f"`src/{folder}` is not a folder")
        for page in ("ARCHITECTURE.md", "CONTRIBUTING.md"):
            for number, line in enumerate(self.read(page).split("\n"), 1):
                for path in NAMED_PATH.findall(line):
                    if not (self.root / path).exists():
                        self.add(page, number, "map", f"`{path}` does not exist")

    def check_folders(self):
        src = self.root / "src"
        for path in sorted(src.glob("*/*")) if src.is_dir() else []:
            name = path.relative_to(src).as_posix()
            if path.is_dir() and name not in self.folders:
                self.add(f"src/{name}", 1, "layering", "no library(...) lists this folder")
        for subsystem in self.may_use:
            count = sum(name.startswith(subsystem + "/") for name in self.folders)
            if count > MAX_FOLDERS:
                self.add(f"src/{subsystem}", 1, "folders", f"{count} folders, limit {MAX_FOLDERS}")
        for name in self.folders:
            code = [p for p in sorted((src / name).glob("*")) if p.suffix in (".cc", ".h")]
            lines = sum(self.read(p).count("\n") for p in code)
            if len(code) > MAX_FILES:
                self.add(f"src/{name}", 1, "folders", f"{len(code)} files, limit {MAX_FILES}")
            if lines > MAX_LINES:
                self.add(f"src/{name}", 1, "folders", f"{lines} lines, limit {MAX_LINES}")
        lines = sum(self.read(p).count("\n") for name in PRIVILEGED for p in (src / name).glob("*")
                    if p.suffix in (".cc", ".h") and not p.name.endswith("_test.cc"))
        if lines > MAX_PRIVILEGED_LINES:
            self.add("src/exec", 1, "launch", f"{lines} lines, limit {MAX_PRIVILEGED_LINES}")
        alone = sum(len(folder.alone) for folder in self.folders.values())
        if alone > MAX_ALONE:
            self.add("src/CMakeLists.txt", 1, "alone", f"{alone} files are ALONE, limit {MAX_ALONE}")

    def check_names(self):
        first = {}
        for path in self.files(("src",), (".cc", ".h")):
            if path.name.endswith(("_test.cc", "testing.h")):
                continue
            private = False
            for number, line in enumerate(self.read(path).split("\n"), 1):
                if line.startswith("namespace {"):
                    private = True
                elif line == "}  // namespace":
                    private = False
                named = re.match(r"(?:struct|class|enum class) (\w+)(?: final)?(?: :[^;]*)? \{", line)
                if private or not named:
                    continue
                where = f"{path}:{number}"
                other = first.setdefault(named[1], where)
                if other != where:
                    self.add(path, number, "names", f"{named[1]} is another type in {other}")


def main(arguments):
    if arguments == ["--self-test"]:
        import layering_self_test  # It imports this module, so not at the top.
        return layering_self_test.run()
    if len(arguments) > 1 or any(a.startswith("-") for a in arguments):
        print(__doc__, file=sys.stderr)
        return 2
    root = pathlib.Path(arguments[0]) if arguments else pathlib.Path(__file__).parents[1]
    if not (root / "src").is_dir():
        print(f"layering_test.py: no src folder in '{root}'", file=sys.stderr)
        return 2
    findings = Tree(root).check()
    for finding in findings:
        print(finding)
    print(f"layering: {len(findings)} findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
