#include "api/server/tickets.h"

#include <fmt/format.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <sys/stat.h>

#include <array>
#include <vector>

#include "base/text/hex.h"
#include "base/text/text.h"
#include "base/types/check.h"

namespace muster {
namespace {

constexpr std::string_view kKind = "ticket2";  // Version of the ticket format.
constexpr std::size_t kMaxTicketBytes = 1024;

}  // namespace

bool Tickets::has_key(const std::string& path) {
  struct stat facts {};
  return !path.empty() && ::lstat(path.c_str(), &facts) == 0;
}

Result<Tickets> Tickets::open(const std::string& path, std::string place) {
  const Result<SecretKey> key = path.empty() ? new_secret_key() : open_key_file(path);
  if (!key.ok()) return key.error();
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

std::uint64_t Tickets::generation_of(std::uint32_t uid) const {
  const auto found = generations_.find(uid);
  return found == generations_.end() ? 0 : found->second;
}

std::string Tickets::make(const Owner& owner, std::int64_t until) const {
  const std::string_view user = owner.user;
  const std::string words = fmt::format(
      "{}.{}.{}.{}.{}", kKind, owner.uid, generation_of(owner.uid),
      to_hex({reinterpret_cast<const unsigned char*>(user.data()), user.size()}), until);
  return words + "." + sign(words);
}

std::optional<Tickets::Owner> Tickets::owner_of(std::string_view ticket, std::int64_t now) const {
  if (ticket.size() > kMaxTicketBytes) return std::nullopt;
  const std::vector<std::string_view> parts = split(ticket, '.');
  if (parts.size() != 6 || parts[0] != kKind) return std::nullopt;
  const std::string right = sign(ticket.substr(0, ticket.rfind('.')));
  if (parts[5].size() != right.size() ||
      CRYPTO_memcmp(parts[5].data(), right.data(), right.size()) != 0) {
    return std::nullopt;
  }
  const Result<std::int64_t> uid = parse_int(parts[1]);
  const Result<std::int64_t> generation = parse_int(parts[2]);
  std::optional<std::string> user = from_hex(parts[3]);
  const Result<std::int64_t> until = parse_int(parts[4]);
  if (!uid.ok() || !generation.ok() || !user || !until.ok()) return std::nullopt;
  Owner owner{static_cast<std::uint32_t>(uid.value()), std::move(*user)};
  const bool current = static_cast<std::uint64_t>(generation.value()) == generation_of(owner.uid);
  if (!current || until.value() <= now) return std::nullopt;
  return owner;
}

}  // namespace muster
