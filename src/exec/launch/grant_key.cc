#include "exec/launch/grant_key.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdio>

#include "exec/launch/packet.h"

namespace muster {
namespace {

Error wrong_mode(const std::string& path, const char* mode) {
  return Error{path + ": must belong to the user of muster-grant, with mode " + mode,
               ErrorCode::kForbidden};
}

Result<Descriptor> open_key_directory(const std::string& path, uid_t owner) {
  Descriptor directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat status {};
  if (!directory.is_open() || ::fstat(directory.get(), &status) != 0) return errno_error(path);
  if (status.st_uid != owner || (status.st_mode & 07777) != 0700) return wrong_mode(path, "0700");
  return directory;
}

Result<GrantKey> read_key_file(int directory, const std::string& path, uid_t owner) {
  const Descriptor file(::openat(directory, "key", O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!file.is_open() && errno == ENOENT)
    return Error{path + "/key: not found; start muster-grant", ErrorCode::kNotFound};
  struct stat status {};
  if (!file.is_open() || ::fstat(file.get(), &status) != 0) return errno_error(path + "/key");
  if (!S_ISREG(status.st_mode) || status.st_uid != owner || (status.st_mode & 07777) != 0400)
    return wrong_mode(path + "/key", "0400");
  GrantKey key{};
  if (status.st_size != sizeof key || ::read(file.get(), key.data(), key.size()) != sizeof key)
    return Error{path + "/key: not 32 bytes long", ErrorCode::kCorrupt};
  return key;
}

// REQUIRES: the directory is locked, so that no other process uses key.new.
MaybeError create_key_file(int directory, const std::string& path) {
  GrantKey key{};
  if (::getrandom(key.data(), key.size(), 0) != sizeof key) return errno_error("getrandom");
  if (::unlinkat(directory, "key.new", 0) != 0 && errno != ENOENT) return errno_error(path);
  const Descriptor file(
      ::openat(directory, "key.new", O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0400));
  if (!file.is_open() || ::write(file.get(), key.data(), key.size()) != sizeof key ||
      ::fsync(file.get()) != 0 || ::renameat(directory, "key.new", directory, "key") != 0)
    return errno_error(path + "/key");
  return std::nullopt;
}

}  // namespace

Result<GrantKey> read_grant_key(const std::string& directory, uid_t owner) {
  const Result<Descriptor> opened = open_key_directory(directory, owner);
  if (!opened.ok()) return opened.error();
  return read_key_file(opened.value().get(), directory, owner);
}

Result<GrantKey> open_grant_key(const std::string& directory) {
  const Result<Descriptor> opened = open_key_directory(directory, ::geteuid());
  if (!opened.ok()) return opened.error();
  const int number = opened.value().get();
  if (::flock(number, LOCK_EX) != 0) return errno_error(directory);
  Result<GrantKey> key = read_key_file(number, directory, ::geteuid());
  if (!key.ok() && key.error().code == ErrorCode::kNotFound) {
    if (MaybeError error = create_key_file(number, directory)) return *error;
    key = read_key_file(number, directory, ::geteuid());
  }
  // Also if an earlier process was killed after it renamed the file.
  if (key.ok() && ::fsync(number) != 0) return errno_error(directory);
  return key;
}

}  // namespace muster
