#pragma once

// A grant: the statement of muster-grant, signed with its key, that a user asked one manager to run
// one job request. The uid and gid come from the kernel (SO_PEERCRED). muster-grant signs grants,
// and the launcher verifies them, so a manager cannot start jobs that no user asked for.

#include "base/types/result.h"
#include "exec/launch/struct_bytes.h"

namespace muster {

using InstanceBytes = std::array<std::uint8_t, 16>;  // The id of a manager, instance.json.
using Sha256 = std::array<std::uint8_t, 32>;
using GrantKey = std::array<std::uint8_t, 32>;

inline constexpr std::uint32_t kGrantVersion = 1;
inline constexpr std::int64_t kDefaultGrantSeconds = 30 * 86'400;
inline constexpr std::int64_t kMaxGrantSeconds = 180 * 86'400;
inline constexpr std::int64_t kMaxClockSkewSeconds = 300;  // How far `issued` can be in the future.

struct GrantQuestion {
  std::uint32_t version = kGrantVersion;
  std::uint32_t seconds = 0;  // Validity; 0: kDefaultGrantSeconds.
  InstanceBytes instance{};
  Sha256 digest{};             // SHA-256 of the job request.
  std::uint64_t reserved = 0;  // Always 0.
  constexpr void fields(auto f) { f(version, seconds, instance, digest, reserved); }
};

struct Grant {
  std::uint32_t version = kGrantVersion;
  std::uint32_t uid = 0;  // Never 0 or 2^32 - 1; the same for gid.
  std::uint32_t gid = 0;
  std::uint32_t reserved = 0;  // Always 0.
  std::int64_t issued = 0;     // Seconds since 1970.
  std::int64_t until = 0;      // The grant is valid before this second.
  std::array<std::uint8_t, 16> nonce{};
  InstanceBytes instance{};
  Sha256 digest{};
  std::array<std::uint8_t, 64> more{};  // Always 0.
  Sha256 mac{};                         // HMAC-SHA256 of all bytes before it.
  constexpr void fields(auto f) {
    f(version, uid, gid, reserved, issued, until, nonce, instance, digest, more, mac);
  }
};

// The answer if there is no grant; muster-grant then closes the connection.
struct GrantRefusal {
  std::uint32_t version = kGrantVersion;
  ErrorCode code = ErrorCode::kForbidden;
  std::array<char, 91> reason{};  // Printable ASCII, then zeros.
  constexpr void fields(auto f) { f(version, code, reason); }
};

using GrantBytes = std::array<std::uint8_t, packed_size<Grant>()>;
static_assert(packed_size<GrantQuestion>() == 64 && packed_size<Grant>() == 192 &&
              packed_size<GrantRefusal>() == 96);

Sha256 sha256(ByteSpan bytes);

// Sets the MAC and returns the bytes of the grant.
GrantBytes sign_grant(const Grant& grant, const GrantKey& key);

// Read and check everything that needs no key: size, version, reserved bytes, ids and times.
// `now`: seconds since 1970. Fail with kInvalid, or kForbidden for a grant that is not valid now.
Result<GrantQuestion> read_question(ByteSpan bytes);
Result<Grant> read_grant(ByteSpan bytes, std::int64_t now);

// Like read_grant(); also checks the MAC, in constant time and before any other field, and that the
// grant is for this manager and this request. Fails with kForbidden.
Result<Grant> verify_grant(ByteSpan bytes, const GrantKey& key, const InstanceBytes& instance,
                           const Sha256& digest, std::int64_t now);

}  // namespace muster
