#pragma once

// Reads the output of a lease while the shim writes it (exec/lease/log_file.h). The rotated files
// and out.log appear as one text that begins with the oldest kept byte. A file that is renamed
// during reading is read to its end first. Create it with LeaseFiles::open_log().

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/os/files.h"

namespace muster {

class LogReader {
 public:
  // The directory and the log may not exist yet. Symbolic links and special files are not read,
  // because the job could have created them.
  explicit LogReader(std::string directory);

  // Bytes that existed when the reader was created.
  std::uint64_t size() const { return size_; }

  // Moves to an offset from the oldest byte, or from the end if negative, clamped to the existing
  // bytes. Returns the resulting offset. Call it at most once, before the first read().
  std::uint64_t seek(std::int64_t offset);

  // Returns up to `most` bytes; empty if there are none at present.
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
  std::vector<Part> parts_;  // Files not read yet, oldest first.
  std::uint64_t at_ = 0;     // Offset in the first of them.
  std::uint64_t size_ = 0;
};

}  // namespace muster
