"""Breaks every rule of layering_test.py once in a scratch tree: a rule that never fires is useless."""

import pathlib
import tempfile

from layering_test import (COLUMNS, MAX_ALONE, MAX_FILES, MAX_FOLDERS, MAX_LINES,
                           MAX_PRIVILEGED_LINES, MAX_WORDS, Tree)

CLEAN_TREE = {
    "ARCHITECTURE.md": "| `src/base/types` | numbers |\n| `src/base/os` | files |\n| `src/engine/core` | the engine |\n"
                       "| `src/sim/run` | the simulator |\n| `src/exec/launch` | root |\n",
    "src/CMakeLists.txt": "subsystem(base)\nsubsystem(engine MAY_USE base)\n"
                          "subsystem(exec MAY_USE base)\n"
                          "subsystem(sim MAY_USE engine base)  # one driver\n",
    "src/exec/CMakeLists.txt": "library(launch DEPS base/types base/os)\n",
    "src/base/os/files.h": "#pragma once\n\n// Files.\n",
    "src/exec/launch/grant.cc": '#include "exec/launch/grant.h"\n\n#include <openssl/evp.h>\n'
                                '#include <sys/socket.h>\n#include <unistd.h>\n\n#include <cstdio>\n'
                                '#include <string_view>\n\n#include "base/types/result.h"\n'
                                'auto text = "try to throw";  // catch pthread_create\n',
    "src/exec/launch/grant_test.cc": "#include <thread>\nvoid f() { throw 1; }\n" +
                                     "int f();\n" * MAX_PRIVILEGED_LINES,
    "src/base/CMakeLists.txt": "library(types PURE)\nlibrary(os)\n",
    "src/engine/CMakeLists.txt": "library(core PURE\n  DEPS base/types  # numbers\n"
                                 "  LINK PkgConfig::CBC\n  ALONE books.cc)\n",
    "src/sim/CMakeLists.txt": "library(run DEPS engine/core base/types)\n",
    "src/base/types/check.h": "#pragma once\n\n// Stops at a bug.\n\n#include <cstdio>\n\n"
                        "inline void fail() {\n  std::fprintf(stderr, \"x\");\n"
                        "  std::abort();\n}\n",
    # Everything here is allowed, and looks like something that is not.
    "src/engine/core/engine.h": r'''#pragma once

// The engine. It must not throw, call std::log( or read std::chrono::system_clock.

#include <cmath>
#include <vector>

#include "base/types/check.h"
#include "engine/core/engine.h"

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
    "src/engine/core/engine.cc": '#include "engine/core/engine.h"\n\nnamespace muster {\nnamespace {\n'
                          "constexpr int kTable[] = {1, 2};\nint helper(int a) { return a; }\n}\n"
                          "int Plain::count_all(int n = 0) { return helper(n) + kTable[0]; }\n}\n",
    "src/engine/core/engine_test.cc": '#include <unordered_map>\n#include "engine/core/engine.h"\n'
                               '#include "tests/fixture.h"\nint counter = 0;\n',
    "src/sim/run/sim.h": "#pragma once\n\n// The simulator.\n\n#include <chrono>\n#include <thread>\n"
                     '#include "engine/core/engine.h"\nint simulated = 0;\n',
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
        yield "pure", "src/engine/core/bad.cc", f"void f() {{\n  {text}\n}}\n"
    for text in GLOBAL_BREAKS:
        yield "pure", "src/base/types/bad.cc", f"namespace muster {{\nnamespace {{\n{text}\n}}\n}}\n"
    yield "pure", "src/engine/core/bad.cc", "void f() { g(1'000, 'x'); throw 1; }  // 'quiet'\n"
    yield "pure", "src/engine/CMakeLists.txt", "library(fit)\nlibrary(core PURE DEPS engine/fit)\n"
    yield from layering_breaks()
    yield "header", "src/engine/core/bad.h", "// Late.\n#pragma once\n"
    yield "header", "src/sim/run/bad.h", "#pragma once\n\n#include <vector>\n"
    yield "header", "tests/bad.h", "#ifndef BAD_H\n#define BAD_H\n#endif\n"
    yield "columns", "tests/bad.cc", "// " + "x" * COLUMNS + "\n"
    yield "columns", "web/src/bad.ts", "// " + "x" * 118 + "\n"
    yield "todo", "src/sim/run/bad.cc", "// TO" "DO: later\n"
    yield "todo", "tools/bad.sh", "# TO" "DO(me) later\n"
    yield "errors", "src/live/manager/bad.cc", 'auto e = Error{"no such job"};\n'
    yield "executors", "src/sim/run/bad.cc", "// Ask squeue first.\n"
    yield "markup", "web/src/bad.tsx", "box.innerHTML = job.name;\n"
    yield "map", "ARCHITECTURE.md", "| `src/base/types` | numbers |\n| `src/sim/run` | runs |\n"
    yield "map", "ARCHITECTURE.md", CLEAN_TREE["ARCHITECTURE.md"] + "| `src/sim/gone` | gone |\n"
    yield "map", "CONTRIBUTING.md", "Change `src/sim/run/gone.cc`.\n"
    yield "map", "ARCHITECTURE.md", CLEAN_TREE["ARCHITECTURE.md"].replace(
        "numbers", "word " * (MAX_WORDS + 1))
    yield "folders", "src/base/CMakeLists.txt", "library(types PURE)\n" + "".join(
        f"library(extra{i})\n" for i in range(MAX_FOLDERS))
    yield "folders", "src/sim/run/bad.cc", "int f();\n" * (MAX_LINES + 1)
    yield "alone", "src/sim/CMakeLists.txt", "library(run DEPS engine/core base/types ALONE " + \
        " ".join(f"a{i}.cc" for i in range(MAX_ALONE)) + ")\n"
    yield from launch_breaks()
    yield "names", "src/sim/run/plain.h", "#pragma once\n\n// Twice.\n\nstruct Plain {\n};\n"


def launch_breaks():
    for text in ('#include <nlohmann/json.hpp>', '#include <yaml-cpp/yaml.h>', '#include <thread>',
                 '#include <pthread.h>', '#include <iostream>', '#include <chrono>',
                 '#include <fmt/format.h>', '#include "base/os/files.h"', '#  include <mutex>',
                 'void f() { throw 1; }', 'void f() { try { g(); } catch (...) {} }',
                 'std::thread t;'):
        yield "launch", "src/exec/launch/bad.cc", text + "\n"
    for folder in ("launch", "rank", "cgroup"):
        yield "launch", f"src/exec/{folder}/bad.cc", "int f();\n" * MAX_PRIVILEGED_LINES


def layering_breaks():
    yield "layering", "src/base/types/bad.cc", '#include "engine/core/engine.h"\n'
    yield "layering", "src/base/types/bad_test.cc", '#include "sim/run/sim.h"\n'
    yield "layering", "src/engine/core/bad.cc", "#include <sim/run/sim.h>\n"
    yield "layering", "src/engine/core/bad.cc", "#include <base/types/check.h>\n"
    yield "layering", "src/engine/core/bad.cc", '#include "engine.h"\n'
    yield "layering", "src/engine/core/bad.cc", '#include "../../base/types/check.h"\n'
    yield "layering", "src/engine/core/bad.cc", '#include "tests/fixture.h"\n'
    yield "layering", "src/base/CMakeLists.txt", "library(types PURE DEPS engine/core)\n"
    yield "layering", "src/engine/CMakeLists.txt", "library(core DEPS base/types sim/run)\n"
    yield "layering", "src/engine/CMakeLists.txt", \
        "library(core DEPS base/types engine/fit)\nlibrary(fit)\n"
    yield "layering", "src/sim/CMakeLists.txt", "add_library(run)\n"
    yield "layering", "src/CMakeLists.txt", "subsystem(base)\nsubsystem(engine)\n" \
        "subsystem(sim MAY_USE engine base)\n"
    yield "layering", "src/CMakeLists.txt", "subsystem(engine MAY_USE base)\nsubsystem(base)\n" \
        "subsystem(sim MAY_USE engine base)\n"
    yield "layering", "src/CMakeLists.txt", "add_subdirectory(base)\n"


def findings_in(tree):
    with tempfile.TemporaryDirectory() as scratch:
        for name, content in tree.items():
            path = pathlib.Path(scratch, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content, encoding="utf-8")
        return Tree(scratch).check()


def run():
    failures = [f"false alarm in the clean tree: {f}" for f in findings_in(CLEAN_TREE)]
    cases = list(breaks())
    for rule, path, content in cases:
        found = findings_in({**CLEAN_TREE, path: content})
        if not any(f.rule == rule for f in found):  # The clean tree has no finding at all.
            failures.append(f"not caught: {rule}: {path}: {content[:200]!r}")
    many = {f"src/sim/run/file{i}.cc": "int f();\n" for i in range(MAX_FILES)}
    if not any(f.rule == "folders" for f in findings_in({**CLEAN_TREE, **many})):
        failures.append(f"a folder of more than {MAX_FILES} files is not caught")
    for failure in failures:
        print(failure)
    print(f"self-test: {len(cases) + 1} broken trees, {len(failures)} failures")
    return 1 if failures else 0
