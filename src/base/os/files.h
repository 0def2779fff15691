#pragma once

// Files of a record directory, always reached through the directory's own descriptor, so that
// neither a long path nor a renamed parent matters. What is written is on disk, whole, when the
// call returns; what is read is bounded. Used by the shim and the executor.

#include <cstddef>
#include <string>
#include <string_view>

#include "base/types/result.h"

namespace muster {

// An open file descriptor, closed with its owner.
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

// "spec.json: No such file or directory": the words of errno.
Error system_error(std::string_view what, int error_number);

Result<Fd> open_directory(const std::string& path);
bool file_exists(const Fd& directory, const char* name);

Result<std::string> read_file(int directory, const char* path, std::size_t most);

// Writes name.new, fsyncs, renames it to name, fsyncs the directory.
Refusal write_whole(const Fd& directory, const std::string& name, std::string_view text);

// The same in a directory that may be another user's, who can put there what he likes: the file is
// a new one and belongs to whom the directory does, before it has its name.
Refusal write_for_owner(const Fd& directory, const std::string& name, std::string_view text);

// Sets space aside for a later write_whole of that name, so that a disk filled meanwhile cannot
// keep it from being written.
Refusal reserve(const Fd& directory, const std::string& name, std::size_t bytes);

}  // namespace muster
