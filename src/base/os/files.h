#pragma once

// Reads and writes the files of a record directory through the descriptor of the directory, so that
// long paths and renamed parents do not matter. Writes are atomic and durable when the call
// returns. Reads have a size limit. The shim and the executor use these functions.

#include <cstddef>
#include <string>
#include <string_view>

#include "base/types/result.h"

namespace muster {

// Owns a file descriptor and closes it.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(other.release()) {}
  Fd& operator=(Fd&& other) noexcept;
  ~Fd() { reset(); }

  int get() const { return fd_; }
  bool open() const { return fd_ >= 0; }
  int release();
  void reset();

 private:
  int fd_ = -1;
};

// Returns an error with the text of an errno value: "spec.json: No such file or directory".
Error system_error(std::string_view what, int error_number);

Result<Fd> open_directory(const std::string& path);
bool file_exists(const Fd& directory, const char* name);

// Returns the content of a file. Fails if it is longer than `most` bytes.
Result<std::string> read_file(int directory, const char* path, std::size_t most);

// Writes a file atomically and durably: writes name.new, fsyncs it, renames it, fsyncs the
// directory.
MaybeError write_whole(const Fd& directory, const std::string& name, std::string_view text);

// Like write_whole(), for a directory of another user, who can put any file there. It always
// creates a new file and gives it to the owner of the directory before it renames it to `name`.
MaybeError write_for_owner(const Fd& directory, const std::string& name, std::string_view text);

// Reserves disk space for a later write_whole() of `name`, so that the write succeeds even if the
// disk is full by then. Does nothing on file systems without this feature.
MaybeError reserve(const Fd& directory, const std::string& name, std::size_t bytes);

}  // namespace muster
