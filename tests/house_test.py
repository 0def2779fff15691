#!/usr/bin/env python3
"""Holds the source tree to the rules of the house.

    house_test.py [ROOT]        checks the tree; one line a finding, exit status 1 if there is any
    house_test.py --self-test   breaks every rule once in a scratch tree: each break must be caught

The rules:
    layering  a folder of src/ includes only itself and the DEPS of its house_library(), and DEPS
              are folders listed above it in src/CMakeLists.txt, so there are no cycles
    pure      above the line "pure above, shells below" of src/CMakeLists.txt: no I/O, clock,
              thread, environment, mutable global, exception, hash order or unspecified result
              (tests beside the code are free of this rule)
    header    starts with #pragma once, then a comment that says what the header is for
    length    files of 600 lines at most (a warning above 400), lines of 100 columns at most
    todo      names an issue: TO DO(#12), in one word
    executors which cluster manager runs the leases is known to exec/ and below, and to the
              configuration; what decides, serves and remembers does not name one
    markup    the dashboard never turns text into markup or code: what people call their jobs is
              shown as it is; its files keep to the lengths above, of 120 columns
    map       every folder of src/ is listed in ARCHITECTURE.md
    names     no two types of one name outside of functions, classes and files: the linker would
              take one of them for both (tests beside the code are free of this rule)
"""

import pathlib
import re
import sys
import tempfile
from typing import NamedTuple

MOST_LINES = 600
MANY_LINES = 400
MOST_COLUMNS = 100
WEB_FOLDERS = ("web/src", "web/test", "web/bench", "tests/browser")
WEB_SUFFIXES = (".ts", ".tsx", ".css", ".mjs")
WEB_COLUMNS = 120
MARKUP = re.compile(r"\b(?:innerHTML|outerHTML|insertAdjacentHTML|dangerouslySetInnerHTML|srcdoc"
                    r"|document\.write|createContextualFragment|DOMParser|eval|new Function)\b")
CODE_FOLDERS = ("src", "tests", "bench")
TEXT_FOLDERS = ("src", "tests", "bench", "tools", "cmake")
TEXT_SUFFIXES = (".cc", ".h", ".py", ".sh", ".cmake", ".txt")
ALWAYS_FREE = {"base/check.h": {"printing", "ending the program"}}  # It reports a bug and stops.


NO_EXECUTORS = tuple(f"src/{folder}/" for folder in (
    "base", "model", "core", "policy", "mechanism", "placement", "planner", "fit",
    "profiling", "scheduler", "sim", "forecast", "store", "measure", "api", "live", "whatif",
    "client"))
MAY_NAME_EXECUTORS = ("src/live/site.cc",    # Where the configuration becomes an executor.
                      "src/live/launch.cc")  # An array's index, as scripts for Slurm have it.


class Finding(NamedTuple):
    path: str
    line: int
    rule: str
    text: str
    warning: bool = False

    def __str__(self):
        kind = f"warning: {self.rule}" if self.warning else self.rule
        return f"{self.path}:{self.line}: {kind}: {self.text}"


# What pure code may not say: (what it is, pattern, why or what instead).
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
     "use base/random.h, the same everywhere"),
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

TOKEN = re.compile(
    r"""(?P<comment>//[^\n]*|/\*.*?\*/)
      | (?P<raw>\bR"(?P<fence>[^()\s\\]{0,16})\(.*?\)(?P=fence)")
      | (?P<word>[A-Za-z_]\w*)
      | (?P<number>\d(?:'?[\w.])*)
      | (?P<text>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')""",
    re.DOTALL | re.VERBOSE)


def blank(text):
    """As many lines as the text, and nothing on them."""
    return "\n" * text.count("\n")


def without_comments(source, without_text):
    """The source line for line, without comments and, if asked, with all quoted text emptied."""

    def keep(match):
        if match["comment"] is not None:
            return blank(match.group()) or " "
        if without_text and match["raw"] is not None:
            return '""' + blank(match.group())
        if without_text and match["text"] is not None:
            return match.group()[0] * 2
        return match.group()

    return TOKEN.sub(keep, source)


def mutable_globals(code):
    """(line, name) of each variable with static lifetime that is not constant. A heuristic: reads
    statements and braces of code without comments, quoted text and preprocessor lines."""
    code = re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", lambda m: blank(m.group()), code,
                  flags=re.MULTILINE)
    found = []
    scopes = []  # True for a namespace, False for any other pair of braces.
    statement, line, statement_line = "", 1, 1
    for char in code:
        if char in ";{}":
            name = variable_of(statement, at_namespace_scope=all(scopes))
            if name and char != "}":
                found.append((statement_line, name))
            if char == "{":
                opens_namespace = re.search(r"\bnamespace\b|^\s*extern\s*\"", statement)
                scopes.append(bool(opens_namespace))
            elif char == "}" and scopes:
                scopes.pop()
            statement = ""
        else:
            if not statement.strip():
                statement_line = line
            statement += char
        if char == "\n":
            line += 1
    return found


NOT_VARIABLES = re.compile(
    r"\b(?:using|typedef|template|class|struct|union|enum|namespace|friend|static_assert|operator"
    r"|concept|requires|return|constexpr|consteval|const)\b")
VARIABLE = re.compile(r"(?P<type>[\w:<>,*&\s]*[\w>*&\s])(?<=[\s>*&])(?P<name>[A-Za-z_][\w:]*)"
                      r"\s*(?:\[[^\]]*\]\s*)*$")


def variable_of(statement, at_namespace_scope):
    """The name of the mutable variable of static lifetime that the statement declares, or None."""
    statement = re.sub(r"\b(?:public|private|protected)\s*:", " ", statement)
    statement = re.sub(r"\[\[[^\]]*\]\]", " ", statement)
    head = statement.split("=", 1)[0].strip()
    if NOT_VARIABLES.search(head) or "(" in head:
        return None
    lasting = re.match(r"(?:inline\s+)?(?:static|thread_local|constinit|extern)\b", head)
    if not at_namespace_scope and not lasting:
        return None
    match = VARIABLE.fullmatch(head)
    return match["name"] if match and match["type"].strip() else None


class House:
    """One source tree and what is wrong with it."""

    def __init__(self, root):
        self.root = pathlib.Path(root)
        self.findings = []
        self.listed, self.pure = self.read_folder_list()  # In order; and those above the line.
        self.deps = {}  # Folder -> the folders it may include, itself aside.

    def check(self):
        src = self.root / "src"
        folders = sorted(p.name for p in src.iterdir() if p.is_dir()) if src.is_dir() else []
        for folder in folders:
            self.deps[folder] = self.read_deps(folder)
        self.check_deps()
        self.check_map(folders)
        self.check_names()
        for path in self.files(CODE_FOLDERS, (".cc", ".h")):
            self.check_code(path)
        for path in self.files(TEXT_FOLDERS, TEXT_SUFFIXES):
            self.check_todo(path)
            self.check_executors(path)
        for path in self.files(WEB_FOLDERS, WEB_SUFFIXES):
            self.check_length(path, self.read(path), WEB_COLUMNS)
            if path.parts[:2] == ("web", "src"):
                self.check_markup(path)
        return sorted(self.findings)

    def add(self, path, line, rule, text, warning=False):
        self.findings.append(Finding(str(path), line, rule, text, warning))

    def files(self, folders, suffixes):
        for folder in folders:
            for path in sorted((self.root / folder).rglob("*")):
                if path.is_file() and path.suffix in suffixes:
                    yield path.relative_to(self.root)

    def read(self, path):
        path = self.root / path
        return path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""

    # ---- layering

    def read_folder_list(self):
        path = "src/CMakeLists.txt"
        text = self.read(path)
        above, line, below = text.partition("pure above, shells below")
        if not line:
            self.add(path, 1, "layering", "no line 'pure above, shells below'")
        pattern = r"^\s*add_subdirectory\((\w+)\)"
        pure = re.findall(pattern, above, re.MULTILINE)
        return pure + re.findall(pattern, below, re.MULTILINE), set(pure)

    def read_deps(self, folder):
        path = f"src/{folder}/CMakeLists.txt"
        text = re.sub(r"#[^\n]*", "", self.read(path))
        match = re.search(r"\bhouse_library\(\s*(\w+)([^)]*)\)", text)
        if not match or match[1] != folder:
            self.add(path, 1, "layering", f"no house_library({folder} ...)")
            return set()
        words = match[2].split()
        deps = set()
        if "DEPS" in words:
            for word in words[words.index("DEPS") + 1:]:
                if word in ("LINK", "ALONE"):
                    break
                deps.add(word)
        return deps

    def check_deps(self):
        for folder, deps in self.deps.items():
            path = f"src/{folder}/CMakeLists.txt"
            if folder not in self.listed:
                self.add(path, 1, "layering", f"{folder} is not listed in src/CMakeLists.txt")
                continue
            above = self.listed[:self.listed.index(folder)]
            for dep in sorted(deps.difference(above)):
                self.add(path, 1, "layering",
                         f"{folder} DEPS {dep}, which src/CMakeLists.txt does not list above it")

    def check_includes(self, path, folder, source):
        allowed = self.deps.get(folder, set()) | {folder}
        is_test = path.name.endswith("_test.cc")
        for number, line in enumerate(without_comments(source, False).splitlines(), 1):
            match = re.match(r"\s*#\s*include\s*([\"<])([^\">]+)[\">]", line)
            if not match:
                continue
            quote, target = match.groups()
            if is_test and re.match(r"(?:\.\./)*tests/", target):
                continue
            first = target.split("/")[0] if "/" in target else None
            if first in self.deps:
                if first not in allowed:
                    self.add(path, number, "layering",
                             f"{folder} includes {target}, but {first} is not in its DEPS")
                elif quote == "<":
                    self.add(path, number, "layering", f"own header in angle brackets: {target}")
            elif quote == '"':
                self.add(path, number, "layering",
                         f"quoted include is not \"folder/file.h\" of src: {target}")

    # ---- one file of code

    def check_code(self, path):
        source = self.read(path)
        self.check_length(path, source)
        if path.suffix == ".h":
            self.check_header(path, source)
        if path.parts[0] == "src" and len(path.parts) > 2:
            self.check_includes(path, path.parts[1], source)
            if path.parts[1] in self.pure and not path.name.endswith("_test.cc"):
                self.check_pure(path, source)

    def check_length(self, path, source, most_columns=MOST_COLUMNS):
        lines = source.splitlines()
        if len(lines) > MOST_LINES:
            self.add(path, len(lines), "length", f"{len(lines)} lines, more than {MOST_LINES}")
        elif len(lines) > MANY_LINES:
            self.add(path, len(lines), "length", f"{len(lines)} lines: split it before it grows",
                     warning=True)
        for number, line in enumerate(lines, 1):
            if len(line) > most_columns:
                self.add(path, number, "length",
                         f"{len(line)} columns, more than {most_columns}")

    def check_header(self, path, source):
        lines = [line for line in source.splitlines() if line.strip()]
        if not source.startswith("#pragma once\n"):
            self.add(path, 1, "header", "does not start with #pragma once")
        elif len(lines) < 2 or not lines[1].startswith("//"):
            self.add(path, 2, "header", "no comment after #pragma once saying what it is for")

    def check_pure(self, path, source):
        code = without_comments(source, True)
        free = ALWAYS_FREE.get("/".join(path.parts[1:]), set())
        for number, line in enumerate(code.splitlines(), 1):
            for what, pattern, why in BANNED:
                match = pattern.search(line)
                if match and what not in free:
                    self.add(path, number, "pure", f"{what}: '{match.group().strip()}': {why}")
        for number, name in mutable_globals(code):
            self.add(path, number, "pure", f"a mutable global: '{name}': state lives in objects")

    # ---- the rest

    def check_todo(self, path):
        for number, line in enumerate(self.read(path).splitlines(), 1):
            if re.search(r"\bTO" r"DO\b(?!\s*\(?#\d+)", line):
                self.add(path, number, "todo", "names no issue; write it with (#number)")

    def check_executors(self, path):
        name = pathlib.Path(path).as_posix()
        if not name.startswith(NO_EXECUTORS) or name in MAY_NAME_EXECUTORS:
            return
        for number, line in enumerate(self.read(path).splitlines(), 1):
            if re.search(r"slurm|squeue|sinfo|scontrol|s(?:run|batch|cancel)\b", line, re.I):
                self.add(path, number, "executors", "names an executor; exec/ alone knows it")

    def check_markup(self, path):
        for number, line in enumerate(self.read(path).splitlines(), 1):
            if match := MARKUP.search(line):
                self.add(path, number, "markup", f"'{match.group()}': show text as text")

    def check_map(self, folders):
        text = self.read("ARCHITECTURE.md")
        for folder in folders:
            if not re.search(rf"(?<![\w-]){folder}/", text):
                self.add("ARCHITECTURE.md", 1, "map", f"does not list {folder}/")

    def check_names(self):
        first = {}
        for path in sorted((self.root / "src").rglob("*.h")) + sorted(
                (self.root / "src").rglob("*.cc")):
            if path.name.endswith(("_test.cc", "testing.h")):
                continue
            private = False
            for number, line in enumerate(path.read_text().split("\n"), 1):
                if line.startswith("namespace {"):
                    private = True
                elif line == "}  // namespace":
                    private = False
                named = re.match(r"(?:struct|class|enum class) (\w+)(?: final)?(?: :[^;]*)? \{", line)
                if private or not named:
                    continue
                where = f"{path.relative_to(self.root)}:{number}"
                other = first.setdefault(named[1], where)
                if other != where:
                    self.add(str(path.relative_to(self.root)), number, "names",
                             f"{named[1]} is another type in {other}")


# ---- the self-test

CLEAN_TREE = {
    "ARCHITECTURE.md": "`src/base/` numbers; `src/core/` the engine; `src/sim/` the simulator\n",
    "src/CMakeLists.txt": "add_subdirectory(base)\nadd_subdirectory(core)\n"
                          "# ---- pure above, shells below\nadd_subdirectory(sim)\n",
    "src/base/CMakeLists.txt": "house_library(base)\n",
    "src/core/CMakeLists.txt": "house_library(core\n  DEPS base  # numbers\n"
                               "  LINK PkgConfig::CBC\n  ALONE books.cc)\n",
    "src/sim/CMakeLists.txt": "house_library(sim DEPS core base)\n",
    "src/base/check.h": "#pragma once\n\n// Stops at a bug.\n\n#include <cstdio>\n\n"
                        "inline void fail() {\n  std::fprintf(stderr, \"x\");\n"
                        "  std::abort();\n}\n",
    # Everything here is allowed, and looks like something that is not.
    "src/core/engine.h": r'''#pragma once

// The engine. It must not throw, call std::log( or read std::chrono::system_clock.

#include <cmath>
#include <vector>

#include "base/check.h"
#include "core/engine.h"

namespace muster {

/* std::unordered_map is
   banned, std::thread too */
inline constexpr int kMany = 1'000'000;  // 'throw'
inline const char* const kText = "throw getenv(\"x\") // not a comment";
constexpr char kQuote = '"';
static constexpr auto kRaw = R"(throw "std::cout)";
extern const int kElsewhere;
class Forward;
enum class Kind : unsigned char { kOne, kTwo };
using Alias = std::vector<int>;
template <class T>
T twice(T value = T()) { return value + value; }

struct Plain {
  int count = 0;
  std::vector<int> items{1, 2};
  static Plain empty();
  static constexpr int kSize = 3;
  Plain& operator=(const Plain&) = default;
  int time() const { return runtime(0) + operand(1); }
  friend auto operator<=>(const Plain&, const Plain&) = default;
};

inline Plain Plain::empty() {
  int local = 0;
  std::vector<int> list = {1, 2};
  static const int kOnce = 1;
  for (int i = 0; i < 3; ++i) local += i;
  return Plain{local + kOnce};
}
#define MUSTER_STATE(name) \
  int name = 0;

}  // namespace muster
''',
    "src/core/engine.cc": '#include "core/engine.h"\n\nnamespace muster {\nnamespace {\n'
                          "constexpr int kTable[] = {1, 2};\nint helper(int a) { return a; }\n}\n"
                          "int Plain::count_all(int n = 0) { return helper(n) + kTable[0]; }\n}\n",
    "src/core/engine_test.cc": '#include <unordered_map>\n#include "core/engine.h"\n'
                               '#include "../../tests/fixture.h"\nint counter = 0;\n',
    "src/sim/sim.h": "#pragma once\n\n// The simulator.\n\n#include <chrono>\n#include <thread>\n"
                     '#include "core/engine.h"\nint simulated = 0;\n',
    "tests/fixture.h": "#pragma once\n\n// Fixtures. TO" "DO(#7): more of them.\n",
}

PURE_BREAKS = [
    "auto t = std::chrono::system_clock::now();", "auto t = std::chrono::steady_clock::now();",
    "using C = std::chrono::high_resolution_clock;", "auto t = time(nullptr);",
    "auto t = std::time(&x);", "auto t = clock();", 'auto t = getenv("HOME");',
    'auto t = fopen("a", "r");', "std::ifstream in;", "std::ofstream out;", "std::fstream both;",
    'std::cout << "x";', 'std::cerr << "x";', 'std::printf("x");', "std::abort();", "exit(1);",
    "std::thread t;", "std::mutex m;", "std::atomic<int> a;", "auto t = std::async(f);",
    "std::unordered_map<int, int> m;", "std::unordered_set<int> s;", "auto h = std::hash<int>();",
    "std::random_device d;", "std::mt19937 r;", "auto t = rand();", "auto t = std::rand();",
    "std::uniform_int_distribution<int> d;", "std::shuffle(a, b, c);", "throw 1;",
    "std::shared_ptr<int> p;", "auto t = std::log(2.0);", "auto t = std::exp(2.0);",
    "auto t = std::pow(2.0, 3);", "static int count = 0;", "static std::vector<int> cache;",
    "thread_local int count = 0;",
]
GLOBAL_BREAKS = [
    "static int count = 0;", "inline int count = 0;", "int count;", "std::vector<int> cache{1};",
    "std::map<int, int>* table = nullptr;", "auto hook = [](int x) { return x; };",
    "extern int count;", "constinit int count = 3;", "int counts[3] = {1, 2, 3};",
    "#include <mutex>", "#include <random>",
]


def breaks():
    """Yields (rule, path, content): the clean tree with this one file broken must be caught."""
    for text in PURE_BREAKS:
        yield "pure", "src/core/bad.cc", f"namespace muster {{\nvoid f() {{\n  {text}\n}}\n}}\n"
    for text in GLOBAL_BREAKS:
        yield "pure", "src/base/bad.cc", f"namespace muster {{\nnamespace {{\n{text}\n}}\n}}\n"
    yield "pure", "src/core/bad.cc", "void f() { g(1'000, 'x'); throw 1; }  // 'quiet'\n"
    yield "layering", "src/base/bad.cc", '#include "core/engine.h"\n'
    yield "layering", "src/base/bad_test.cc", '#include "sim/sim.h"\n'
    yield "layering", "src/core/bad.cc", "#include <sim/sim.h>\n"
    yield "layering", "src/core/bad.cc", "#include <base/check.h>\n"
    yield "layering", "src/core/bad.cc", '#include "engine.h"\n'
    yield "layering", "src/core/bad.cc", '#include "../base/check.h"\n'
    yield "layering", "src/core/bad.cc", '#include "../../tests/fixture.h"\n'
    yield "layering", "src/base/CMakeLists.txt", "house_library(base DEPS core)\n"
    yield "layering", "src/core/CMakeLists.txt", "house_library(core DEPS base sim)\n"
    yield "layering", "src/sim/CMakeLists.txt", "add_library(sim)\n"
    yield "layering", "src/CMakeLists.txt", "add_subdirectory(base)\nadd_subdirectory(core)\n"
    yield "header", "src/core/bad.h", "// Late.\n#pragma once\n"
    yield "header", "src/sim/bad.h", "#pragma once\n\n#include <vector>\n"
    yield "header", "tests/bad.h", "#ifndef BAD_H\n#define BAD_H\n#endif\n"
    yield "length", "src/sim/bad.cc", "int f();\n" * (MOST_LINES + 1)
    yield "length", "tests/bad.cc", "// " + "x" * MOST_COLUMNS + "\n"
    yield "todo", "src/sim/bad.cc", "// TO" "DO: later\n"
    yield "todo", "tools/bad.sh", "# TO" "DO(me) later\n"
    yield "executors", "src/sim/bad.cc", "// Ask squeue first.\n"
    yield "markup", "web/src/bad.tsx", "box.innerHTML = job.name;\n"
    yield "length", "web/src/bad.ts", "// " + "x" * 118 + "\n"
    yield "map", "src/extra/CMakeLists.txt", "house_library(extra)\n"
    yield "names", "src/sim/plain.h", "#pragma once\n\n// Twice.\n\nstruct Plain {\n};\n"


def findings_in(tree):
    with tempfile.TemporaryDirectory() as scratch:
        for name, content in tree.items():
            path = pathlib.Path(scratch, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content, encoding="utf-8")
        return House(scratch).check()


def self_test():
    failures = [f"false alarm in the clean tree: {f}" for f in findings_in(CLEAN_TREE)]
    cases = list(breaks())
    for rule, path, content in cases:
        found = findings_in({**CLEAN_TREE, path: content})
        where = "ARCHITECTURE.md" if rule == "map" else path
        if not any((f.rule, f.path, f.warning) == (rule, where, False) for f in found):
            failures.append(f"not caught: {rule}: {path}: {content[:200]!r}")
    long_file = {"src/sim/long.cc": "int f();\n" * (MANY_LINES + 1)}
    if [f.warning for f in findings_in({**CLEAN_TREE, **long_file})] != [True]:
        failures.append(f"a file of {MANY_LINES + 1} lines does not give just a warning")
    for failure in failures:
        print(failure)
    print(f"self-test: {len(cases)} broken trees, {len(failures)} failures")
    return 1 if failures else 0


def main(arguments):
    if arguments == ["--self-test"]:
        return self_test()
    if len(arguments) > 1 or any(a.startswith("-") for a in arguments):
        print(__doc__, file=sys.stderr)
        return 2
    root = pathlib.Path(arguments[0]) if arguments else pathlib.Path(__file__).parents[1]
    if not (root / "src").is_dir():
        print(f"house_test.py: no src folder in '{root}'", file=sys.stderr)
        return 2
    findings = House(root).check()
    for finding in findings:
        print(finding)
    errors = sum(not f.warning for f in findings)
    print(f"house: {errors} findings, {len(findings) - errors} warnings")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
