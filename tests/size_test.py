#!/usr/bin/env python3
"""Checks that functions, headers and files are not too long.

    size_test.py [ROOT]        checks the tree; prints one line per finding, exits with 1 if any
    size_test.py --list        prints an entry for tests/size_allowed.txt per length above a limit
    size_test.py --self-test   checks the measurement itself on small pieces of code

The limits, in lines:
    function  60 from the first line of its signature to its closing brace; C++ and Python
    header   150
    file     400

tests/size_allowed.txt lists the exceptions, one per line:
    function PATH NAME | header PATH | file PATH
The list may only shrink: an entry whose subject is within its limit, or is gone, is an error.

C++ is measured without a compiler. Comments, quoted text and preprocessor lines are blanked, and
braces are counted. A brace at namespace or class scope opens a function if the statement before it
has a parenthesis. These braces do not: `= {...}`, braces inside parentheses, and braces of a
constructor's initializers.
"""

import ast
import pathlib
import re
import sys
from typing import NamedTuple

from source_text import blank, without_comments

MAX_FUNCTION_LINES = 60
MAX_HEADER_LINES = 150
MAX_FILE_LINES = 400
FOLDERS = ("src", "tests", "bench", "web/src", "web/test", "web/bench", "tools", "examples",
           "python")
CPP_SUFFIXES = (".cc", ".h")
SUFFIXES = CPP_SUFFIXES + (".py", ".ts", ".tsx", ".mjs", ".css")
ALLOWED = "tests/size_allowed.txt"


class Length(NamedTuple):
    kind: str  # "function", "header" or "file"
    path: str
    name: str  # of a function; otherwise empty
    line: int
    lines: int

    def entry(self):
        return " ".join(part for part in (self.kind, self.path, self.name) if part)

    def limit(self):
        return {"function": MAX_FUNCTION_LINES, "header": MAX_HEADER_LINES,
                "file": MAX_FILE_LINES}[self.kind]


# ---- C++

SCOPE = re.compile(r"\b(?:class|struct|union|enum)\b[^()]*$")
FUNCTION_NAME = re.compile(r"(?:[\w~]+(?:<[^()]*?>)?::)*"
                           r"(?:operator[^\w\s(]*(?:\(\))?[\w\s]*?|~?\w+)\s*\(")
INITIALIZERS = re.compile(r"\)[\w\s()]*:(?!:)")


def name_of(head):
    """The name of the function whose statement, up to its brace, is `head`."""
    match = FUNCTION_NAME.search(head)
    name = re.sub(r"\s", "", match.group()[:-1]) if match else "?"
    if name in ("TEST", "TEST_F", "TEST_P", "TYPED_TEST", "BENCHMARK_F"):
        return name + "(" + re.sub(r"\s", "", head[match.end():].split(")")[0]) + ")"
    return name


def opens(head, parentheses, inside_value):
    """Returns what a brace after the statement `head` opens: "scope", "function" or "value". A
    value continues its statement, as a default argument or an initializer does."""
    head = re.sub(r"\balignas\s*\([^)]*\)|\[\[[^\]]*\]\]", " ", head).strip()
    if parentheses or inside_value:
        return "value"
    if not head or re.search(r"\bnamespace\b", head) or re.match(r"extern\s*\"", head):
        return "scope"
    if head.endswith("=") or re.search(r"\breturn$", head):
        return "value"
    if SCOPE.search(re.sub(r"^template\s*<[^{]*?>\s*(?=\w)", "", head)) and "(" not in head:
        return "scope"
    if "(" not in head:
        return "value"
    if INITIALIZERS.search(head) and re.search(r"[\w>]$", head):
        return "value"
    return "function"


def cpp_functions(source):
    """Yields (name, first line, number of lines) of each function of C++ source text."""
    code = without_comments(source, True)
    code = re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", lambda m: blank(m.group()), code,
                  flags=re.MULTILINE)
    scopes = []  # Kinds of the open braces; for a value, the statement that it interrupts.
    statement, statement_line, line, parentheses = "", 1, 1, 0
    function = None  # (name, line, depth) of the function being read.
    for char in code:
        if char == "\n":
            line += 1
        if function:
            if char == "{":
                scopes.append("inner")
            elif char == "}":
                scopes.pop()
                if len(scopes) == function[2]:
                    yield function[0], function[1], line - function[1] + 1
                    function, statement = None, ""
            continue
        if char == "{":
            inside_value = bool(scopes) and isinstance(scopes[-1], tuple)
            kind = opens(statement, parentheses, inside_value)
            if kind == "function":
                function = (name_of(statement), statement_line, len(scopes))
            scopes.append(kind if kind != "value" else (statement, statement_line, parentheses))
            statement, parentheses = "", 0
        elif char == "}":
            closed = scopes.pop() if scopes else "scope"
            statement, parentheses = "", 0
            if isinstance(closed, tuple):
                statement, statement_line, parentheses = closed
                statement += "{}"
        elif char == ";":
            statement, parentheses = "", 0
        else:
            if not statement.strip():
                statement_line = line
            statement += char
            parentheses += (char == "(") - (char == ")")
            if char == ":" and re.fullmatch(r"\s*(?:public|private|protected)\s*:", statement):
                statement = ""


# ---- the tree

def python_functions(source):
    """Yields (name, first line, number of lines) of each function of Python source text."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node.name, node.lineno, node.end_lineno - node.lineno + 1


def lengths(root):
    """All lengths of the tree, as Length."""
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix not in SUFFIXES or not path.is_file() or "node_modules" in path.parts:
                continue
            name = str(path.relative_to(root))
            source = path.read_text(encoding="utf-8", errors="replace")
            count = len(source.splitlines())
            yield Length("file", name, "", count, count)
            if path.suffix == ".h":
                yield Length("header", name, "", count, count)
            functions = (cpp_functions if path.suffix in CPP_SUFFIXES
                         else python_functions if path.suffix == ".py" else lambda source: ())
            for function in functions(source):
                yield Length("function", name, *function)


def above_limits(root):
    return sorted(length for length in lengths(root) if length.lines > length.limit())


def check(found, allowed):
    """The findings, as text, for lengths above their limits and the entries of the allow-list."""
    for length in found:
        if length.entry() not in allowed:
            name = f"{length.name}: " if length.name else ""
            yield (f"{length.path}:{length.line}: {name}{length.kind} of {length.lines} lines, "
                   f"more than {length.limit()}")
    entries = {length.entry() for length in found}
    for entry in sorted(set(allowed) - entries):
        yield f"{ALLOWED}: no longer needed, delete it: {entry}"


def read_allowed(path):
    lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    return [line for line in map(str.strip, lines) if line and not line.startswith("#")]


# ---- the self-test

def body(lines):
    return " {\n" + "  f();\n" * (lines - 2) + "}\n"


CPP_CASES = [  # (source, the functions in it)
    ("int f(int a)" + body(5), [("f", 1, 5)]),
    ("namespace a {\nnamespace {\nint f()" + body(3) + "}\n}\n", [("f", 3, 3)]),
    ("// { {\nconst char* t = \"{\";\nint f() { return '{'; }\n", [("f", 3, 1)]),
    ("#define X {\nint f()" + body(4), [("f", 2, 4)]),
    ("struct A : B<int> {\n public:\n  int f() const" + body(4) + "  int g;\n};\n", [("f", 3, 4)]),
    ("template <class T>\nT A<T>::f(T a)" + body(4), [("A<T>::f", 1, 5)]),
    ("A::A(int a)\n    : a_{a}, b_(a),\n      c_{} " + body(4), [("A::A", 1, 6)]),
    ("A::~A()" + body(3), [("A::~A", 1, 3)]),
    ("bool operator==(const A& a,\n  const A& b)" + body(3), [("operator==", 1, 4)]),
    ("A::operator bool() const" + body(3), [("A::operatorbool", 1, 3)]),
    ("void f(Options o = {}, int b = 0)" + body(3), [("f", 1, 3)]),
    ("constexpr int k[] = {\n  g(1),\n};\nint n{3};\nenum class E : char { kA };\n", []),
    ("struct alignas(64) A {\n  int a = g(1);\n  int b{};\n};\n", []),
    ("void f() {\n  auto g = [](int a) {\n    return A{a};\n  };\n  if (x) {\n  }\n}\n",
     [("f", 1, 7)]),
    ("TEST(Group, Name)" + body(3), [("TEST(Group,Name)", 1, 3)]),
    ("auto f() -> std::vector<int>" + body(3), [("f", 1, 3)]),
    ("const Rows kRows = {{\"a\", [](int a) { return a; }}};\nint f() { return 1; }\n",
     [("f", 2, 1)]),
    ("int f() { return R\"({{{)\"; }\nint g()\n{\n}\n", [("f", 1, 1), ("g", 2, 3)]),
]


def self_test():
    failures = []
    for source, expected in CPP_CASES:
        measured = list(cpp_functions(source))
        if measured != expected:
            failures.append(f"{source!r}: measured {measured}, expected {expected}")
    python = "def f():\n    pass\n\n\nclass A:\n    def g(self):\n        return (\n           1)\n"
    if sorted(python_functions(python)) != [("f", 1, 2), ("g", 6, 3)]:
        failures.append(f"Python: {sorted(python_functions(python))}")
    long = Length("function", "src/a.cc", "A::f", 7, 61)
    header = Length("header", "src/a.h", "", 151, 151)
    for found, allowed, count in (
            ([long], [], 1), ([long], [long.entry()], 0), ([], [long.entry()], 1),
            ([header], ["header src/a.h"], 0), ([header], ["header src/b.h"], 2)):
        findings = list(check(found, allowed))
        if len(findings) != count:
            failures.append(f"{found} with {allowed} allowed: {findings}")
    for failure in failures:
        print(failure)
    print(f"self-test: {len(CPP_CASES) + 6} cases, {len(failures)} failures")
    return 1 if failures else 0


def main(arguments):
    if arguments == ["--self-test"]:
        return self_test()
    root = pathlib.Path(__file__).parents[1]
    if arguments == ["--list"]:
        for length in above_limits(root):
            print(length.entry())
        return 0
    if len(arguments) > 1 or any(a.startswith("-") for a in arguments):
        print(__doc__, file=sys.stderr)
        return 2
    root = pathlib.Path(arguments[0]) if arguments else root
    if not (root / "src").is_dir():
        print(f"size_test.py: no src folder in '{root}'", file=sys.stderr)
        return 2
    findings = list(check(above_limits(root), read_allowed(root / ALLOWED)))
    for finding in findings:
        print(finding)
    print(f"sizes: {len(findings)} findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
