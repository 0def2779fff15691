#include "api/server/tickets.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <vector>

#include "base/os/files.h"
#include "base/text/hex.h"
#include "base/text/text.h"
#include "base/types/check.h"

namespace muster {
namespace {

constexpr std::string_view kKind = "ticket1";  // Version of the ticket format.
constexpr std::size_t kMaxTicketBytes = 1024;

using Key = std::array<unsigned char, 32>;

Result<Key> new_key() {
  Key key{};
  if (RAND_bytes(key.data(), static_cast<int>(key.size())) != 1) {
    return Error{"cannot get random bytes from the operating system", ErrorCode::kSystem};
  }
  return key;
}

// Checks the open file, not the path, so that the checked file is the one that is read.
Result<Key> read_key(const std::string& path) {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW));
  struct stat facts {};
  if (!fd.open() || ::fstat(fd.get(), &facts) != 0) return system_error(path, errno);
  if (!S_ISREG(facts.st_mode)) return Error{path + ": not a regular file", ErrorCode::kCorrupt};
  if ((facts.st_mode & 077U) != 0)
    return Error{path + ": other users can read it; run 'chmod 600' on it", ErrorCode::kForbidden};
  if (facts.st_uid != ::geteuid())
    return Error{path + ": owned by another user", ErrorCode::kForbidden};
  Key key{};
  if (facts.st_size != static_cast<off_t>(key.size()) ||
      ::pread(fd.get(), key.data(), key.size(), 0) != static_cast<ssize_t>(key.size())) {
    return Error{path + ": not a valid key; remove the file to create a new key",
                 ErrorCode::kCorrupt};
  }
  return key;
}

}  // namespace

bool Tickets::has_key(const std::string& path) {
  struct stat facts {};
  return !path.empty() && ::lstat(path.c_str(), &facts) == 0;
}

Result<Tickets> Tickets::open(const std::string& path, std::string place) {
  if (has_key(path)) {
    const Result<Key> key = read_key(path);
    if (!key.ok()) return key.error();
    return Tickets(key.value(), std::move(place));
  }
  const Result<Key> key = new_key();
  if (!key.ok()) return key.error();
  if (!path.empty()) {
    const std::filesystem::path whole = path;
    const Result<Fd> directory = open_directory(whole.parent_path());
    if (!directory.ok()) return directory.error();
    const std::string_view bytes(reinterpret_cast<const char*>(key.value().data()),
                                 key.value().size());
    const MaybeError refusal = write_whole(directory.value(), whole.filename(), bytes);
    if (refusal) return Error{whole.parent_path().string() + "/" + refusal->message, refusal->code};
  }
  return Tickets(key.value(), std::move(place));
}

std::string Tickets::sign(std::string_view ticket) const {
  const std::string words = fmt::format("{} at {}", ticket, place_);
  std::array<unsigned char, EVP_MAX_MD_SIZE> out{};
  unsigned length = 0;
  const unsigned char* const done =
      HMAC(EVP_sha256(), key_.data(), static_cast<int>(key_.size()),
           reinterpret_cast<const unsigned char*>(words.data()), words.size(), out.data(), &length);
  MUSTER_CHECK(done != nullptr);
  return to_hex({out.data(), length});
}

std::string Tickets::make(std::string_view user, std::int64_t until) const {
  const std::string words = fmt::format(
      "{}.{}.{}", kKind, to_hex({reinterpret_cast<const unsigned char*>(user.data()), user.size()}),
      until);
  return words + "." + sign(words);
}

std::optional<std::string> Tickets::user_of(std::string_view ticket, std::int64_t now) const {
  if (ticket.size() > kMaxTicketBytes) return std::nullopt;
  const std::vector<std::string_view> parts = split(ticket, '.');
  if (parts.size() != 4 || parts[0] != kKind) return std::nullopt;
  const std::string right = sign(ticket.substr(0, ticket.rfind('.')));
  if (parts[3].size() != right.size() ||
      CRYPTO_memcmp(parts[3].data(), right.data(), right.size()) != 0) {
    return std::nullopt;
  }
  const Result<std::int64_t> until = parse_int(parts[2]);
  if (!until.ok() || until.value() <= now) return std::nullopt;
  return from_hex(parts[1]);
}

}  // namespace muster
