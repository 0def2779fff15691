// The JSON of a roster's state: whole, as earlier versions wrote it, and damaged.

#include "live/codec/roster_codec.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace muster {
namespace {

using nlohmann::json;

// Every field has a value that is not its default.
RosterState full_state() {
  RosterState state;
  state.now = Instant::micros(9);
  state.digest = "d";
  state.nodes = {"n0", "n1"};
  LiveJob job;
  job.id = 7;
  job.user = "ann";
  job.tenant = "lab";
  job.request.name = "train";
  job.request.command = {"true"};
  job.array = 5;
  job.index = 2;
  job.at_once = 3;
  job.submitted = Instant::micros(1);
  job.started = Instant::micros(2);
  job.why = "so";
  job.held = job.cancelled = job.tried = job.in_array_line = true;
  job.held_why = "alike";
  job.row.emplace();
  job.lease_base = 4;
  job.leases_used = 6;
  job.losses = 1;
  job.ran = Duration::micros(8);
  job.step_unit = 0.5;
  job.proof = {"s", "e", 3, "a",
               SignatureReaction{Reaction::kRetryElsewhere, Bucket::kInfrastructure}};
  job.past = EngineHistory{Duration::micros(3), 4, 5, 6, {}, Duration::micros(7)};
  job.past->failures.push_back({Reason::kCudaFailure,
                                {NodeId(1)},
                                SignatureReaction{Reaction::kRetryElsewhere, Bucket::kUser}});
  job.lease = LiveLease{
      6, {{NodeId(1), 3, 4, 5, 6}}, true, false, true, Instant::micros(3), {}, {}, "slow"};
  job.lease->up_since = Instant::micros(4);
  job.lease->isolation = "full";
  job.told_wait = "gpus";
  job.waits_told = 2;
  job.waits_since = Instant::micros(5);
  job.waited.by_cause[1] = Duration::micros(6);
  job.waited_for_lease.by_cause[2] = Duration::micros(7);
  state.jobs.push_back(job);
  state.drained = {NodeId(0)};
  state.drain_ends.emplace_back(NodeId(0), Instant::micros(8));
  state.quarantined.push_back(
      {NodeId(1), {"why", Instant::micros(1), Instant::micros(2), Duration::micros(3), true, "t"}});
  state.quarantined[0].second.grade = EvidenceGrade::kMeasured;
  state.checks = {NodeId(1)};
  state.blame.events.push_back({NodeId(1), Instant::micros(1), "Xid 79"});
  state.blame.closings.push_back({NodeId(1), Instant::micros(2), {TenantId(0)}});
  state.blame.tenants.push_back({TenantId(0), 2, Instant::micros(3)});
  state.tenants = {"lab"};
  state.conditions.push_back({NodeId(0), {false, "dark", Instant::micros(1), {1, 2, 3, 0}}});
  state.streaks.push_back({{5, "x"}, {Reason::kCudaFailure, 2, true}});
  state.finished.push_back({"ann", "lab", "train", 2, Duration::micros(1), Instant::micros(2)});
  return state;
}

TEST(RosterCodec, WritesAndReadsEveryField) {
  const std::string text = roster_json(full_state());
  const Result<RosterState> read = read_roster(text);
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(roster_json(read.value()), text);
  const json written = json::parse(text);
  const json& job = written["jobs"][0];
  EXPECT_EQ(job.size(), 25U) << job.dump(1);
  EXPECT_EQ(job["lease"]["where"][0][0], "n1");
  EXPECT_EQ(job["past"]["failures"][0]["servers"][0], "n1");
  EXPECT_EQ(written["drain_ends"].dump(), R"([{"node":"n0","until":8}])");
  EXPECT_EQ(written["conditions"], R"([{"node":"n0","since":1,"taken":[1,2,3],"usable":false,)"
                                   R"("why":"dark"}])");
  const LiveJob& back = read.value().jobs.at(0);
  EXPECT_EQ(read.value().quarantined[0].second.grade, EvidenceGrade::kMeasured);
  EXPECT_EQ(written["blame"].dump(), R"({"closings":[["n1",2,[[0]]]],"events":[["n1",1,"Xid 79"]],)"
                                     R"("tenants":[[[0],2,3]]})");
  EXPECT_TRUE(back.row);
  EXPECT_EQ(read.value().nodes[back.lease->placement[0].node.index()], "n1");
  EXPECT_EQ(back.past->estimate, Duration::micros(7));
  EXPECT_EQ(back.proof, full_state().jobs[0].proof);
  EXPECT_EQ(back.waited_for_lease.by_cause[2], Duration::micros(7));
}

TEST(RosterCodec, ReadsWhatEarlierVersionsWrote) {
  json old = json::parse(roster_json(full_state()));
  for (const char* key :
       {"drain_ends", "quarantined", "conditions", "streaks", "checks", "blame", "tenants"}) {
    old.erase(key);
  }
  json& job = old["jobs"][0];
  for (const char* key : {"held_why", "step_unit", "proof", "past", "lease", "started"}) {
    job.erase(key);
  }
  job["story"].erase(4);
  old["known"][0].erase(5);
  old["known"][0].erase(4);
  const Result<RosterState> read = read_roster(old.dump());
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read.value().jobs[0].told_wait, "gpus");
  EXPECT_EQ(read.value().finished[0].tenant, "");
  job.erase("story");
  EXPECT_EQ(read_roster(old.dump()).value().jobs[0].waits_since, Instant::micros(1));
}

TEST(RosterCodec, RefusesWhatIsNone) {
  for (const char* text : {"", "{}", "[1]", R"({"now":"x"})"}) {
    EXPECT_FALSE(read_roster(text).ok()) << text;
  }
  json bad = json::parse(roster_json(full_state()));
  bad["jobs"][0]["request"] = "{}";
  EXPECT_FALSE(read_roster(bad.dump()).ok());
}

}  // namespace
}  // namespace muster
