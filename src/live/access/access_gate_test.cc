#include "live/access/access_gate.h"

#include <gtest/gtest.h>

#include "base/types/testing.h"

namespace muster {
namespace {

constexpr std::uint32_t kAnn = 1001;

// Every uid from 1000 on has an account; the uid 1009 is in the group `ops`.
class FakeUsers final : public GroupLookup {
 public:
  SystemUser find(const std::string& /*user*/, std::uint32_t uid) override {
    if (uid < 1000) return {};
    return {true, uid == 1009 ? std::vector<std::string>{"ops"} : std::vector<std::string>()};
  }
};

AccountMode mode_of(const ModeQuestion& question, std::uint32_t uid = kAnn) {
  return find_mode(question, uid == 0 ? "root" : "ann", uid).value();
}

AccessGate gate_of(const ModeQuestion& question, std::uint32_t uid = kAnn,
                   AccessConfig config = {}) {
  return {mode_of(question, uid), std::move(config), std::make_unique<FakeUsers>()};
}

Caller by(std::string via, std::string user, std::uint32_t uid, bool is_operator = false) {
  return {.user = std::move(user), .is_operator = is_operator, .uid = uid, .via = std::move(via)};
}

std::string refused(AccessGate gate, Caller caller) {
  const MaybeError refusal = gate.admit(caller);
  EXPECT_TRUE(!refusal || refusal->code == ErrorCode::kForbidden);
  return refusal ? refusal->message : "";
}

TEST(ManagerMode, SaysWhoseAccountJobsHave) {
  EXPECT_EQ(mode_of({}).text(), "mode: personal: all jobs run as ann, for ann");
  EXPECT_EQ(mode_of({}, 0).text(), "mode: personal: all jobs run as root, for root");
  EXPECT_EQ(mode_of({.share_account = true}).text(),
            "mode: shared-account: all jobs run as ann, for all users");
  EXPECT_EQ(mode_of({.elsewhere = true}).text(), "mode: slurm: all jobs run as ann, for ann");
  EXPECT_EQ(mode_of({.elsewhere = true, .as_submitter = true}, 0).text(),
            "mode: slurm: jobs run as their submitters");
  EXPECT_EQ(mode_of({}).notice(), "");
  EXPECT_EQ(mode_of({.share_account = true}).notice(),
            "jobs_share_account: all jobs run as ann, so every job can act as ann");
  EXPECT_EQ(mode_of({.elsewhere = true}).runs_as(), "manager");
  EXPECT_EQ(mode_of({.elsewhere = true, .as_submitter = true}, 0).runs_as(), "slurm");
}

TEST(ManagerMode, RefusesContradictions) {
  const auto text = [](const ModeQuestion& question, std::uint32_t uid = kAnn) {
    return error_text(find_mode(question, "ann", uid));
  };
  EXPECT_EQ(text({.share_account = true}, 0),
            "jobs_share_account: jobs would run as root; run 'muster serve' as a separate user");
  EXPECT_EQ(text({.elsewhere = true, .as_submitter = true, .share_account = true}, 0),
            "jobs_share_account: not needed: Slurm runs each job as its submitter; remove it");
  EXPECT_NE(text({.wanted = "shared"}).find("there is no launcher"), std::string::npos);
  EXPECT_NE(text({.wanted = "slurm"}).find("which select 'personal'"), std::string::npos);
  EXPECT_EQ(text({.wanted = "personal"}), "accepted");
}

TEST(AccessGate, PersonalModeIsForOneUser) {
  EXPECT_EQ(refused(gate_of({}), by("socket", "ann", kAnn, true)), "");
  EXPECT_EQ(refused(gate_of({}), by("socket", "root", 0, true)), "");
  EXPECT_EQ(refused(gate_of({}), by("token laptop", "ann", kAnn)), "");
  for (const char* via : {"socket", "token x", "ticket"}) {
    const std::string why = refused(gate_of({}), by(via, "bob", 1002));
    EXPECT_NE(why.find("'executor: slurm'"), std::string::npos) << why;
    EXPECT_NE(why.find("'jobs_share_account: accepted'"), std::string::npos) << why;
    EXPECT_NE(why.find("every submitter acts as ann"), std::string::npos) << why;
  }
  EXPECT_NE(refused(gate_of({}), by("token x", "olga", kNoUid, true)), "") << "also an operator";
  EXPECT_NE(refused(gate_of({}), by("token x", "root", 0, true)), "");
  EXPECT_NE(refused(gate_of({.elsewhere = true}), by("socket", "bob", 1002)), "");
}

TEST(AccessGate, OtherModesAdmitUsersWithTheirRoles) {
  AccessConfig config;
  config.operators = {{"olga"}, {"ops"}};
  AccessGate gate = gate_of({.share_account = true}, kAnn, config);
  const auto role = [&](Caller caller) {
    EXPECT_FALSE(gate.admit(caller));
    EXPECT_EQ(caller.is_operator, caller.rights->role == Role::kOperator);
    return caller.rights->role;
  };
  EXPECT_EQ(role(by("socket", "bob", 1002)), Role::kUser);
  EXPECT_EQ(role(by("socket", "olga", 1003)), Role::kOperator);
  EXPECT_EQ(role(by("socket", "paul", 1009)), Role::kOperator);
  EXPECT_EQ(role(by("token x", "olga", 1003)), Role::kUser) << "the role of the token";
  EXPECT_EQ(role(by("token x", "zoe", kNoUid, true)), Role::kOperator);
}

TEST(AccessGate, SlurmRunsJobsOfAccounts) {
  const ModeQuestion slurm{.elsewhere = true, .as_submitter = true};
  EXPECT_EQ(refused(gate_of(slurm, 0), by("socket", "bob", 1002)), "");
  EXPECT_NE(refused(gate_of(slurm, 0), by("socket", "77", 77)), "");
  ModeQuestion closed = slurm;
  closed.closed = true;
  EXPECT_EQ(refused(gate_of(closed, 0), by("socket", "bob", 1002)),
            "this manager admits only operators");
}

TEST(SystemUsers, KeepsAnswersForAMinute) {
  int asked = 0;
  Instant now;
  SystemUsers users(
      [&](const std::string&, std::uint32_t) {
        ++asked;
        return SystemUser{true, {std::to_string(asked)}};
      },
      [&] { return now; });
  EXPECT_EQ(users.find("ann", 1).groups.front(), "1");
  now = now + Duration::seconds(59);
  EXPECT_EQ(users.find("ann", 1).groups.front(), "1");
  EXPECT_EQ(users.find("ann", 2).groups.front(), "2") << "another uid";
  now = now + Duration::seconds(1);
  EXPECT_EQ(users.find("ann", 1).groups.front(), "3");
}

TEST(SystemUsers, AsksTheSystem) {
  SystemUsers users;
  const SystemUser root = users.find("root", 0);
  EXPECT_TRUE(root.known);
  EXPECT_FALSE(root.groups.empty());
  EXPECT_FALSE(users.find("root", 1).known);
  EXPECT_FALSE(users.find("0", 0).known) << "a number is not a name";
}

}  // namespace
}  // namespace muster
