#include "live/access/access_rules.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "api/port/permissions.h"
#include "base/types/random.h"
#include "live/access/submission.h"

namespace muster {
namespace {

using Names = std::vector<std::string>;

AccessConfig example() {
  AccessConfig config;
  config.operators = {{"olga"}, {"gpu-ops"}};
  config.viewers = {{"eve"}, {"auditors"}};
  config.tenants = {{"vision", {{"ann"}, {"vision"}}, {"vera"}},
                    {"speech", {{"ann", "bob"}, {}}, {}},
                    {"guests", {{}, {"*"}}, {}}};
  config.visibility = Visibility::kTenant;
  return config;
}

Caller caller_with(const AccessConfig& config, const std::string& user, std::uint32_t uid,
                   const Names& groups = {}, bool is_operator = false) {
  Caller caller{.user = user, .uid = uid};
  Rights rights = AccessRules(config).rights_of(user, groups, is_operator);
  caller.is_operator = rights.role == Role::kOperator;
  caller.rights = std::make_shared<const Rights>(std::move(rights));
  return caller;
}

TEST(AccessRules, GiveRolesAndTenants) {
  struct Case {
    const char* user;
    Names groups;
    Role role;
    Names tenants;
    Names admin_of;
  };
  const Case cases[] = {
      {"olga", {}, Role::kOperator, {"guests"}, {}},
      {"paul", {"gpu-ops"}, Role::kOperator, {"guests"}, {}},
      {"eve", {}, Role::kViewer, {"guests"}, {}},
      {"fred", {"auditors", "vision"}, Role::kViewer, {"vision", "guests"}, {}},
      {"ann", {}, Role::kUser, {"vision", "speech", "guests"}, {}},
      {"bob", {"vision"}, Role::kUser, {"vision", "speech", "guests"}, {}},
      {"vera", {}, Role::kAdmin, {"vision", "guests"}, {"vision"}},
      {"carl", {}, Role::kUser, {"guests"}, {}},
      {"*", {"*"}, Role::kUser, {"guests"}, {}},
  };
  const AccessRules rules(example());
  for (const Case& each : cases) {
    const Rights rights = rules.rights_of(each.user, each.groups, false);
    EXPECT_EQ(name_of(rights.role), name_of(each.role)) << each.user;
    EXPECT_EQ(rights.tenants, each.tenants) << each.user;
    EXPECT_EQ(rights.admin_of, each.admin_of) << each.user;
  }
  EXPECT_EQ(rules.rights_of("olga", {}, false, false).role, Role::kUser) << "a token of a user";
  EXPECT_TRUE(rules.needs_groups());
  EXPECT_FALSE(AccessRules(AccessConfig()).needs_groups());
}

TEST(AccessRules, WithoutUsersEveryTenantIsOpen) {
  AccessConfig config;
  config.tenants = {{"a", {}, {}}, {"b", {}, {}}};
  const Caller ann = caller_with(config, "ann", 1001);
  EXPECT_TRUE(may_submit_to(ann, "a"));
  EXPECT_TRUE(may_submit_to(ann, ""));
  JobRequest request;
  set_default_tenant(ann, request);
  EXPECT_EQ(request.tenant, "");
  EXPECT_FALSE(check_submission(ann, request));
}

TEST(AccessRules, AnotherTenantIsRefusedWithTheOwnOnes) {
  const Caller bob = caller_with(example(), "bob", 1002);
  JobRequest request;
  set_default_tenant(bob, request);
  EXPECT_EQ(request.tenant, "speech");
  EXPECT_FALSE(check_submission(bob, request));
  request.tenant = "vision";
  const MaybeError refusal = check_submission(bob, request);
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->code, ErrorCode::kForbidden);
  EXPECT_EQ(refusal->message,
            "tenant: you are not a member of 'vision'; your tenants: speech, guests");
  AccessConfig closed = example();
  closed.tenants.pop_back();
  request.tenant = "";
  EXPECT_EQ(check_submission(caller_with(closed, "carl", 1003), request)->message,
            "tenant: you are not a member of 'default'; you are a member of no tenant; ask an "
            "operator");
  EXPECT_FALSE(check_submission(caller_with(example(), "olga", 1004), request));
  request.tenant = "guests";
  EXPECT_EQ(check_submission(caller_with(example(), "eve", 1005), request)->code,
            ErrorCode::kForbidden);
}

TEST(AccessRules, PriorityOutsideTheRangeIsRefusedWithTheRange) {
  const auto refused = [](const Caller& caller, const char* tenant, std::int32_t priority) {
    JobRequest request;
    request.tenant = tenant;
    request.priority = priority;
    const MaybeError refusal = check_submission(caller, request);
    EXPECT_TRUE(!refusal || refusal->code == ErrorCode::kInvalid);
    return refusal ? refusal->message : "";
  };
  const Caller ann = caller_with(example(), "ann", 1001);
  const Caller vera = caller_with(example(), "vera", 1006);
  const Caller olga = caller_with(example(), "olga", 1004);
  EXPECT_EQ(refused(ann, "vision", 0), "");
  EXPECT_EQ(refused(ann, "vision", -100), "");
  EXPECT_EQ(refused(ann, "vision", 1), "priority: 1 is outside your range, -100 to 0");
  EXPECT_EQ(refused(ann, "vision", -101), "priority: -101 is outside your range, -100 to 0");
  EXPECT_EQ(refused(vera, "vision", 100), "");
  EXPECT_EQ(refused(vera, "vision", 101), "priority: 101 is outside your range, -100 to 100");
  EXPECT_EQ(refused(vera, "guests", 1), "priority: 1 is outside your range, -100 to 0");
  EXPECT_EQ(refused(olga, "speech", 1000), "");
}

TEST(Permissions, FollowTheVisibility) {
  const JobOwner of_bob{"bob", 1002, "speech"};
  const JobOwner of_carl{"carl", 1003, ""};
  AccessConfig config = example();
  const auto sees = [&](const char* user, std::uint32_t uid, const JobOwner& owner) {
    return may_see(caller_with(config, user, uid), owner);
  };
  EXPECT_TRUE(sees("ann", 1001, of_bob)) << "of a tenant of hers";
  EXPECT_FALSE(sees("ann", 1001, of_carl));
  EXPECT_FALSE(sees("vera", 1006, of_bob));
  EXPECT_TRUE(sees("olga", 1004, of_carl));
  EXPECT_FALSE(may_change(caller_with(config, "ann", 1001), of_bob)) << "seeing is not changing";
  EXPECT_TRUE(may_change(caller_with(config, "vera", 1006), {"ann", 1001, "vision"}));
  EXPECT_FALSE(may_change(caller_with(config, "eve", 1005), {"eve", 1005, "guests"}));
  config.visibility = Visibility::kOwn;
  EXPECT_FALSE(sees("ann", 1001, of_bob));
  EXPECT_TRUE(sees("vera", 1006, {"ann", 1001, "vision"})) << "admins see their tenants";
  EXPECT_FALSE(may_name(caller_with(config, "ann", 1001), of_bob));
  config.hide_names = false;
  EXPECT_TRUE(may_name(caller_with(config, "ann", 1001), of_bob));
  EXPECT_FALSE(sees("ann", 1001, of_bob));
  config.visibility = Visibility::kAll;
  EXPECT_TRUE(sees("ann", 1001, of_carl));
}

TEST(Permissions, TheUidIsTheIdentity) {
  const Caller numeric{.user = "1005", .uid = 2000};  // A user whose name is a number.
  const Caller unnamed{.user = "1005", .uid = 1005};  // A uid without a name.
  const JobOwner job{"1005", 1005, ""};
  EXPECT_FALSE(is_own(numeric, job));
  EXPECT_TRUE(is_own(unnamed, job));
  EXPECT_FALSE(may_see(numeric, job));
  EXPECT_FALSE(may_change(numeric, job));
  const JobOwner old{"1005", kNoUid, ""};  // From a journal without uids.
  EXPECT_TRUE(is_own(numeric, old));
  const Caller renamed{.user = "new", .uid = 1005};
  EXPECT_TRUE(is_own(renamed, job));
  const Caller no_account{.user = "1005"};
  EXPECT_FALSE(is_own(no_account, job));
}

// A slow reference, written from the description in docs/reference/configuration.md.
class Reference {
 public:
  Reference(const AccessConfig& config, std::string user, Names groups, bool is_operator)
      : config_(config), user_(std::move(user)), groups_(std::move(groups)) {
    operator_ = is_operator || lists(config.operators);
  }
  bool is_operator() const { return operator_; }
  bool admin_of(const std::string& tenant) const {
    return std::any_of(config_.tenants.begin(), config_.tenants.end(), [&](const auto& each) {
      return each.tenant == tenant && has(each.admins, user_);
    });
  }
  bool member_of(const std::string& tenant) const {
    return std::any_of(config_.tenants.begin(), config_.tenants.end(), [&](const auto& each) {
      return each.tenant == tenant && (lists(each.members) || has(each.admins, user_));
    });
  }
  bool viewer() const {
    bool admin = false;
    for (const TenantUsers& each : config_.tenants) admin = admin || has(each.admins, user_);
    return !operator_ && !admin && lists(config_.viewers);
  }
  bool submits(const std::string& tenant) const {
    if (operator_) return true;
    if (viewer()) return false;
    const bool bound = std::any_of(config_.tenants.begin(), config_.tenants.end(), [](auto& each) {
      return !each.members.users.empty() || !each.members.groups.empty() || !each.admins.empty();
    });
    return !bound || member_of(tenant);
  }
  bool sees(bool own, const std::string& tenant) const {
    if (operator_ || own || admin_of(tenant)) return true;
    if (config_.visibility == Visibility::kAll) return true;
    return config_.visibility == Visibility::kTenant && member_of(tenant);
  }
  bool changes(bool own, const std::string& tenant) const {
    return operator_ || admin_of(tenant) || (own && !viewer());
  }
  PriorityRange range(const std::string& tenant) const {
    if (operator_) return config_.operator_priority;
    return admin_of(tenant) ? config_.admin_priority : config_.user_priority;
  }

 private:
  static bool has(const Names& names, const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  }
  bool lists(const UserList& list) const {
    return has(list.users, user_) || has(list.groups, "*") ||
           std::any_of(groups_.begin(), groups_.end(),
                       [&](const auto& group) { return has(list.groups, group); });
  }

  const AccessConfig& config_;
  std::string user_;
  Names groups_;
  bool operator_ = false;
};

class RandomAccess {
 public:
  explicit RandomAccess(std::uint64_t seed) : random_(seed) {}

  std::uint64_t below(std::uint64_t count) { return random_.below(count); }
  Names some(const Names& from, std::uint64_t one_in) {
    Names names;
    for (const std::string& name : from) {
      if (below(one_in) == 0) names.push_back(name);
    }
    return names;
  }
  AccessConfig config() {
    AccessConfig config;
    config.operators = {some(kUsers, 6), some(kGroups, 8)};
    config.viewers = {some(kUsers, 4), some(kGroups, 8)};
    for (const std::string& tenant : kTenants) {
      if (below(4) == 0) continue;
      UserList members{some(kUsers, 3), some(kGroups, 4)};
      if (below(6) == 0) members.groups.emplace_back("*");
      config.tenants.push_back({tenant, std::move(members), some(kUsers, 6)});
    }
    if (below(4) == 0) {
      for (TenantUsers& each : config.tenants) each = {each.tenant, {}, {}};
    }
    config.visibility = static_cast<Visibility>(below(3));
    config.user_priority = {-static_cast<std::int32_t>(below(9)), 0};
    return config;
  }

  inline static const Names kUsers = {"ann", "bob", "carl", "dora", "*", "1005"};
  inline static const Names kGroups = {"g", "h", "ops"};
  inline static const Names kTenants = {"default", "a", "b", "c"};

 private:
  Random random_;
};

TEST(AccessRules, AgreeWithAReference) {
  RandomAccess random(7);
  for (int i = 0; i < 3'000; ++i) {
    const AccessConfig config = random.config();
    const std::string& user = RandomAccess::kUsers[random.below(RandomAccess::kUsers.size())];
    const Names groups = random.some(RandomAccess::kGroups, 2);
    const bool root = random.below(10) == 0;
    const Reference wanted(config, user, groups, root);
    const Caller caller = caller_with(config, user, 1000, groups, root);
    EXPECT_EQ(caller.is_operator, wanted.is_operator());
    for (const std::string& tenant : RandomAccess::kTenants) {
      const std::string stored = tenant == "default" && random.below(2) == 0 ? "" : tenant;
      ASSERT_EQ(may_submit_to(caller, stored), wanted.submits(tenant)) << i << user << tenant;
      ASSERT_EQ(priorities_of(caller, stored), wanted.range(tenant)) << i << user << tenant;
      for (const bool own : {false, true}) {
        const JobOwner owner{"ann", own ? 1000U : 1001U, stored};
        ASSERT_EQ(may_see(caller, owner), wanted.sees(own, tenant)) << i << user << tenant;
        ASSERT_EQ(may_change(caller, owner), wanted.changes(own, tenant)) << i << user << tenant;
      }
    }
  }
}

}  // namespace
}  // namespace muster
