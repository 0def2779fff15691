#include "base/terminal/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/terminal/terminal.h"
#include "base/text/wording.h"

namespace muster {

namespace {

constexpr auto kBetweenDrawings = std::chrono::milliseconds(100);
constexpr std::size_t kBarCells = 24;

// "0:07", "12:34", "1:02:03".
std::string clock_text(std::int64_t seconds) {
  if (seconds < 3600) return fmt::format("{}:{:02}", seconds / 60, seconds % 60);
  return fmt::format("{}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
}

void put(int fd, std::string_view text) {
  // Errors are ignored: the work must continue even if the bar cannot be drawn.
  while (!text.empty()) {
    const ssize_t written = write(fd, text.data(), text.size());
    if (written <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

}  // namespace

ProgressBar::ProgressBar(std::string what, int fd, Duration quiet, std::string unit)
    : what_(std::move(what)), unit_(std::move(unit)), fd_(fd), on_(is_terminal(fd)) {
  if (!on_) return;
  begin_ = Clock::now();
  next_ = begin_ + std::chrono::microseconds(quiet.us());
}

ProgressBar::~ProgressBar() { finish(); }

void ProgressBar::update(std::uint64_t done, std::uint64_t total) {
  if (!on_) return;
  const Clock::time_point now = Clock::now();
  if (now < next_) return;
  next_ = now + kBetweenDrawings;
  const auto elapsed = std::chrono::duration_cast<std::chrono::microseconds>(now - begin_);
  // Leave the last column empty, because some terminals wrap after it.
  put(fd_, "\r" +
               progress_line(what_, done, total, Duration::micros(elapsed.count()),
                             terminal_width(fd_) - 1, unit_) +
               "\x1b[K");
  drawn_ = true;
}

void ProgressBar::finish() {
  if (drawn_) put(fd_, "\r\x1b[K");
  drawn_ = false;
  on_ = false;
}

std::string progress_line(std::string_view what, std::uint64_t done, std::uint64_t total,
                          Duration elapsed, int width, std::string_view unit) {
  const std::int64_t seconds = elapsed.us() / 1'000'000;
  const std::size_t most = static_cast<std::size_t>(std::max(0, width));
  if (total == 0) {
    return fmt::format("{}  {} {}  {}", what, grouped(done), unit, clock_text(seconds))
        .substr(0, most);
  }
  done = std::min(done, total);
  const double fraction = static_cast<double>(done) / static_cast<double>(total);
  std::string tail = fmt::format("{:3}%  {} of {} {}  {}", done * 100 / total, grouped(done),
                                 grouped(total), unit, clock_text(seconds));
  if (fraction >= 0.01 && done < total) {  // An earlier forecast would be too inaccurate.
    const double left = elapsed.in_seconds() * (1 - fraction) / fraction;
    tail += fmt::format(", about {} left", clock_text(static_cast<std::int64_t>(left + 0.5)));
  }
  const auto full = static_cast<std::size_t>(done * kBarCells / total);
  const std::string bar = std::string(full, '#') + std::string(kBarCells - full, '-');
  const std::string line = fmt::format("{} [{}] {}", what, bar, tail);
  if (line.size() <= most) return line;
  return fmt::format("{} {}", what, tail).substr(0, most);
}

}  // namespace muster
