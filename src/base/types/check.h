#pragma once

// CHECK stops the program at a broken promise of our own code: always on, in every build.
// It is for bugs only. What the outside world gets wrong is a Result; a job that fails is data.

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
