#include "live/config/access_section.h"

#include <unistd.h>

#include <array>

#include "base/os/account.h"
#include "base/text/text.h"
#include "live/access/manager_mode.h"
#include "workload/input/tenants_file.h"

namespace muster {

namespace {

constexpr std::array<std::string_view, 2> kUserListKeys = {"users", "groups"};
constexpr std::array<std::string_view, 3> kPriorityKeys = {"user", "admin", "operator"};
constexpr std::array<std::string_view, 3> kVisibilities = {"own", "tenant", "all"};
constexpr Bounds kPriority = {-1000, 1000};

// A list of users, or a map with `users` and `groups`.
UserList read_user_list(const Item& item, ItemReader& in) {
  UserList list;
  if (item.kind != Item::Kind::kMap) {
    list.users = read_names(in, item, NameKind::kUser);
    return list;
  }
  in.allow_keys(item, kUserListKeys);
  if (const Item* users = item.find("users")) list.users = read_names(in, *users, NameKind::kUser);
  if (const Item* groups = item.find("groups")) {
    list.groups = read_names(in, *groups, NameKind::kGroup);
  }
  return list;
}

// Returns the index of the word in `known`.
std::size_t read_word(const Item& item, std::span<const std::string_view> known, ItemReader& in) {
  for (std::size_t i = 0; i < known.size(); ++i) {
    if (item.text == known[i]) return i;
  }
  in.refuse(item, "unknown: " + in_quotes(item.text) + suggestion(item.text, known));
  return 0;
}

// "[-100, 0]". Contains 0, which is the priority of a request without one.
void read_range(const Item& map, std::string_view key, ItemReader& in, PriorityRange& to) {
  const Item* item = map.find(key);
  if (item == nullptr) return;
  in.expect_list(*item);
  if (in.failed()) return;
  if (item->items.size() != 2) return in.refuse(*item, "must be two numbers, such as [-100, 0]");
  to.low = static_cast<std::int32_t>(in.whole(item->items[0], kPriority));
  to.high = static_cast<std::int32_t>(in.whole(item->items[1], kPriority));
  if (!in.failed() && (to.low > 0 || to.high < 0)) {
    in.refuse(*item, "must contain 0, the priority of jobs that request none");
  }
}

std::string manager_user() {
  const Result<Account> own = find_account(::geteuid());
  return own.ok() ? own.value().name : std::to_string(::geteuid());
}

void read_mode(const Item& root, ItemReader& in, ServeFile& out) {
  if (const Item* others = root.find("others")) {
    if (in.flag(*others)) in.refuse(*others, refusal_of_others(manager_user()));
    out.closed = true;
  }
  if (const Item* share = root.find("jobs_share_account")) {
    if (share->text != "accepted") {
      in.refuse(*share, "must be 'accepted': " + in_quotes(share->text));
    }
    out.share_account = true;
  }
  if (const Item* mode = root.find("mode")) {
    out.mode = mode->text;  // find_mode() explains why `shared` is not possible.
    if (out.mode != "shared") read_word(*mode, manager_mode_names(), in);
  }
}

}  // namespace

void read_access(const Item& root, ItemReader& in, ServeFile& out) {
  read_mode(root, in, out);
  AccessConfig& to = out.access;
  if (const Item* item = root.find("operators")) to.operators = read_user_list(*item, in);
  if (const Item* item = root.find("viewers")) to.viewers = read_user_list(*item, in);
  if (const Item* item = root.find("hide_names")) to.hide_names = in.flag(*item);
  if (const Item* item = root.find("visibility")) {
    to.visibility = static_cast<Visibility>(read_word(*item, kVisibilities, in));
  }
  if (const Item* item = root.find("priority")) {
    in.allow_keys(*item, kPriorityKeys);
    read_range(*item, "user", in, to.user_priority);
    read_range(*item, "admin", in, to.admin_priority);
    read_range(*item, "operator", in, to.operator_priority);
  }
}

MaybeError read_tenant_users(const Item& section, const std::string& file, AccessConfig& out) {
  Result<std::vector<TenantMembers>> members = read_tenant_members(section, file);
  if (!members.ok()) return members.error();
  for (TenantMembers& each : members.value()) {
    out.tenants.push_back({std::move(each.tenant),
                           {std::move(each.users), std::move(each.groups)},
                           std::move(each.admins)});
  }
  return std::nullopt;
}

}  // namespace muster
