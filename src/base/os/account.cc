#include "base/os/account.h"

#include <grp.h>
#include <pwd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "base/text/text.h"

namespace muster {

namespace {
constexpr std::size_t kEntryBytes = 16 << 10;
constexpr std::size_t kMaxEntryBytes = 16 << 20;
constexpr int kMaxGroups = 1'000;
}  // namespace

Result<Account> find_account(uid_t user) {
  passwd entry{};
  passwd* found = nullptr;
  std::vector<char> buffer(kEntryBytes);
  ::getpwuid_r(user, &entry, buffer.data(), buffer.size(), &found);
  if (found == nullptr)
    return Error{"no user " + std::to_string(user) + " on this machine", ErrorCode::kNotFound};
  return Account{entry.pw_uid, entry.pw_gid, entry.pw_name};
}

Result<Account> find_account(const std::string& user) {
  passwd entry{};
  passwd* found = nullptr;
  std::vector<char> buffer(kEntryBytes);
  ::getpwnam_r(user.c_str(), &entry, buffer.data(), buffer.size(), &found);
  if (found != nullptr) return Account{entry.pw_uid, entry.pw_gid, entry.pw_name};
  if (const auto number = parse_int(user); number.ok() && number.value() >= 0) {
    return find_account(static_cast<uid_t>(number.value()));
  }
  return Error{"no user " + in_quotes(user) + " on this machine", ErrorCode::kNotFound};
}

std::vector<std::string> groups_of(const Account& account) {
  std::vector<gid_t> ids(kMaxGroups);
  int count = kMaxGroups;
  ::getgrouplist(account.name.c_str(), account.group, ids.data(), &count);
  ids.resize(static_cast<std::size_t>(std::clamp(count, 0, kMaxGroups)));
  std::vector<std::string> names;
  std::vector<char> buffer(kEntryBytes);
  for (const gid_t id : ids) {
    group entry{};
    group* found = nullptr;
    int error = ERANGE;
    // The entry of a group contains all its members.
    while ((error = ::getgrgid_r(id, &entry, buffer.data(), buffer.size(), &found)) == ERANGE &&
           buffer.size() < kMaxEntryBytes) {
      buffer.resize(buffer.size() * 4);
    }
    if (error == 0 && found != nullptr) names.emplace_back(entry.gr_name);
  }
  return names;
}

bool is_same_account(const std::string& a, const std::string& b) {
  if (a == b) return true;
  const Result<Account> first = find_account(a);
  const Result<Account> second = find_account(b);
  return first.ok() && second.ok() && first.value().user == second.value().user;
}

}  // namespace muster
