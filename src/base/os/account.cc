#include "base/os/account.h"

#include <pwd.h>

#include <vector>

#include "base/text/text.h"

namespace muster {

namespace {
constexpr std::size_t kEntryBytes = 16 << 10;
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

bool is_same_account(const std::string& a, const std::string& b) {
  if (a == b) return true;
  const Result<Account> first = find_account(a);
  const Result<Account> second = find_account(b);
  return first.ok() && second.ok() && first.value().user == second.value().user;
}

}  // namespace muster
