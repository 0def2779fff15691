#pragma once

// A progress bar on a terminal. It is the only part of the reports that reads a clock.

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/types/time.h"

namespace muster {

// Draws on one line of a terminal; the destructor erases the line. Writes nothing if there is no
// terminal or TERM is "dumb", and nothing during the first `quiet` of the work. update() can be
// called at any rate, from one thread, and draws at most ten times per second. The bar shows
// exactly the counts of the caller. Call finish() before printing anything else.
class ProgressBar {
 public:
  explicit ProgressBar(std::string what, int fd = 2, Duration quiet = Duration::seconds(1),
                       std::string unit = "jobs");
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;
  ~ProgressBar();

  void update(std::uint64_t done, std::uint64_t total);
  void finish();

 private:
  using Clock = std::chrono::steady_clock;

  std::string what_;
  std::string unit_;
  int fd_;
  bool on_;
  bool drawn_ = false;
  Clock::time_point begin_;
  Clock::time_point next_;
};

// Returns the line to draw, at most `width` columns: "simulating [#####-----]  50%  5 of 10 jobs
// 0:03, about 0:03 left". The percentage is rounded down. If `total` is 0, only the count is shown.
std::string progress_line(std::string_view what, std::uint64_t done, std::uint64_t total,
                          Duration elapsed, int width, std::string_view unit = "jobs");

}  // namespace muster
