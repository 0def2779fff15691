#pragma once

// A file that is written completely or not at all. append() writes through a bounded buffer into a
// temporary file in the same directory. publish() renames it to `path` and replaces the old file.
// Without publish(), the destructor removes the temporary file and the old file stays unchanged.
//
// It does not call fsync: a power failure right after publish() can lose the file.

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

  // Does nothing after the first failure. close() returns that failure.
  void append(std::string_view text);

  // Writes the buffered bytes and closes the temporary file. Returns the first failure so far; its
  // message begins with the path.
  MaybeError close();

  // Renames the temporary file to `path`. Call it once, after close() succeeded.
  MaybeError publish();

 private:
  void flush();
  void fail(const char* what);

  std::string path_;
  std::string temporary_;
  std::string buffer_;
  int fd_ = -1;
  bool leftover_ = false;  // The temporary file exists.
  MaybeError failure_;
};

// Writes `text` as the whole file, through an AtomicFile.
MaybeError write_atomically(const std::string& path, std::string_view text);

// Creates the directory and its parents. An existing directory is not an error.
MaybeError make_directory(const std::string& dir);

}  // namespace muster
