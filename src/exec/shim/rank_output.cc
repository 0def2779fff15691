#include "exec/shim/rank_output.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <iterator>

namespace muster {

namespace {

constexpr std::size_t kPieceBytes = 64U << 10U;

// Returns the first line of `text` with its end; empty if it has none yet. A carriage return ends a
// line too, because progress bars write no newline; before a newline it belongs to that.
std::string_view first_line(std::string_view text) {
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '\n') return text.substr(0, at + 1);
    if (text[at] == '\r' && at + 1 < text.size() && text[at + 1] != '\n') {
      return text.substr(0, at + 1);
    }
  }
  return {};
}

// Appends the line with its prefix. It ends with a newline in any case, so that readers find the
// prefixes by lines.
void append_line(std::string& out, int rank, std::string_view line) {
  fmt::format_to(std::back_inserter(out), "[rank{}]: ", rank);
  if (line.ends_with('\r')) line.remove_suffix(1);
  out += line;
  if (!line.ends_with('\n')) out += '\n';
}

}  // namespace

MaybeError RankOutput::open(int events, int first_rank, int count) {
  events_ = events;
  for (int i = 0; i < count; ++i) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return system_error("pipe", errno);
    Pipe pipe;
    pipe.rank = first_rank + i;
    pipe.read_end = Fd(ends[0]);
    pipe.write_end = Fd(ends[1]);
    ::fcntl(ends[0], F_SETFL, O_NONBLOCK);  // Only our end: writes of the job block until we read.
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.fd = ends[0];
    if (::epoll_ctl(events_, EPOLL_CTL_ADD, ends[0], &event) != 0) {
      return system_error("epoll", errno);
    }
    pipes_.push_back(std::move(pipe));
  }
  return std::nullopt;
}

std::vector<int> RankOutput::write_ends() const {
  std::vector<int> ends;
  for (const Pipe& pipe : pipes_) ends.push_back(pipe.write_end.get());
  return ends;
}

void RankOutput::close_write_ends() {
  for (Pipe& pipe : pipes_) pipe.write_end.reset();
}

void RankOutput::take(int fd, std::size_t max) {
  for (Pipe& pipe : pipes_) {
    if (pipe.read_end.get() == fd) read_from(pipe, max);
  }
}

void RankOutput::finish() {
  for (Pipe& pipe : pipes_) {
    read_from(pipe, SIZE_MAX);
    if (pipe.line.empty()) continue;
    std::string out;
    append_line(out, pipe.rank, pipe.line);
    log_.write(out);
    pipe.line.clear();
  }
}

void RankOutput::read_from(Pipe& pipe, std::size_t max) {
  char piece[kPieceBytes];
  for (std::size_t taken = 0; taken < max;) {
    const ssize_t n = ::read(pipe.read_end.get(), piece, sizeof piece);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return;
    if (n == 0) {  // All writers have closed the pipe.
      ::epoll_ctl(events_, EPOLL_CTL_DEL, pipe.read_end.get(), nullptr);
      return;
    }
    write(pipe, {piece, static_cast<std::size_t>(n)});
    taken += static_cast<std::size_t>(n);
  }
}

void RankOutput::write(Pipe& pipe, std::string_view text) {
  if (pipes_.size() == 1) return log_.write(text);
  pipe.line += text;
  std::string_view left = pipe.line;
  std::string out;  // One write per read: short lines are many.
  while (!left.empty()) {
    std::string_view line = first_line(left);
    if (line.empty() && left.size() < kMaxLineBytes) break;
    if (line.empty() || line.size() > kMaxLineBytes) line = left.substr(0, kMaxLineBytes);
    append_line(out, pipe.rank, line);
    left.remove_prefix(line.size());
  }
  pipe.line = std::string(left);
  log_.write(out);
}

}  // namespace muster
