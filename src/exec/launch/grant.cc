#include "exec/launch/grant.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/sha.h>

namespace muster {
namespace {

constexpr std::size_t kSignedBytes = packed_size<Grant>() - sizeof(Sha256);
constexpr std::int64_t kMaxTime = std::int64_t{1} << 40;  // Additions cannot overflow.

Sha256 mac_of(ByteSpan grant, const GrantKey& key) {
  Sha256 mac{};
  MUSTER_CHECK(::HMAC(::EVP_sha256(), key.data(), static_cast<int>(key.size()), grant.data(),
                      kSignedBytes, mac.data(), nullptr) != nullptr);
  return mac;
}

Error refused(const char* reason) {
  return Error{std::string("grant: ") + reason, ErrorCode::kForbidden};
}

bool is_job_account(std::uint32_t id) { return id != 0 && id != ~std::uint32_t{0}; }

}  // namespace

Sha256 sha256(ByteSpan bytes) {
  Sha256 digest{};
  MUSTER_CHECK(::EVP_Digest(bytes.data(), bytes.size(), digest.data(), nullptr, ::EVP_sha256(),
                            nullptr) == 1);
  return digest;
}

GrantBytes sign_grant(const Grant& grant, const GrantKey& key) {
  Grant with_mac = grant;
  with_mac.mac = mac_of(pack(grant), key);
  return pack(with_mac);
}

Result<GrantQuestion> read_question(ByteSpan bytes) {
  const auto question = unpack<GrantQuestion>(bytes);
  if (!question || question->version != kGrantVersion || question->reserved != 0)
    return Error{"grant question: unknown format", ErrorCode::kInvalid};
  if (question->seconds > kMaxGrantSeconds)
    return Error{"grant question: validity is longer than 180 days", ErrorCode::kInvalid};
  return *question;
}

Result<Grant> read_grant(ByteSpan bytes, std::int64_t now) {
  const auto grant = unpack<Grant>(bytes);
  if (!grant || grant->version != kGrantVersion || grant->reserved != 0 ||
      grant->more != decltype(grant->more){})
    return Error{"grant: unknown format", ErrorCode::kInvalid};
  if (!is_job_account(grant->uid) || !is_job_account(grant->gid))
    return refused("uid or gid is 0 or -1");
  if (grant->issued < 0 || grant->issued > kMaxTime || grant->until <= grant->issued ||
      grant->until - grant->issued > kMaxGrantSeconds)
    return refused("validity is empty or longer than 180 days");
  if (grant->issued > now + kMaxClockSkewSeconds)
    return refused("issued in the future; check the clock");
  if (grant->until <= now) return refused("expired; submit the job again");
  return *grant;
}

Result<Grant> verify_grant(ByteSpan bytes, const GrantKey& key, const InstanceBytes& instance,
                           const Sha256& digest, std::int64_t now) {
  if (bytes.size() != packed_size<Grant>())
    return Error{"grant: unknown format", ErrorCode::kInvalid};
  const Sha256 mac = mac_of(bytes, key);
  if (::CRYPTO_memcmp(mac.data(), bytes.data() + kSignedBytes, mac.size()) != 0)
    return refused("wrong signature");
  Result<Grant> grant = read_grant(bytes, now);
  if (!grant.ok()) return grant;
  if (grant.value().instance != instance) return refused("for another manager");
  if (grant.value().digest != digest) return refused("for another request");
  return grant;
}

}  // namespace muster
