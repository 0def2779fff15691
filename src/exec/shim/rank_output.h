#pragma once

// The pipes through which the ranks of a lease write their output, and the log that collects it.
// With several ranks each line in the log begins with "[rankN]: ", N being the global rank. The
// shim owns one of these and calls it from its only thread.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/os/files.h"
#include "base/types/result.h"
#include "exec/lease/log_file.h"

namespace muster {

class RankOutput {
 public:
  // A longer line of one of several ranks is split into lines of this length.
  static constexpr std::size_t kMaxLineBytes = 8192;

  explicit RankOutput(LogFile log) : log_(std::move(log)) {}

  // Creates a pipe per rank and adds its read end to the epoll instance `events`.
  MaybeError open(int events, int first_rank, int count);

  // The write ends, in the order of the ranks, until close_write_ends().
  std::vector<int> write_ends() const;
  void close_write_ends();

  // Reads up to `max` bytes from the pipe with the read end `fd`. Ignores other descriptors.
  void take(int fd, std::size_t max);
  // Reads all that is left, and writes lines that have no end.
  void finish();

  const LogFile& log() const { return log_; }

 private:
  struct Pipe {
    int rank = 0;
    Fd read_end;
    Fd write_end;
    std::string line;  // Beginning of a line, without the prefix; only with several ranks.
  };

  void read_from(Pipe& pipe, std::size_t max);
  void write(Pipe& pipe, std::string_view text);

  int events_ = -1;
  LogFile log_;
  std::vector<Pipe> pipes_;
};

}  // namespace muster
