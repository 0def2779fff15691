#pragma once

// MUSTER_CHECK aborts the program if a condition is false, in every build type. It detects bugs in
// Muster only. Wrong input is reported as a Result, and a failed job is normal data.

#include <cstdio>
#include <cstdlib>

namespace muster {

[[noreturn]] inline void check_failed(const char* what, const char* file, int line) {
  std::fprintf(stderr, "muster: broken invariant: %s (%s:%d)\n", what, file, line);
  std::abort();
}

}  // namespace muster

#define MUSTER_CHECK(condition) \
  ((condition) ? static_cast<void>(0) : ::muster::check_failed(#condition, __FILE__, __LINE__))
