#include "api/server/token_edit.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <functional>
#include <system_error>
#include <utility>

#include "base/os/files.h"
#include "base/text/text.h"

namespace muster {
namespace {

constexpr int kLockTries = 500;
constexpr useconds_t kLockTryUs = 20'000;
constexpr std::size_t kMaxEditedFile = 1U << 20U;
constexpr std::size_t kLeastDigits = 8;
constexpr const char* kNewSuffix = ".new";

// The file behind symbolic links, and its locked directory.
struct Locked {
  std::filesystem::path path;
  Fd directory;
};

Result<Locked> lock_file_of(const std::string& path) {
  std::error_code ignored;
  Locked locked;
  locked.path = std::filesystem::weakly_canonical(path, ignored);
  const std::string parent = locked.path.parent_path().string();
  locked.directory = Fd(::open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!locked.directory.open()) return system_error(parent, errno);
  for (int i = 0; i < kLockTries; ++i) {
    if (::flock(locked.directory.get(), LOCK_EX | LOCK_NB) == 0) return locked;
    ::usleep(kLockTryUs);
  }
  return Error{path + ": another command is changing it; retry later", ErrorCode::kUnavailable};
}

// Replaces the file. `facts`: mode and owner.
MaybeError replace_file(const Locked& locked, const std::string& text, const struct stat& facts) {
  const std::string name = locked.path.filename().string();
  const std::string fresh = name + kNewSuffix;
  const int directory = locked.directory.get();
  errno = EIO;                              // For a short write.
  ::unlinkat(directory, fresh.c_str(), 0);  // Left by a killed command.
  const Fd fd(::openat(directory, fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  const bool written =
      fd.open() &&
      ((facts.st_uid == ::geteuid() && facts.st_gid == ::getegid()) ||
       ::fchown(fd.get(), facts.st_uid, facts.st_gid) == 0) &&
      ::fchmod(fd.get(), facts.st_mode & 07777U) == 0 &&
      ::write(fd.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()) &&
      ::fsync(fd.get()) == 0 &&
      ::renameat(directory, fresh.c_str(), directory, name.c_str()) == 0 && ::fsync(directory) == 0;
  if (written) return std::nullopt;
  const int error = errno;
  if (fd.open()) ::unlinkat(directory, fresh.c_str(), 0);
  return system_error(locked.path.string(), error);
}

// Replaces the text of the file by `change` of it. The file must be a valid token file; with
// `create`, it may be missing.
MaybeError edit_tokens(const std::string& path, bool create,
                       const std::function<MaybeError(std::string&)>& change) {
  const Result<Locked> locked = lock_file_of(path);
  if (!locked.ok()) return locked.error();
  struct stat facts {};
  facts.st_mode = 0600;
  facts.st_uid = ::geteuid();
  facts.st_gid = ::getegid();
  std::string text;
  if (::stat(path.c_str(), &facts) == 0) {
    if (const Result<TokenFile> file = TokenFile::open(path); !file.ok()) return file.error();
    Result<std::string> read = read_file(locked.value().directory.get(),
                                         locked.value().path.filename().c_str(), kMaxEditedFile);
    if (!read.ok()) return read.error();
    text = std::move(read).value();
  } else if (errno != ENOENT || !create) {
    return system_error(path, errno);
  }
  if (const MaybeError refusal = change(text)) return refusal;
  return replace_file(locked.value(), text, facts);
}

bool is_hash_beginning(std::string_view word) {
  return word.size() >= kLeastDigits &&
         word.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

Error several(std::string_view which, const std::vector<TokenFacts>& found) {
  std::vector<std::string> words;
  for (const TokenFacts& token : found) {
    words.push_back(token.fingerprint + " (" + token.user + ")");
  }
  return Error{
      "several tokens match " + in_quotes(which) + "; use a fingerprint: " + first_few(words),
      ErrorCode::kConflict};
}

}  // namespace

MaybeError add_token(const std::string& path, std::string_view line) {
  return edit_tokens(path, true, [&](std::string& text) -> MaybeError {
    if (!text.empty() && text.back() != '\n') text += '\n';
    text += line;
    return std::nullopt;
  });
}

Result<TokenFacts> revoke_token(const std::string& path, std::string_view which) {
  std::vector<TokenFacts> found;
  const MaybeError refusal = edit_tokens(path, false, [&](std::string& text) -> MaybeError {
    std::string kept;
    for (const std::string_view line : split(text, '\n')) {
      const std::string_view words = trim(line);
      if (!words.empty() && !words.starts_with('#')) {
        const Result<TokenFacts> token = TokenFile::parse(words);
        if (!token.ok()) return token.error();
        if (token.value().name == which || (is_hash_beginning(which) && words.starts_with(which))) {
          found.push_back(token.value());
          continue;
        }
      }
      kept.append(line).append("\n");
    }
    if (text.ends_with('\n')) kept.pop_back();  // After the last line.
    if (found.empty()) return Error{"no such token: " + in_quotes(which), ErrorCode::kNotFound};
    if (found.size() > 1) return several(which, found);
    text = std::move(kept);
    return std::nullopt;
  });
  if (refusal) return *refusal;
  return found.front();
}

}  // namespace muster
