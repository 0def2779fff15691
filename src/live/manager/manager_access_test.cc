// Access to jobs: uids as identities, roles, and visibility in lists.

#include <algorithm>

#include "live/access/access_rules.h"
#include "live/config/learned_profiles.h"
#include "live/manager/manager_testing.h"

namespace muster {
namespace {

using nlohmann::json;
using Ids = std::vector<std::uint64_t>;

constexpr const char* kTenants =
    "scheduler: {policy: fifo, retry: none}\n"
    "tenants: {list: [{name: vision, quota: 1}, {name: speech, quota: 1}]}";

class ManagerAccess : public ManagerTest {
 protected:
  static Caller by(const std::string& user, std::uint32_t uid) {
    return {.user = user, .uid = uid, .via = "socket"};
  }
  // A caller by the rules; `visibility` is for users.
  static Caller member(const std::string& user, std::uint32_t uid, Visibility visibility) {
    AccessConfig config;
    config.tenants = {{"vision", {{"ann"}, {}}, {"vera"}}, {"speech", {{"bob"}, {}}, {}}};
    config.visibility = visibility;
    Caller caller = by(user, uid);
    caller.rights = std::make_shared<Rights>(AccessRules(config).rights_of(user, {}, false));
    return caller;
  }
  LiveId submit_as(const Caller& caller, bool hold = true) {
    SubmitJob call = job();
    call.request.hold = hold;
    return ask(call, 201, caller)["id"];
  }
  Ids listed(const Caller& caller, const std::string& state = "all") {
    ListJobs call;
    call.state = state;
    call.counts = true;
    const json answer = ask(call, 200, caller);
    Ids ids;
    for (const json& each : answer["jobs"]) ids.push_back(each["id"]);
    EXPECT_EQ(answer["total"], ids.size());
    std::sort(ids.begin(), ids.end());
    return ids;
  }
  Ids of_events(const Caller& caller) {
    Ids ids;
    const json answer = ask(ListEvents{}, 200, caller);
    for (const json& event : answer["events"]) {
      if (event.contains("job")) ids.push_back(event["job"]);
    }
    std::sort(ids.begin(), ids.end());
    ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
    return ids;
  }
};

TEST_F(ManagerAccess, EqualNamesOfTwoUidsAreTwoUsers) {
  start();
  const Caller unnamed = by("1005", 1005);  // A uid without a name,
  const Caller numeric = by("1005", 2000);  // and a user with this number as the name.
  const LiveId one = submit_as(unnamed);
  const LiveId two = submit_as(numeric);
  const auto check = [&] {
    EXPECT_EQ(listed(unnamed), Ids{one});
    EXPECT_EQ(listed(numeric), Ids{two});
    EXPECT_EQ(of_events(unnamed), Ids{one});
    ask(ShowJob{std::to_string(one)}, 404, numeric);
    ask(ShowJob{std::to_string(one)}, 200, unnamed);
    ask(CancelJob{std::to_string(one)}, 404, numeric);
    ask(RetryJob{std::to_string(one)}, 404, numeric);
  };
  check();
  crash();  // The journal has the uids,
  start();
  check();
  ask(CancelJob{std::to_string(one)}, 200, unnamed);
  ask(CancelJob{std::to_string(two)}, 200, numeric);
  check();  // and so have the rows of finished jobs.
  end();    // The snapshot, too.
  start();
  check();
}

TEST_F(ManagerAccess, AKeyBelongsToAUid) {
  start();
  const LiveId one = ask(job(1, "key"), 201, by("1005", 1005))["id"];
  EXPECT_EQ(ask(job(1, "key"), 200, by("1005", 1005))["id"], one);
  const json refused = ask(job(1, "key"), 409, by("1005", 2000));
  EXPECT_NE(refused["error"].get<std::string>().find("another user of the same name"),
            std::string::npos);
}

TEST_F(ManagerAccess, JobsWithoutAUidBelongToTheName) {
  start();
  const LiveId old = submit_as({"ann", false});
  EXPECT_EQ(listed(by("ann", 1001)), Ids{old});
  ask(CancelJob{std::to_string(old)}, 200, by("ann", 1001));
  EXPECT_EQ(listed(by("ann", 1001), "ended"), Ids{old});
}

TEST_F(ManagerAccess, ListsFollowTheVisibility) {
  start(scheduling(kTenants));
  const auto ann = [](Visibility visibility) { return member("ann", 1001, visibility); };
  const auto bob = [](Visibility visibility) { return member("bob", 1002, visibility); };
  const Caller anna = member("anna", 1003, Visibility::kTenant);  // A member of no tenant.
  const LiveId one = submit_as(ann(Visibility::kOwn));
  const LiveId two = submit_as(bob(Visibility::kOwn));
  for (const bool over : {false, true}) {
    if (over) {
      ask(CancelJob{std::to_string(one)}, 200, member("vera", 1004, Visibility::kOwn));
      ask(CancelJob{std::to_string(two)}, 404, member("vera", 1004, Visibility::kOwn));
      ask(CancelJob{std::to_string(two)}, 200, bob(Visibility::kOwn));
    }
    EXPECT_EQ(listed(ann(Visibility::kOwn)), Ids{one});
    EXPECT_EQ(listed(ann(Visibility::kTenant)), Ids{one});
    EXPECT_EQ(listed(ann(Visibility::kAll)), (Ids{one, two}));
    EXPECT_EQ(listed(member("vera", 1004, Visibility::kOwn)), Ids{one});
    EXPECT_EQ(of_events(member("vera", 1004, Visibility::kOwn)), Ids{one});
    EXPECT_EQ(of_events(bob(Visibility::kAll)), (Ids{one, two}));
    EXPECT_EQ(listed(anna), Ids{});
    EXPECT_EQ(of_events(anna), Ids{});
  }
}

TEST_F(ManagerAccess, ProfilesBelongToUsersNotToTheDefaultTenant) {
  start(scheduling("scheduler: {policy: fifo, mechanism: tune}"));
  LearnedProfile learned;
  learned.measured.curve.add({500, 41, 0.02});
  learned.measured.curve.add({1000, 41, 0.01});
  learned.time = Duration::seconds(12);
  json body = json::parse(learned_profile_json(learned));
  body["name"] = "train";
  body["command"] = {"true"};
  ask(KeepProfile{body.dump()}, 200, by("ann", 1001));
  const auto seen = [&](const std::string& user, const Rights& rights) {
    Caller caller = by(user, 1002);
    caller.rights = std::make_shared<Rights>(rights);
    return ask(ListProfiles{}, 200, caller)["profiles"].size();
  };
  Rights rights;
  rights.tenants = rights.admin_of = {"default"};
  rights.visibility = Visibility::kTenant;
  EXPECT_EQ(seen("bob", rights), 0U);
  EXPECT_EQ(seen("ann", rights), 1U);
  rights.visibility = Visibility::kAll;
  EXPECT_EQ(seen("bob", rights), 1U);
}

TEST_F(ManagerAccess, SeeingIsNotChanging) {
  start(scheduling(kTenants));
  const LiveId one = submit_as(member("ann", 1001, Visibility::kOwn));
  const Caller bob = member("bob", 1002, Visibility::kAll);
  const std::string name = std::to_string(one);
  ask(ShowJob{name}, 200, bob);
  ask(CancelJob{name}, 403, bob);
  ask(ReleaseJob{name}, 403, bob);
  EXPECT_TRUE(ask(ShowWholeJob{name}, 200, bob)["actions"].empty());
  SubmitJob call = job();
  call.request.tenant = "vision";
  EXPECT_EQ(ask(call, 403, bob)["error"],
            "tenant: you are not a member of 'vision'; your tenants: speech");
  ask(PlanJob{call.request}, 403, bob);
  call.request.tenant = "speech";
  call.request.priority = 1;
  EXPECT_EQ(ask(call, 400, bob)["error"], "priority: 1 is outside your range, -100 to 0");
  ask(CancelJob{name}, 200, member("vera", 1004, Visibility::kOwn));
  ask(RetryJob{name}, 403, bob);
  const LiveId again = ask(RetryJob{name}, 201, member("vera", 1004, Visibility::kOwn))["id"];
  const json retried = ask(ShowJob{std::to_string(again)}, 200, member("ann", 1001, {}));
  EXPECT_EQ(retried["user"], "ann");
  EXPECT_EQ(retried["tenant"], "vision");
}

}  // namespace
}  // namespace muster
