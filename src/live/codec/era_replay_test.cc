// An era of the journal under this engine version and another one, whole and damaged.

#include "live/codec/era_replay.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "base/types/random.h"
#include "engine/roster/testing.h"
#include "live/codec/decisions_codec.h"
#include "live/codec/roster_codec.h"

namespace muster {
namespace {

using live_testing::settings_for;
using live_testing::submit;
using nlohmann::json;

constexpr std::uint32_t kOther = kEngineVersion + 1;

struct WrittenEra {
  EraSnapshot snapshot;
  std::vector<std::pair<Instant, std::string>> entries;
  std::string digest;
};

SubmitInput era_job(LiveId id, std::int32_t gpus, std::int64_t estimate) {
  SubmitInput input = submit(id, gpus);
  input.request.estimate = Duration::seconds(estimate);
  return input;
}

RosterSettings era_settings(const char* policy) {
  RosterSettings settings = settings_for("2x2", policy);
  settings.engine.estimates = EstimateSource::Kind::kUser;
  settings.engine.retry = RetryPolicy::adaptive();
  return settings;
}

// First come, first served: job 3 waits for job 2, which is longer. Jobs 1 and 3 fail on one node,
// which is quarantined, and two measured events close the other.
WrittenEra an_era() {
  WrittenEra era;
  Roster first(era_settings("fifo"));
  first.step(Instant(), std::vector<Input>{era_job(1, 2, 900), era_job(2, 4, 1000)});
  era.snapshot.roster = roster_json(first.state());
  Roster roster(era_settings("fifo"));
  EXPECT_TRUE(roster.restore(first.state()).ok());
  era.snapshot.decided = roster.decisions();
  std::int64_t second = 0;
  const auto take = [&](std::vector<Input> inputs) {
    const Instant now = Instant::at(Duration::seconds(++second));
    JournalStep step{roster.digest(), inputs};
    roster.step(now, inputs);
    step.decided = roster.decisions();
    era.entries.emplace_back(now, step_json(step));
  };
  const auto fails = [&](LiveId id, std::uint32_t lease) {
    take({LeaseUpInput{id, lease, "full"}});
    LeaseOverInput over{id, lease, LeaseResult::kFailed, "cuda-failure", "dark", 500, 0, 0};
    over.proof.told = SignatureReaction{Reaction::kRetryElsewhere, Bucket::kInfrastructure};
    take({over});
  };
  SubmitInput third = era_job(3, 1, 10);
  third.user = "bob";
  take({third});
  fails(1, 1);
  take({DrainInput{"s1", false}});
  take({DrainInput{"s1", true}, CancelInput{2, "ann"}});
  fails(3, 1);
  take({HoldInput{1}});
  EXPECT_EQ(roster.quarantines().size(), 1U);
  take({NodeEvidenceInput{"s1", "Xid 79"}});
  take({NodeTestInput{"s1", false, "dark"}});
  EXPECT_EQ(roster.quarantines().size(), 2U);
  second += 700;
  take({TickInput{}});
  // Version 3 sent the engine no event here, so its journals have no decisions for this step.
  take({NodeTestInput{"s0", false, "dark"}});
  EXPECT_TRUE(roster.decisions().empty());
  take({NodeTestInput{"s1", true, ""}});
  era.digest = roster.digest();
  return era;
}

std::string outcome_of(const WrittenEra& era, const char* policy) {
  Result<EraReplay> replay = EraReplay::begin(era.snapshot, era_settings(policy));
  if (!replay.ok()) return replay.error().message;
  for (const auto& [at, text] : era.entries) {
    const Result<JournalStep> step = read_step(text);
    if (!step.ok()) return step.error().message;
    if (!replay.value().agrees(step.value())) return "differs";
    if (const MaybeError misfit = replay.value().take(at, step.value())) return misfit->message;
  }
  replay.value().roster().engine().state().check_invariants();
  return replay.value().roster().digest() == era.digest ? "same" : "other";
}

TEST(EraReplay, TheSameVersionDecidesAgain) {
  const WrittenEra era = an_era();
  EXPECT_EQ(outcome_of(era, "fifo"), "same");
  EXPECT_EQ(outcome_of(era, "srtf"), "differs");
}

TEST(EraReplay, AnotherVersionRepeatsWhatWasDecided) {
  WrittenEra era = an_era();
  era.snapshot.engine = kOther;
  EXPECT_EQ(outcome_of(era, "fifo"), "same");
  EXPECT_EQ(outcome_of(era, "srtf"), "same");
}

// Version 3 of the engine recorded neither the grade of the evidence nor the tenants.
TEST(EraReplay, QuarantinesOfVersion3AreRepeated) {
  WrittenEra era = an_era();
  era.snapshot.engine = 3;
  std::size_t changed = 0;
  for (auto& [at, text] : era.entries) {
    json body = json::parse(text);
    for (json& step : body["did"]) {
      if (step.size() < 2 || !step[1].contains("closed")) continue;
      for (json& each : step[1]["closed"]) {
        if (each[7].get<bool>()) continue;
        each.erase(9);
        each.erase(8);
        each.erase(7);
        ++changed;
      }
    }
    text = body.dump();
  }
  EXPECT_EQ(changed, 1U);
  EXPECT_EQ(outcome_of(era, "srtf"), "same");
}

TEST(EraReplay, AJournalWithoutDecisionsNeedsTheVersionThatWroteIt) {
  WrittenEra era = an_era();
  for (auto& [at, text] : era.entries) {
    json body = json::parse(text);
    EXPECT_EQ(body.erase("did"), 1U);
    text = body.dump();
  }
  EXPECT_EQ(outcome_of(era, "fifo"), "same");
  era.snapshot.engine = kOther;
  EXPECT_EQ(outcome_of(era, "fifo"), "differs") << "an entry without them";
  era.snapshot.decided.reset();
  EXPECT_EQ(outcome_of(era, "fifo"), "differs") << "and a snapshot without them";
  era.entries.clear();
  EXPECT_EQ(outcome_of(era, "fifo"), "other") << "nothing behind it: it decides itself";
}

TEST(EraReplay, ASnapshotKeepsTheVersionAndTheDecisions) {
  const WrittenEra era = an_era();
  EraSnapshot written = era.snapshot;
  written.engine = kOther;
  const Result<EraSnapshot> read = read_era_snapshot(era_snapshot_json(written));
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read.value().engine, kOther);
  ASSERT_TRUE(read.value().decided);
  EXPECT_EQ(decisions_json(*read.value().decided), decisions_json(*written.decided));
  json old = json::parse(era_snapshot_json(written));
  old.erase("engine");
  old.erase("decided");
  const Result<EraSnapshot> before = read_era_snapshot(old.dump());
  ASSERT_TRUE(before.ok());
  EXPECT_EQ(before.value().engine, 1U);
  EXPECT_FALSE(before.value().decided);
}

TEST(EraReplay, DecisionsThatDoNotFitAreRefused) {
  const auto with = [](std::size_t entry, const std::string& did) {
    WrittenEra era = an_era();
    era.snapshot.engine = kOther;
    std::string& text = era.entries[entry].second;
    json body = json::parse(text);
    body["did"] = "@";
    text = body.dump();
    text.replace(text.find("\"@\""), 3, did);  // dump() would recurse into deep decisions.
    return outcome_of(era, "fifo");
  };
  EXPECT_EQ(with(0, "[[[[77,0,1,0,0,0]]]]"), "the plan names row 77, which does not exist");
  EXPECT_EQ(with(0, "[[[[2]]]]"), "the plan stops row 2, which is not possible");
  EXPECT_EQ(with(0, "[[[[2,0,1,0,0,0]]]]"), "the plan places row 2, which is not possible")
      << "GPUs of job 1";
  EXPECT_EQ(with(0, "[[[[2,9,1,0,0,0]]]]"), "the plan places row 2, which is not possible");
  EXPECT_EQ(with(0, "[[[[1],[1]]]]"), "the plan names row 1, which it has named before");
  EXPECT_EQ(with(0, "[]"), "it has fewer decisions than its inputs require");
  EXPECT_EQ(with(0, R"([[0,{"rejected":[[9,"no"]]}]])"), "it rejects a job that was not submitted");
  EXPECT_EQ(with(2, "[[[]]]"), "it has no valid reaction to the failure of row 0");
  EXPECT_EQ(with(0, "[[[[2,0,1,0,0]]]]"),
            "cannot read its decisions: not a placement: [2,0,1,0,0]");
  EXPECT_EQ(with(0, "[[[[-2]]]]"),
            "cannot read its decisions: not a number from 0 to 4294967295: -2");
  EXPECT_EQ(with(0, "[7]").substr(0, 27), "cannot read its decisions: ");
  const std::string deep = std::string(200'000, '[') + std::string(200'000, ']');
  EXPECT_EQ(with(0, "[[[[" + deep + "]]]]"),
            "cannot read its decisions: not a number from 0 to 4294967295: array");
  for (const char* key : {"blocked", "rejected", "failed", "closed"}) {
    const std::string did = std::string(R"([[0,{")") + key + "\":" + deep + "}]]";
    EXPECT_EQ(with(0, did).substr(0, 27), "cannot read its decisions: ") << key;
  }
  EXPECT_EQ(with(0, R"([[[],{"blocked":[[0,1]]}]])"),
            "the plan blocks GPUs of node 0, which is not possible");
  EXPECT_EQ(with(0, R"([[0,{"blocked":[[0,1]]}]])"), "it blocks GPUs without a plan");
  EXPECT_EQ(with(0, R"([[[],{"blocked":[[0,-3]]}]])"),
            "cannot read its decisions: not a set of GPUs: -3");
  EXPECT_EQ(with(0, R"([["none"]])"), "cannot read its decisions: not a plan: \"none\"");
  EXPECT_EQ(with(0, R"([[[]],[[[0]]]])"), "it has more decisions than its inputs require");
}

// A wake-up of the engine names no job: with rounds and a drained node it is the only action.
TEST(EraReplay, ARosterWithoutJobsIsRestored) {
  RosterSettings settings = era_settings("fifo");
  settings.engine.round = Duration::seconds(300);
  Roster roster(settings);
  roster.step(Instant::at(Duration::seconds(7)), std::vector<Input>{DrainInput{"s1", true}});
  EraSnapshot snapshot;
  snapshot.roster = roster_json(roster.state());
  const Result<EraReplay> replay = EraReplay::begin(snapshot, settings);
  EXPECT_TRUE(replay.ok()) << replay.error().message;
}

// For any change of a number, the result is an error or a state that keeps the invariants.
TEST(EraReplay, NoDamagedDecisionBreaksTheEngine) {
  Random random(1);
  const WrittenEra whole = an_era();
  std::size_t refused = 0;
  for (int i = 0; i < 2000; ++i) {
    WrittenEra era = whole;
    era.snapshot.engine = kOther;
    std::string& text = era.entries[random.below(era.entries.size())].second;
    const std::size_t begin = text.find("\"did\"");  // The inputs follow.
    const std::size_t at = begin + random.below(text.find("\"inputs\"") - begin);
    if (text[at] < '0' || text[at] > '9') continue;
    text[at] = static_cast<char>('0' + random.below(10));
    const std::string result = outcome_of(era, "fifo");
    refused += result != "same" && result != "other" ? 1 : 0;
  }
  EXPECT_GT(refused, 50U);
}

}  // namespace
}  // namespace muster
