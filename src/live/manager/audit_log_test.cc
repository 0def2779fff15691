#include "live/manager/audit_log.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "live/manager/manager_testing.h"
#include "live/store/audit_reader.h"

namespace muster {
namespace {

class AuditLogTest : public testing::Test {
 protected:
  AuditRow refusal(const std::string& user, Duration after = Duration()) const {
    AuditRow row = audit_row(start_ + after, {.user = user}, CancelJob{"12_3"});
    set_answer(row, 403, "not yours");
    return row;
  }
  std::vector<AuditRow> rows(bool all = false) {
    log_.move_to(journal_, all);
    EXPECT_FALSE(journal_.commit());
    return AuditReader::open(scratch_ / "j.db").value().rows({.limit = 10'000}).value();
  }

  const Scratch scratch_;
  Journal journal_ = Journal::open(scratch_ / "j.db").value();
  AuditLog log_{LiveClock({}, Instant())};
  const Instant start_ = log_.now();
};

TEST_F(AuditLogTest, ARowHasTheCallerTheCallAndItsObject) {
  Caller caller{.user = "ann", .uid = 1000, .via = "token laptop", .address = "10.0.0.1"};
  const AuditRow row = audit_row(start_, caller, CancelJob{"12_3"});
  EXPECT_EQ(row.uid, 1000U);
  EXPECT_EQ(row.via + " " + row.address, "token laptop 10.0.0.1");
  EXPECT_EQ(row.verb + " " + row.object, "cancelJob job 12_3");
  EXPECT_EQ(row.job, 12U);
  caller.uid = kNoUid;
  EXPECT_EQ(audit_row(start_, caller, DrainNode{"left"}).object, "node left");
  EXPECT_EQ(audit_row(start_, caller, DrainNode{"left"}).uid, std::nullopt);
  SubmitJob submit;
  submit.request.tenant = "vision";
  EXPECT_EQ(audit_row(start_, caller, submit).object, "tenant vision");
  EXPECT_EQ(audit_row(start_, {.call = "readLog", .object = "job 7"}).job, 7U);
}

TEST_F(AuditLogTest, TheOwnerOfAJobIsAUid) {
  const Caller caller{.user = "1005", .uid = 1000};
  const auto row_about = [&](const JobOwner& owner) {
    AuditRow row = audit_row(start_, caller, CancelJob{"12"});
    EXPECT_EQ(set_owner(row, owner), !row.owner.empty());
    return row;
  };
  EXPECT_EQ(row_about({"old-name", 1000, ""}).owner, "") << "the caller was renamed";
  EXPECT_EQ(row_about({"1005", kNoUid, ""}).owner, "") << "an owner without a known uid";
  EXPECT_EQ(row_about({"1005", 1005, ""}).owner, "1005") << "uid 1005 has no name";
  EXPECT_EQ(row_about({"1005", 1005, ""}).owner_uid, 1005U);
  EXPECT_EQ(row_about({"ann", kNoUid, ""}).owner_uid, std::nullopt);
}

TEST_F(AuditLogTest, AnswersAreShortAndHideSecrets) {
  AuditRow row;
  set_answer(row, 400, "API_KEY=abc " + std::string(1'000, 'x'));
  EXPECT_EQ(row.answer.size(), 200U);
  EXPECT_EQ(row.answer.substr(0, 12), "API_KEY=*** ");
}

TEST_F(AuditLogTest, AFloodOfRefusalsBecomesACount) {
  EXPECT_TRUE(log_.add(refusal("ann"))) << "the first one wakes the manager";
  for (int i = 1; i < 50; ++i) EXPECT_FALSE(log_.add(refusal("ann")));
  log_.add(refusal("bob"));
  EXPECT_EQ(rows().size(), 11U);
  EXPECT_FALSE(log_.add(refusal("ann", Duration::seconds(59))));
  EXPECT_EQ(rows().size(), 11U);
  log_.add(refusal("ann", Duration::seconds(61)));
  const std::vector<AuditRow> found = rows();
  ASSERT_EQ(found.size(), 13U);
  EXPECT_EQ(found[1].verb, "refusals");
  EXPECT_EQ(found[1].dropped, 41U);
  EXPECT_EQ(found[1].user, "ann");
  EXPECT_EQ(found[1].object, "");
  EXPECT_EQ(found[1].answer, "41 more refusals within a minute");
  EXPECT_EQ(found[0].verb, "cancelJob");
}

TEST_F(AuditLogTest, ManyCallersShareALimitAndAllAreCounted) {
  for (int i = 0; i < 5'000; ++i) log_.add(refusal(fmt::format("user{}", i)));
  const std::vector<AuditRow> found = rows(true);
  ASSERT_EQ(found.size(), AuditLog::kMaxUsers + AuditLog::kRefusalsPerCaller + 1);
  EXPECT_EQ(found[0].user, "");
  EXPECT_EQ(found[0].dropped + found.size() - 1, 5'000U);
}

TEST_F(AuditLogTest, ManyAddressesDoNotHideTheRefusalsOfUsers) {
  for (int i = 0; i < 5'000; ++i) {
    ServerAct act{.call = "readLog", .status = 401};
    act.caller.address = fmt::format("127.0.{}.{}", i / 250, i % 250);
    log_.add(audit_row(start_, act));
  }
  log_.add(refusal("ann"));
  const std::vector<AuditRow> found = rows(true);
  EXPECT_LE(found.size(), AuditLog::kMaxAddresses + AuditLog::kRefusalsPerCaller + 3);
  EXPECT_EQ(std::count_if(found.begin(), found.end(),
                          [](const AuditRow& row) { return row.user == "ann"; }),
            1);
}

TEST_F(AuditLogTest, IsDueWithinASecond) {
  EXPECT_GT(log_.due(), start_ + Duration::seconds(600));
  log_.add(refusal("ann"));
  EXPECT_EQ(log_.due(), start_ + Duration::seconds(1));
  rows();
  EXPECT_GT(log_.due(), start_ + Duration::seconds(600));
  for (int i = 0; i < 20; ++i) log_.add(refusal("ann"));
  rows();
  EXPECT_EQ(log_.due(), start_ + Duration::seconds(60)) << "the count";
}

TEST_F(AuditLogTest, RepeatedLooksAreOneRow) {
  const auto look = [&](std::uint64_t job, int seconds) {
    AuditRow row = audit_row(start_ + Duration::seconds(seconds), {.user = "olga"},
                             FindLog{.job = std::to_string(job), .lease = {}});
    set_answer(row, 200, "output");
    log_.add_look(std::move(row));
  };
  for (int i = 0; i < 600; ++i) look(1, i);
  look(2, 5);
  look(1, 601);
  EXPECT_EQ(rows().size(), 3U);
}

// ---- in the manager

class ManagerAudit : public ManagerTest {
 protected:
  nlohmann::json audit(const Caller& caller = {"olga", true}) {
    return ask(ListAudit{}, 200, caller)["rows"];
  }
};

TEST_F(ManagerAudit, ChangesAreThereWithTheirAnswer) {
  start();
  ask(job(2, "k"), 201);
  ask(job(2, "k"), 200);
  ask(CancelJob{"1"}, 200, {"olga", true});
  const nlohmann::json rows = audit();
  ASSERT_EQ(rows.size(), 2U) << "the repeated submission changed nothing";
  EXPECT_EQ(rows[1]["answer"], "1 job");
  EXPECT_EQ(rows[0]["call"], "cancelJob");
  EXPECT_EQ(rows[0]["owner"], "ann");
  EXPECT_EQ(audit({"ann", false}).size(), 2U);
  EXPECT_EQ(audit({"bob", false}).size(), 0U);
  crash();
  start();
  EXPECT_EQ(audit(), rows);
}

TEST_F(ManagerAudit, RefusalsAreWrittenWithoutAChange) {
  start();
  ask(DrainNode{"here"}, 403);
  ask(ShowWhatIf{}, 403);
  manager_->record({.caller = {.address = "10.0.0.1"}, .call = "readLog", .status = 401});
  nlohmann::json rows;
  for (int i = 0; i < 300 && rows.size() < 3; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    rows = audit();
  }
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[2]["answer"], "only operators can drain nodes");
  EXPECT_EQ(rows[1]["call"], "whatIf");
  EXPECT_EQ(rows[0]["address"], "10.0.0.1");
}

TEST_F(ManagerAudit, LogoutRaisesTheGenerationForGood) {
  start();
  EXPECT_EQ(ask(LogOut{}, 200, {"ann", false, 1000})["generation"], 1);
  EXPECT_EQ(ask(LogOut{}, 200, {"ann", false, 1000})["generation"], 2);
  ask(LogOut{}, 409, {"ann", false});
  crash();
  ASSERT_EQ(open(scheduling(kPlain)), "");
  EXPECT_EQ(manager_->ticket_generations(), (TicketGenerations{{1000, 2}}));
}

}  // namespace
}  // namespace muster
