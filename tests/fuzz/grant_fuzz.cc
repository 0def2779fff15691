// Arbitrary questions and grants (src/exec/launch), as a libFuzzer target (preset `fuzz`). The
// first 8 bytes are the time. No grant is accepted without the key. A signed grant is accepted only
// if all its values are within their limits, and only for its manager and request.
//
//   cmake --preset fuzz && cmake --build --preset fuzz --target grant_fuzz
//   build/fuzz/tests/grant_fuzz -max_total_time=300 /tmp/found tests/fuzz/corpus/grant

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/types/check.h"
#include "exec/launch/grant.h"

namespace muster {
namespace {

constexpr GrantKey kFuzzKey = {1, 2, 3};

void check_limits(const Grant& grant, std::int64_t now) {
  MUSTER_CHECK(grant.version == kGrantVersion && grant.reserved == 0);
  MUSTER_CHECK(grant.uid != 0 && grant.gid != 0 && grant.uid + 1 != 0 && grant.gid + 1 != 0);
  MUSTER_CHECK(grant.issued >= 0 && grant.until > grant.issued && grant.until > now);
  MUSTER_CHECK(grant.until - grant.issued <= kMaxGrantSeconds);
  MUSTER_CHECK(grant.issued - now <= kMaxClockSkewSeconds);
}

void sign_and_verify(ByteSpan bytes, std::int64_t now) {
  const auto grant = unpack<Grant>(bytes);
  if (!grant) return;
  MUSTER_CHECK(!verify_grant(bytes, kFuzzKey, grant->instance, grant->digest, now).ok());
  GrantBytes signed_bytes = sign_grant(*grant, kFuzzKey);
  MUSTER_CHECK(std::equal(signed_bytes.begin(), signed_bytes.end() - 32, bytes.begin()));
  const auto read = read_grant(bytes, now);
  const auto verified = verify_grant(signed_bytes, kFuzzKey, grant->instance, grant->digest, now);
  MUSTER_CHECK(read.ok() == verified.ok());
  if (!verified.ok()) return;
  check_limits(verified.value(), now);
  InstanceBytes other_instance = grant->instance;
  other_instance[0] = static_cast<std::uint8_t>(other_instance[0] + 1);
  MUSTER_CHECK(!verify_grant(signed_bytes, kFuzzKey, other_instance, grant->digest, now).ok());
  signed_bytes[bytes[0] % signed_bytes.size()] ^= 1;
  MUSTER_CHECK(!verify_grant(signed_bytes, kFuzzKey, grant->instance, grant->digest, now).ok());
}

}  // namespace
}  // namespace muster

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace muster;
  std::int64_t now = 0;
  if (size < sizeof now) return 0;
  std::memcpy(&now, data, sizeof now);
  now &= (std::int64_t{1} << 41) - 1;  // Clocks are not negative.
  const ByteSpan bytes(data + sizeof now, size - sizeof now);
  const auto question = read_question(bytes);
  if (question.ok()) {
    const auto again = pack(question.value());
    MUSTER_CHECK(std::equal(again.begin(), again.end(), bytes.begin(), bytes.end()));
    MUSTER_CHECK(question.value().seconds <= kMaxGrantSeconds);
  }
  sign_and_verify(bytes, now);
  return 0;
}
