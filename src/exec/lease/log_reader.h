#pragma once

// Reads a lease's output while its shim writes it (exec/lease/log_file.h): out.log, and before it
// what was renamed to out.log.1, .2 and so on, as one text from the oldest byte there still is.
// Files that are renamed while they are read are finished first. LeaseFiles::open_log() makes one.

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/os/files.h"

namespace muster {

class LogReader {
 public:
  // Neither the directory nor the log need be there yet. Symbolic links and what is not a plain
  // file are not read: the job could have put them there.
  explicit LogReader(std::string directory);

  // All that was there when the stream was made.
  std::uint64_t size() const { return size_; }

  // Counted from the oldest byte; negative: from the end. Stays within what is there. Once, before
  // the first read. Returns where that is.
  std::uint64_t seek(std::int64_t offset);

  // Returns the next bytes, at most `most`; empty if there are none now.
  std::string read(std::size_t most);

 private:
  struct Part {
    Fd fd;
    ino_t inode = 0;
    std::uint64_t size = 0;
  };

  Part open_part(int number) const;
  std::vector<Part> scan_once() const;
  std::vector<Part> scan();
  std::string read_front(std::size_t most);
  bool front_is_newest() const;
  bool go_to_newer();

  std::string path_;
  Fd directory_;
  std::vector<Part> parts_;  // Still to be read, oldest first.
  std::uint64_t at_ = 0;     // In the first of them.
  std::uint64_t size_ = 0;
};

}  // namespace muster
