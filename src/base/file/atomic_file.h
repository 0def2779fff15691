#pragma once

// A file that appears whole or not at all. Bytes go through a buffer of bounded size into a
// temporary file beside the target; publish() renames it into place, replacing what was there. One
// that is dropped before leaves nothing behind and the old file as it was.
//
// Does not wait for the disk: a power cut right after publish() may lose the file.

#include <string>
#include <string_view>

#include "base/types/result.h"

namespace muster {

class AtomicFile {
 public:
  explicit AtomicFile(std::string path);
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  ~AtomicFile();

  // After the first failure nothing more is written; close() tells of it.
  void append(std::string_view text);

  // Hands the last bytes to the system. Refuses, naming the file, if any of it failed so far.
  Refusal close();

  // Call once, after close() went well.
  Refusal publish();

 private:
  void flush();
  void fail(const char* what);

  std::string path_;
  std::string temporary_;
  std::string buffer_;
  int fd_ = -1;
  bool leftover_ = false;  // The temporary file is there.
  Refusal failure_;
};

// All of a file at once.
Refusal write_atomically(const std::string& path, std::string_view text);

// With its parents, if it is not there.
Refusal make_directory(const std::string& dir);

}  // namespace muster
