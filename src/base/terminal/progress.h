#pragma once

// A progress bar for a person who waits. The one place in the house's reports that reads a clock.

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/types/time.h"

namespace muster {

// Draws on one line of a terminal and erases it when it goes; writes nothing where there is no
// terminal (or a dumb one), and nothing for work shorter than `quiet`. The work calls update() as
// often as it likes, from one thread; ten times a second something is drawn. What it shows is what
// the caller counted: it never creeps ahead. Call finish() before printing anything else.
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

// The line it draws, no longer than `width`: "simulating [#####-----]  50%  5 of 10 jobs  0:03,
// about 0:03 left". The percentage is rounded down; without a total only the count is shown.
std::string progress_line(std::string_view what, std::uint64_t done, std::uint64_t total,
                          Duration elapsed, int width, std::string_view unit = "jobs");

}  // namespace muster
