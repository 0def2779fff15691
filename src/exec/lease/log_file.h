#pragma once

// out.log of a lease: what its ranks wrote, in at most (files + 1) files of a capped size, the
// newest in out.log, older ones in out.log.1, out.log.2 and so on. Never blocks the job and never
// gives up: what cannot be written is counted, and the next piece is tried again.

#include <cstdint>
#include <string>
#include <string_view>

#include "base/os/files.h"

namespace muster {

// The name of the newest file, 0, or of an older one.
std::string log_name(int number);

class LogFile {
 public:
  // The directory outlives the log.
  LogFile(const Fd& directory, std::int64_t cap_bytes, int old_files);

  // A line shorter than a quarter of the cap, and than 4 KiB, is never cut between two files;
  // a longer one begins a file where it can. Nothing is held back to wait for a line's end.
  void write(std::string_view text);

  std::int64_t lost_bytes() const { return lost_; }
  const std::string& trouble() const { return trouble_; }  // The first reason of a loss.

 private:
  bool open();
  void rotate();
  void put(std::string_view text);
  void lose(std::size_t bytes, int error_number);

  int directory_;
  std::int64_t cap_;
  std::size_t line_room_;  // Left free behind a line not yet ended, so that it can end here.
  int old_files_;
  Fd file_;
  std::int64_t size_ = 0;
  bool line_done_ = true;
  std::int64_t lost_ = 0;
  std::string trouble_;
};

}  // namespace muster
