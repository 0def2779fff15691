// Arbitrary text of launch.conf (src/exec/launch), as a libFuzzer target (preset `fuzz`). It is
// refused with one printable line and its place, or the rules exclude root and the services.
//
//   cmake --preset fuzz && cmake --build --preset fuzz --target rules_fuzz
//   build/fuzz/tests/rules_fuzz -max_total_time=300 /tmp/found tests/fuzz/corpus/rules

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/types/check.h"
#include "exec/launch/rules.h"

namespace muster {
namespace {

void check_rules(const Rules& rules) {
  MUSTER_CHECK(rules.manager_uid != 0 && rules.grant_uid != 0 && rules.min_uid > 0);
  MUSTER_CHECK(rules.manager_uid != rules.grant_uid && rules.umask <= 0777);
  MUSTER_CHECK(rules.deny_users.size() <= 256 && rules.gpu_devices.size() <= 256);
  MUSTER_CHECK(!rules.allow_groups || !rules.allow_groups->empty());
  for (const std::string& path : rules.gpu_devices) MUSTER_CHECK(path.starts_with('/'));
  const auto refused = [&rules](uid_t uid, gid_t gid) {
    return may_run(rules, uid, gid, {}).has_value();
  };
  MUSTER_CHECK(refused(0, 1000) && refused(1000, 0));
  MUSTER_CHECK(refused(rules.manager_uid, 1000) && refused(rules.grant_uid, 1000));
  MUSTER_CHECK(refused(rules.min_uid - 1, 1000));
  for (const uid_t uid : rules.deny_users) MUSTER_CHECK(refused(uid, 1000));
}

}  // namespace
}  // namespace muster

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace muster;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const Result<Rules> rules = parse_rules(text, "f");
  if (rules.ok()) {
    check_rules(rules.value());
    return 0;
  }
  MUSTER_CHECK(rules.error().place.starts_with("f") && !rules.error().message.empty());
  for (const char c : rules.error().message) MUSTER_CHECK((c >= 0x20 && c < 0x7f) || c == '\t');
  return 0;
}
