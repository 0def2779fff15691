#pragma once

// Names and groups of the users of this machine. A lookup can ask a network service, so results are
// cached.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/types/time.h"

namespace muster {

struct SystemUser {
  bool known = false;  // The name is an account, and its uid is `uid`.
  std::vector<std::string> groups;
};

// Finds the groups of users.
class GroupLookup {
 public:
  virtual ~GroupLookup() = default;
  // REQUIRES: `uid` is not kNoUid.
  virtual SystemUser find(const std::string& user, std::uint32_t uid) = 0;
};

// Asks the system (getgrouplist). Keeps each answer for 60 seconds. Thread-compatible.
class SystemUsers final : public GroupLookup {
 public:
  static constexpr Duration kKept = Duration::seconds(60);
  static constexpr std::size_t kMaxKept = 10'000;  // Users; then the cache is emptied.

  // For tests: another clock and another source.
  using Source = std::function<SystemUser(const std::string& user, std::uint32_t uid)>;
  using Clock = std::function<Instant()>;
  explicit SystemUsers(Source source = nullptr, Clock clock = nullptr);

  SystemUser find(const std::string& user, std::uint32_t uid) override;

 private:
  struct Kept {
    SystemUser user;
    Instant until;
  };
  Source source_;
  Clock clock_;
  std::map<std::pair<std::uint32_t, std::string>, Kept> kept_;
};

}  // namespace muster
