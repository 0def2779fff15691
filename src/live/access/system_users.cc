#include "live/access/system_users.h"

#include <utility>

#include "base/os/account.h"
#include "base/os/processes.h"

namespace muster {

namespace {

SystemUser asked(const std::string& user, std::uint32_t uid) {
  SystemUser found;
  const Result<Account> account = find_account(user);
  found.known = account.ok() && account.value().name == user && account.value().user == uid;
  if (found.known) found.groups = groups_of(account.value());
  return found;
}

}  // namespace

SystemUsers::SystemUsers(Source source, Clock clock)
    : source_(std::move(source)), clock_(std::move(clock)) {
  if (!source_) source_ = asked;
  if (!clock_) clock_ = [] { return Instant::micros(boot_micros()); };
}

SystemUser SystemUsers::find(const std::string& user, std::uint32_t uid) {
  const Instant now = clock_();
  if (kept_.size() >= kMaxKept) kept_.clear();
  const auto [place, fresh] = kept_.try_emplace({uid, user});
  Kept& kept = place->second;
  if (fresh || now >= kept.until) kept = {source_(user, uid), now + kKept};
  return kept.user;
}

}  // namespace muster
