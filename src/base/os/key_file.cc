#include "base/os/key_file.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string_view>

#include "base/os/files.h"

namespace muster {
namespace {

// Checks the open file, not the path, so that the checked file is the one that is read.
Result<SecretKey> read_key(const std::string& path) {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW));
  struct stat facts {};
  if (!fd.open() || ::fstat(fd.get(), &facts) != 0) return system_error(path, errno);
  if (!S_ISREG(facts.st_mode)) return Error{path + ": not a regular file", ErrorCode::kCorrupt};
  if ((facts.st_mode & 077U) != 0)
    return Error{path + ": other users can read it; run 'chmod 600' on it", ErrorCode::kForbidden};
  if (facts.st_uid != ::geteuid())
    return Error{path + ": owned by another user", ErrorCode::kForbidden};
  SecretKey key{};
  if (facts.st_size != static_cast<off_t>(key.size()) ||
      ::pread(fd.get(), key.data(), key.size(), 0) != static_cast<ssize_t>(key.size())) {
    return Error{path + ": not a valid key; remove the file to create a new key",
                 ErrorCode::kCorrupt};
  }
  return key;
}

}  // namespace

Result<SecretKey> new_secret_key() {
  SecretKey key{};
  if (::getrandom(key.data(), key.size(), 0) != static_cast<ssize_t>(key.size()))
    return Error{"cannot get random bytes from the operating system", ErrorCode::kSystem};
  return key;
}

Result<SecretKey> open_key_file(const std::string& path) {
  struct stat facts {};
  if (::lstat(path.c_str(), &facts) == 0) return read_key(path);
  const Result<SecretKey> key = new_secret_key();
  if (!key.ok()) return key;
  const std::filesystem::path whole = path;
  const Result<Fd> directory = open_directory(whole.parent_path());
  if (!directory.ok()) return directory.error();
  const std::string_view bytes(reinterpret_cast<const char*>(key.value().data()),
                               key.value().size());
  const MaybeError refusal = write_whole(directory.value(), whole.filename(), bytes);
  if (refusal) return Error{whole.parent_path().string() + "/" + refusal->message, refusal->code};
  return key;
}

}  // namespace muster
