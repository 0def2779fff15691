#pragma once

// For the tests of study/past: writes a database as a manager does, without the manager. A roster's
// steps and rows go to a journal, and orders are executed immediately.

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/roster/roster.h"
#include "live/codec/era_snapshot.h"
#include "live/codec/input_codec.h"
#include "live/codec/roster_codec.h"
#include "live/config/settings.h"
#include "live/config/site.h"
#include "live/store/journal.h"
#include "live/views/views.h"

namespace muster::whatif_testing {

inline constexpr std::int64_t kBorn = 1'700'000'000'000'000;

class Office {
 public:
  explicit Office(const std::string& yaml, int gpus = 2) {
    std::string name = testing::TempDir() + "whatif-XXXXXX";
    EXPECT_NE(::mkdtemp(name.data()), nullptr);
    home_ = name;
    machine_.host = "here";
    machine_.cpus = 4;
    machine_.mem_mib = 8192;
    machine_.gpus.resize(static_cast<std::size_t>(gpus));
    machine_.gpus_virtual = true;
    configure(yaml);
    journal_.emplace(Journal::open(database()).value());
    roster_.emplace(roster_settings(settings_).value());
    begin_era();
  }
  Office(const Office&) = delete;
  Office& operator=(const Office&) = delete;
  ~Office() { std::filesystem::remove_all(home_); }

  const std::string& home() const { return home_; }
  std::string database() const { return home_ + "/journal.db"; }
  const Roster& roster() const { return *roster_; }

  // Takes effect with the next era.
  void configure(const std::string& yaml) {
    const Result<ServeFile> file = parse_serve_file(yaml, "serve.yaml");
    ASSERT_TRUE(file.ok()) << file.error().message;
    settings_ = settings_text(file.value(), nodes_of(file.value(), machine_)).value();
  }

  void begin_era() {
    EraSnapshot begun{"i", kBorn, settings_, roster_json(roster_->state()), 0, engine, {}};
    roster_.emplace(roster_settings(settings_).value());
    EXPECT_TRUE(roster_->restore(read_roster(begun.roster).value()).ok());
    if (stores_decisions) begun.decided = roster_->decisions();
    const std::uint64_t seq = journal_->next_seq() - 1;
    EXPECT_FALSE(journal_->save_snapshot({seq, era_snapshot_json(begun)}));
    EXPECT_FALSE(journal_->truncate_before(seq + 1));
  }

  // Submits a new job of this user and returns its id.
  LiveId submit(double second, JobRequest request, const std::string& user = "ann") {
    SubmitInput input;
    input.id = journal_->next_id();
    input.user = user;
    input.tenant = request.tenant;
    input.request = std::move(request);
    if (input.request.name.empty()) input.request.name = "train";
    input.request.command = {"true"};
    at(second, {input});
    return input.id;
  }

  // Executes orders immediately: jobs ordered to stop have stopped, started jobs run.
  void at(double second, std::vector<Input> inputs) {
    now_ = Instant::micros(static_cast<std::int64_t>(second * 1e6));
    while (!inputs.empty()) {
      JournalStep step{roster_->digest(), inputs};
      roster_->step(now_, inputs);
      if (stores_decisions) step.decided = roster_->decisions();
      EXPECT_TRUE(journal_->append({"step", now_, step_json(step)}).ok());
      put_rows();
      EXPECT_FALSE(journal_->commit());
      inputs.clear();
      for (const Order& order : roster_->orders()) {
        decisions += 1;
        if (order.kind == Order::Kind::kStart) {
          starts += 1;
          inputs.push_back(LeaseUpInput{order.id, order.lease, "full"});
        } else if (order.kind == Order::Kind::kStop) {
          inputs.push_back(over(order.id, LeaseResult::kStopped));
        }
      }
    }
  }
  void ends(double second, LiveId id, LeaseResult fate, const std::string& reason = "") {
    now_ = Instant::micros(static_cast<std::int64_t>(second * 1e6));
    at(second, {over(id, fate, reason)});
  }

  std::uint32_t engine = kEngineVersion;  // Version that new eras record.
  bool stores_decisions = true;
  std::uint64_t decisions = 0;
  std::uint64_t starts = 0;

 private:
  LeaseOverInput over(LiveId id, LeaseResult fate, const std::string& reason = "") const {
    const LiveLease& lease = *roster_->find(id)->lease;
    LeaseOverInput input;
    input.id = id;
    input.lease = lease.number;
    input.fate = fate;
    input.reason = reason;
    input.words = "so it went";
    input.ran_ms = (now_ - lease.up_since).us() / 1000;
    return input;
  }
  void put_rows() {
    for (const LeaseRecord& record : roster_->over()) {
      EXPECT_FALSE(journal_->put(row_of(*roster_, record)));
    }
    for (const LiveId id : roster_->touched()) {
      const LiveJob* job = roster_->find(id);
      if (job == nullptr) continue;
      EXPECT_FALSE(journal_->put(row_of(*roster_, *job, nullptr)));
      if (job->lease) {
        EXPECT_FALSE(journal_->put(row_of(*roster_, *job, *job->lease)));
      }
    }
  }

  std::string home_;
  NodeFacts machine_;
  std::string settings_;
  std::optional<Journal> journal_;
  std::optional<Roster> roster_;
  Instant now_;
};

}  // namespace muster::whatif_testing
