#include "api/server/tokens.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <openssl/crypto.h>
#include <openssl/rand.h>
#include <openssl/sha.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "api/port/request_target.h"
#include "base/os/files.h"
#include "base/text/dates.h"
#include "base/text/hex.h"
#include "base/text/text.h"

namespace muster {
namespace {

constexpr std::size_t kMaxTokenFile = 1U << 20U;
constexpr std::size_t kMaxTokenBytes = 256;
constexpr std::size_t kShownDigits = 8;  // Shown digits of the hash.

std::array<unsigned char, 32> fingerprint_of(std::string_view token) {
  std::array<unsigned char, 32> out{};
  SHA256(reinterpret_cast<const unsigned char*>(token.data()), token.size(), out.data());
  return out;
}

bool same_file(const struct stat& a, const struct stat& b) {
  return a.st_ino == b.st_ino && a.st_dev == b.st_dev && a.st_size == b.st_size &&
         a.st_mode == b.st_mode && a.st_uid == b.st_uid && a.st_mtim.tv_sec == b.st_mtim.tv_sec &&
         a.st_mtim.tv_nsec == b.st_mtim.tv_nsec && a.st_ctim.tv_sec == b.st_ctim.tv_sec &&
         a.st_ctim.tv_nsec == b.st_ctim.tv_nsec;
}

}  // namespace

Result<std::string> make_token() {
  std::array<unsigned char, 32> bits{};
  if (RAND_bytes(bits.data(), static_cast<int>(bits.size())) != 1) {
    return Error{"cannot get random bytes from the operating system", ErrorCode::kSystem};
  }
  return "muster-" + to_hex(bits);
}

Result<std::string> token_line(std::string_view token, const TokenFacts& facts) {
  if (!is_name(facts.user))
    return Error{"not a valid user name: " + in_quotes(facts.user), ErrorCode::kInvalid};
  if (!is_name(facts.name))
    return Error{"not a valid name: " + in_quotes(facts.name), ErrorCode::kInvalid};
  return fmt::format("{} {} {} {}{}{}\n", to_hex(fingerprint_of(token)), facts.user,
                     facts.is_operator ? "operator" : "user", facts.name,
                     facts.created.empty() ? "" : " ", facts.created);
}

Result<TokenFile> TokenFile::open(std::string path) {
  TokenFile file(std::move(path));
  if (MaybeError refusal = file.refresh()) return *refusal;
  for (const Entry& entry : file.entries_) file.reported_[entry.fingerprint] = entry.facts;
  return file;
}

Result<TokenFacts> TokenFile::parse(std::string_view line) {
  Result<Entry> entry = read_line(line);
  if (!entry.ok()) return entry.error();
  return std::move(entry.value().facts);
}

Result<TokenFile::Entry> TokenFile::read_line(std::string_view line) {
  std::vector<std::string_view> words;
  for (const std::string_view word : split(line, ' ')) {
    if (!word.empty()) words.push_back(word);
  }
  if (words.size() != 4 && words.size() != 5)
    return Error{"must have the form 'SHA256 USER ROLE NAME [CREATED]'", ErrorCode::kCorrupt};
  Entry entry{};
  const std::optional<std::string> bytes = from_hex(words[0]);
  if (!bytes || bytes->size() != entry.fingerprint.size()) {
    return Error{"SHA256: must be 64 lowercase hexadecimal digits", ErrorCode::kCorrupt};
  }
  std::copy(bytes->begin(), bytes->end(), entry.fingerprint.begin());
  if (!is_name(words[1]))
    return Error{"not a valid user name: " + in_quotes(words[1]), ErrorCode::kCorrupt};
  if (words[2] != "user" && words[2] != "operator") {
    return Error{"ROLE: must be 'user' or 'operator', not " + in_quotes(words[2]),
                 ErrorCode::kCorrupt};
  }
  if (words.size() == 5 && !parse_date(words[4]).ok()) {
    return Error{
        "CREATED: must be a date such as '2026-11-19T21:40:00Z', not " + in_quotes(words[4]),
        ErrorCode::kCorrupt};
  }
  entry.facts = {.user = std::string(words[1]),
                 .name = std::string(words[3]),
                 .is_operator = words[2] == "operator",
                 .created = std::string(words.size() == 5 ? words[4] : ""),
                 .fingerprint = std::string(words[0].substr(0, kShownDigits))};
  return entry;
}

std::vector<TokenFacts> TokenFile::tokens() const {
  std::vector<TokenFacts> all;
  for (const Entry& entry : entries_) all.push_back(entry.facts);
  return all;
}

std::vector<TokenChange> TokenFile::changes() {
  std::vector<TokenChange> changes;
  if (refresh()) {
    entries_.clear();
    seen_ = {};
    return changes;
  }
  std::map<Fingerprint, TokenFacts> now;
  for (const Entry& entry : entries_) now[entry.fingerprint] = entry.facts;
  for (const auto& [fingerprint, facts] : now) {
    if (!reported_.contains(fingerprint)) changes.push_back({facts, true, seen_.st_uid});
  }
  for (const auto& [fingerprint, facts] : reported_) {
    if (!now.contains(fingerprint)) changes.push_back({facts, false, seen_.st_uid});
  }
  reported_ = std::move(now);
  return changes;
}

MaybeError TokenFile::read_lines(std::string_view text) {
  std::vector<Entry> entries;
  int number = 0;
  for (std::string_view line : split(text, '\n')) {
    ++number;
    line = trim(line);
    if (line.empty() || line.starts_with('#')) continue;
    Result<Entry> entry = read_line(line);
    if (!entry.ok())
      return Error{fmt::format("{}:{}: {}", path_, number, entry.error().message),
                   ErrorCode::kCorrupt};
    entries.push_back(std::move(entry.value()));
  }
  entries_ = std::move(entries);
  return std::nullopt;
}

// Checks the open file, not the path, so that the checked file is the one that is read.
MaybeError TokenFile::refresh() {
  struct stat now {};
  if (::stat(path_.c_str(), &now) != 0) return system_error(path_, errno);
  if (same_file(now, seen_)) return std::nullopt;
  seen_ = {};
  entries_.clear();
  const Fd fd(::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd.open() || ::fstat(fd.get(), &now) != 0) return system_error(path_, errno);
  if (!S_ISREG(now.st_mode)) return Error{path_ + ": not a regular file", ErrorCode::kCorrupt};
  if ((now.st_mode & 077U) != 0)
    return Error{path_ + ": other users can read it; run 'chmod 600' on it", ErrorCode::kForbidden};
  if (now.st_uid != ::geteuid() && now.st_uid != 0)
    return Error{path_ + ": owned by another user", ErrorCode::kForbidden};
  std::string text(static_cast<std::size_t>(now.st_size), '\0');
  if (text.size() > kMaxTokenFile) return Error{path_ + ": larger than 1 MiB", ErrorCode::kCorrupt};
  const ssize_t n = ::pread(fd.get(), text.data(), text.size(), 0);
  if (n != now.st_size) return Error{path_ + ": changed while being read", ErrorCode::kUnavailable};
  if (MaybeError refusal = read_lines(text)) return refusal;
  seen_ = now;
  return std::nullopt;
}

Result<std::optional<Caller>> TokenFile::find(std::string_view token) {
  if (MaybeError refusal = refresh()) {
    entries_.clear();
    seen_ = {};
    return *refusal;
  }
  const Fingerprint wanted = fingerprint_of(token.substr(0, kMaxTokenBytes));
  const Entry* found = nullptr;
  for (const Entry& entry : entries_) {
    if (CRYPTO_memcmp(entry.fingerprint.data(), wanted.data(), wanted.size()) == 0) found = &entry;
  }
  if (found == nullptr || token.size() > kMaxTokenBytes) return std::optional<Caller>();
  const TokenFacts& facts = found->facts;
  return std::optional<Caller>(
      Caller{.user = facts.user, .is_operator = facts.is_operator, .via = "token " + facts.name});
}

}  // namespace muster
