#pragma once

// Writes the output of a lease's ranks to out.log and rotates it to out.log.1, out.log.2 and so on.
// There are at most `old_files` + 1 files of limited size. Used by the shim. If a write fails, it
// counts the lost bytes and tries again with the next piece.

#include <cstdint>
#include <string>
#include <string_view>

#include "base/os/files.h"

namespace muster {

// Returns the name of a log file: 0 is the newest, 1 the one before it.
std::string log_name(int number);

class LogFile {
 public:
  // The directory must outlive the log.
  LogFile(const Fd& directory, std::int64_t cap_bytes, int old_files);

  // Writes the text immediately, even without a line end. A line shorter than 4 KiB and a quarter
  // of the cap is never split between two files. A longer line begins a new file if possible.
  void write(std::string_view text);

  std::int64_t lost_bytes() const { return lost_; }
  const std::string& trouble() const { return trouble_; }  // The error of the first loss.

 private:
  bool open();
  void rotate();
  void put(std::string_view text);
  void lose(std::size_t bytes, int error_number);

  int directory_;
  std::int64_t cap_;
  std::size_t line_room_;  // Space kept free for the end of an incomplete line.
  int old_files_;
  Fd file_;
  std::int64_t size_ = 0;
  bool line_done_ = true;
  std::int64_t lost_ = 0;
  std::string trouble_;
};

}  // namespace muster
