// The roster is a function of its inputs: replayed, also by way of the journal's text, it decides
// the same; and a snapshot, taken at any moment, carries everything that runs over into a new one.
// A roster that would decide differently repeats the stored decisions and gets to the same state.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/roster/roster.h"
#include "engine/roster/testing.h"
#include "live/codec/input_codec.h"
#include "live/codec/roster_codec.h"
#include "tests/campaign.h"

namespace muster {
namespace {

using live_testing::Machine;
using live_testing::settings_for;
using live_testing::submit;

// Reacts to failures, tests nodes soon, and uses the forecasts of jobs.
RosterSettings restless(const char* policy) {
  const bool whole = std::string_view(policy) == "optimus";
  RosterSettings settings = settings_for("3x4", whole ? "fifo" : policy);
  if (whole) {
    settings.planner.whole = OptimusOptions{};
    settings.engine.round = Duration::seconds(60);
  }
  settings.engine.retry = RetryPolicy::adaptive();
  settings.engine.estimates = EstimateSource::Kind::kProgress;
  settings.quarantine = Duration::seconds(90);
  return settings;
}

struct Entry {
  Instant at;
  std::string json;
};

// A random life: jobs of all sorts come, are cancelled, held and released; leases start, end, fail
// and get lost in their own time.
class Life {
 public:
  Life(const char* policy, std::uint64_t seed)
      : policy_(policy), random_(seed), roster_(restless(policy)) {}

  void live(int steps) {
    for (int i = 0; i < steps; ++i) {
      now_ = now_ + Duration::micros(static_cast<std::int64_t>(random_.below(40'000'000)));
      std::vector<Input> inputs;
      if (random_.below(3) != 0) inputs.push_back(a_job());
      if (random_.below(3) == 0) add_remote_order(inputs);
      add_news(inputs);
      step(std::move(inputs));
      roster_.engine().state().check_invariants();
    }
  }
  void step(std::vector<Input> inputs) {
    JournalStep entry{roster_.digest(), inputs};
    roster_.step(now_, inputs);
    entry.decided = roster_.decisions();
    journal_.push_back({now_, step_json(entry)});
    quarantines += roster_.engine().quarantines().size();
    machine_.obey(roster_.orders());
  }
  // As the manager does when its journal has become long.
  void renew() {
    const std::string text = roster_json(roster_.state());
    Roster fresh(restless(policy_));
    const auto unkept = fresh.restore(read_roster(text).value());
    ASSERT_TRUE(unkept.ok()) << unkept.error().message;
    EXPECT_TRUE(unkept.value().empty()) << unkept.value()[0].id;
    std::size_t leases = 0;
    for (const auto& [id, job] : fresh.jobs()) {
      if (job.lease && machine_.ever.contains({id, job.lease->number})) ++leases;
    }
    EXPECT_EQ(leases, machine_.leases.size());
    go_on_with(std::move(fresh), text);
  }
  void finish_all() {
    for (int i = 0; i < 3000 && !roster_.jobs().empty(); ++i) {
      now_ = now_ + Duration::seconds(400);
      std::vector<Input> inputs = {DrainInput{"s1", true}, NodeStateInput{"s2", true, "", {}}};
      for (const auto& [id, job] : roster_.jobs()) {
        if (!job.end && job.held) inputs.push_back(ReleaseInput{id});
      }
      add_news(inputs, LeaseResult::kFinished);
      step(std::move(inputs));
    }
    EXPECT_TRUE(roster_.jobs().empty());
    EXPECT_TRUE(machine_.leases.empty());
    EXPECT_TRUE(roster_.engine().state().placed.empty());
  }
  void replay() const {
    Roster again(restless(policy_));
    if (!snapshot_.empty()) {
      ASSERT_TRUE(again.restore(read_roster(snapshot_).value()).ok());
    }
    for (const Entry& entry : journal_) {
      const Result<JournalStep> read = read_step(entry.json);
      ASSERT_TRUE(read.ok()) << read.error().message;
      ASSERT_EQ(again.digest(), read.value().before);
      again.step(entry.at, read.value().inputs);
    }
    EXPECT_EQ(again.digest(), roster_.digest());
    EXPECT_EQ(roster_json(again.state()), roster_json(roster_.state()));
  }

  // The same, by a roster that would decide as `policy` does; the original continues from there.
  void repeat_under(const char* policy) {
    Roster again(restless(policy), Deciding::kRepeats);
    if (!snapshot_.empty()) {
      const auto unkept = again.restore(read_roster(snapshot_).value(), {}, begun_);
      ASSERT_TRUE(unkept.ok()) << unkept.error().message;
      ASSERT_TRUE(unkept.value().empty());
    }
    for (const Entry& entry : journal_) {
      const Result<JournalStep> read = read_step(entry.json);
      ASSERT_TRUE(read.ok()) << read.error().message;
      ASSERT_EQ(again.digest(), read.value().before) << entry.json;
      const MaybeError misfit = again.repeat(entry.at, read.value().inputs, *read.value().decided);
      ASSERT_FALSE(misfit) << misfit->message << entry.json;
    }
    again.engine().state().check_invariants();
    expect_same(again);
    Roster fresh(restless(policy_));
    const std::string text = roster_json(again.state());
    const auto unkept = fresh.restore(read_roster(text).value());
    ASSERT_TRUE(unkept.ok() && unkept.value().empty());
    go_on_with(std::move(fresh), text);
  }

  std::size_t quarantines = 0;  // There were.
  std::size_t promises = 0;
  bool node_states = false;  // Nodes go down, and external jobs use them.

 private:
  void go_on_with(Roster fresh, const std::string& text) {
    roster_ = std::move(fresh);
    roster_.engine().state().check_invariants();
    machine_.obey(roster_.orders());
    journal_.clear();
    snapshot_ = text;
    begun_ = roster_.decisions();
  }
  // The journal replaces bytes that are not UTF-8.
  static std::string ascii(std::string text) {
    std::erase_if(text, [](char c) { return static_cast<signed char>(c) < 0; });
    return text;
  }
  static std::string summary(const Roster& roster) {
    std::string text = roster.digest();
    const State& state = roster.engine().state();
    for (const auto& [id, job] : roster.jobs()) {
      text += fmt::format("\n{} {} {} {} {} {} {}", id, state_name(roster.state_of(job)),
                          job.leases_used, job.losses, job.held, job.ran.us(), ascii(job.why));
      if (job.lease) {
        text += fmt::format("; {} on {}, up {}, stopping {}", job.lease->number,
                            roster.where(job.lease->placement), job.lease->up, job.lease->stopping);
        const Resources total = total_of(job.lease->placement);
        text += fmt::format(", has {} {}", total.cpu_milli, total.mem_mib);
      }
      if (!job.row || !state.jobs.contains(*job.row)) continue;
      text += fmt::format("; parked until {}", roster.engine().back_off_until(*job.row).us());
      if (const Lease* promised = state.promised(*job.row)) {
        text += "; promised " + roster.where(promised->placement);
      }
    }
    for (const LiveId id : roster.placed()) text += fmt::format("\nplaced {}", id);
    for (const auto& [node, each] : roster.quarantines()) {
      text += fmt::format("\n{} {} {}", node.index(), each.why, each.until.us());
    }
    return text;
  }
  void expect_same(const Roster& again) {
    const std::string text = summary(roster_);
    EXPECT_EQ(summary(again), text);
    promises += text.find("promised") != std::string::npos ? 1 : 0;
  }
  Input a_job() {
    SubmitInput job = submit(++last_, 1 + static_cast<std::int32_t>(random_.below(5)));
    job.user = random_.below(2) == 0 ? "ann" : "bob";
    job.request.priority = static_cast<std::int32_t>(random_.below(3));
    if (random_.below(4) == 0) job.request.prerun = Duration::seconds(30);
    const bool asks = std::string_view(policy_) != "optimus";  // Which refuses such jobs.
    if (random_.below(4) == 0 && asks) job.request.mem = MemAmount{150 << 10U};
    if (random_.below(4) == 0 && asks) job.request.spread = 1;
    if (random_.below(2) == 0) {
      job.request.fewest = 1;
      job.request.most = job.request.gpus + 3;
    }
    if (random_.below(5) == 0) job.request.hold = true;
    if (random_.below(5) == 0) job.request.time_limit = Duration::seconds(100);
    if (random_.below(3) == 0) job.request.retries = 2;
    if (random_.below(5) == 0 && last_ > 2) job.request.after_ok = {last_ - 2};
    if (random_.below(5) == 0 && last_ > 3) job.request.after_any = {last_ - 3};
    if (random_.below(4) == 0) {
      job.array = 1 + last_ / 20;
      job.at_once = 2;
    }
    return job;
  }
  void add_remote_order(std::vector<Input>& inputs) {
    const LiveId id = 1 + random_.below(last_ + 1);
    switch (random_.below(node_states ? 5 : 4)) {
      case 4: {
        NodeStateInput state{"s2", random_.below(4) != 0, "dark", {}};
        if (random_.below(2) == 0) state.taken = {static_cast<int>(random_.below(3)), 9000, 0, 0};
        inputs.push_back(state);
        break;
      }
      case 0:
        inputs.push_back(CancelInput{id, "root"});
        break;
      case 1:
        inputs.push_back(HoldInput{id});
        break;
      case 2:
        inputs.push_back(ReleaseInput{id});
        break;
      default:
        inputs.push_back(DrainInput{"s1", random_.below(2) == 0, drain_end()});
    }
  }
  Instant drain_end() {
    if (random_.below(2) == 0) return Instant::never();
    return now_ + Duration::seconds(static_cast<std::int64_t>(random_.below(100)));
  }
  void add_news(std::vector<Input>& inputs, std::optional<LeaseResult> always = {}) {
    if (random_.below(15) == 0) {
      inputs.push_back(NodeEvidenceInput{"s" + std::to_string(random_.below(3)), "Xid 79"});
    }
    for (const std::string& node : std::exchange(machine_.tests, {})) {
      inputs.push_back(NodeTestInput{node, always || random_.below(2) == 0, "lamp \xff off"});
    }
    for (auto lease = machine_.leases.begin(); lease != machine_.leases.end();) {
      const auto [id, number] = lease->first;
      Machine::Running& running = lease->second;
      if (!running.up && random_.below(4) != 0) {
        running.up = true;
        inputs.push_back(LeaseUpInput{id, number, "full"});
      }
      if (running.up && random_.below(6) == 0) inputs.push_back(SavedInput{id, number});
      if (running.up && random_.below(3) == 0) {
        const auto left = static_cast<std::int64_t>(random_.below(600'000));
        ReportInput report{id, number, left, {}};
        const auto at = static_cast<double>(running.told += random_.below(1000));
        if (random_.below(2) == 0) report.speed = {at, 20.5, at / 700, 500 / (at + 400)};
        inputs.push_back(report);
      }
      const bool ends = running.stopping ? random_.below(2) == 0 : random_.below(5) == 0;
      if (!ends && !always) {
        ++lease;
        continue;
      }
      LeaseOverInput over;
      over.id = id;
      over.lease = number;
      over.fate = always ? *always
                  : running.stopping && random_.below(4) != 0
                      ? LeaseResult::kStopped
                      : static_cast<LeaseResult>(random_.below(5));
      constexpr const char* kReasons[] = {"cuda-failure", "mpi-error", "import-error", ""};
      over.reason = kReasons[random_.below(4)];
      if (random_.below(2) == 0) {  // A signature says what to do.
        over.proof.told = SignatureReaction{static_cast<Reaction>(random_.below(kReactionCount)),
                                            static_cast<Bucket>(random_.below(4))};
      }
      if (random_.below(2) == 0) over.ran_ms = static_cast<std::int64_t>(random_.below(90'000));
      over.words = "line\xff of a log";
      inputs.push_back(over);
      lease = machine_.leases.erase(lease);
    }
  }

  const char* policy_;
  Random random_;
  Roster roster_;
  Machine machine_;
  Instant now_;
  LiveId last_ = 0;
  std::vector<Entry> journal_;
  std::string snapshot_;
  std::vector<Decisions> begun_;  // When it was restored.
};

class RosterReplay : public testing::TestWithParam<const char*> {};

TEST_P(RosterReplay, DecidesTheSameFromTheJournal) {
  std::size_t quarantines = 0;
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    Life life(GetParam(), seed);
    life.live(150);
    life.replay();
    quarantines += life.quarantines;
  }
  EXPECT_GT(quarantines, 0U);
}

TEST_P(RosterReplay, ASnapshotCarriesEverythingOver) {
  const std::uint64_t seeds = campaign_size(2, 20);
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    Life life(GetParam(), seed);
    for (int i = 0; i < 15; ++i) {
      life.live(10);
      life.renew();
    }
    life.live(10);
    life.replay();
    life.finish_all();
  }
}

TEST_P(RosterReplay, ANewerEngineRepeatsTheStoredDecisions) {
  const std::uint64_t seeds = campaign_size(6, 60);
  const char* const other = std::string_view(GetParam()) == "srtf" ? "las" : "srtf";
  std::size_t promises = 0;
  for (std::uint64_t seed = 100; seed < 100 + seeds; ++seed) {
    Life life(GetParam(), seed);
    life.node_states = true;
    life.live(60);
    for (int i = 0; i < 4; ++i) {
      life.repeat_under(other);
      if (HasFatalFailure()) return;
      life.live(20);
    }
    life.finish_all();
    promises += life.promises;
  }
  const bool preempts = std::string_view("srtf las mlfq-las").find(GetParam()) != std::string::npos;
  EXPECT_TRUE(promises > 0 || !preempts || is_short_campaign());
}

INSTANTIATE_TEST_SUITE_P(Policies, RosterReplay,
                         testing::Values("fifo", "srtf", "las", "mlfq-las", "backfill", "optimus"));

TEST(RosterSnapshot, LeasesThatDoNotFitAreSaidAndThenGivenUp) {
  live_testing::Desk desk(settings_for("2x2"));
  desk.at(1, {submit(1, 2), submit(2, 2)});
  const RosterState state = desk.roster.state();
  Roster smaller(settings_for("1x2"));
  const auto unkept = smaller.restore(state);
  ASSERT_TRUE(unkept.ok());
  ASSERT_EQ(unkept.value().size(), 1U);
  EXPECT_EQ(unkept.value()[0].id, 2U);
  Roster again(settings_for("1x2"));
  const std::vector<std::pair<LiveId, std::uint32_t>> gone = {{2, 1}};
  const auto kept = again.restore(state, gone);
  ASSERT_TRUE(kept.ok() && kept.value().empty());
  EXPECT_EQ(again.state_of(*again.find(1)), LiveState::kRunning);
  EXPECT_EQ(again.state_of(*again.find(2)), LiveState::kQueued);
  std::vector<Input> over = {LeaseOverInput{1, 1, LeaseResult::kFinished, "", "", -1, 0, 0}};
  again.step(Instant::at(Duration::seconds(9)), over);
  ASSERT_EQ(again.orders().size(), 1U);
  EXPECT_EQ(again.orders()[0].lease, 2U) << "the number of the lost lease is not used again";
}

}  // namespace
}  // namespace muster
