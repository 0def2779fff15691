#pragma once

// The read side of a roster: its jobs, its nodes and its engine. Roster (roster.h) changes them.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/types/digest.h"
#include "base/types/result.h"
#include "engine/core/engine.h"
#include "engine/roster/input.h"
#include "engine/roster/live_job.h"
#include "engine/roster/node_status.h"
#include "engine/roster/roster_settings.h"

namespace muster {

class RosterView {
 public:
  // Returns an error "field: reason" if the cluster can never run this request, or nullopt. Called
  // at submission.
  MaybeError refuse(const JobRequest& request, const std::string& tenant) const;

  // Active jobs, and jobs that ended in the last step.
  const std::map<LiveId, LiveJob>& jobs() const { return jobs_; }
  const LiveJob* find(LiveId id) const;
  LiveId live_of(JobId row) const { return live_of_[row.index()]; }  // The job of a row.
  LiveState state_of(const LiveJob& job) const;
  // Jobs that the engine has placed, whether they have started or not.
  std::vector<LiveId> placed() const;
  std::string where(const Placement& placement) const;  // "node-1:0-1,node-2:3"
  std::size_t rows() const { return live_of_.size(); }  // Rows in the engine, including ended jobs.

  // Whether decisions depend on the remaining time or the speed that jobs report.
  bool wants_time_left() const;
  bool wants_speeds() const { return engine_->wants_reports() != Reports::kNone; }

  Instant now() const { return now_; }
  Instant wake() const;  // When to step with a TickInput; never() if not.
  std::string digest() const;
  const Engine& engine() const { return *engine_; }
  const RosterSettings& settings() const { return world_->settings; }
  std::shared_ptr<const void> world() const { return world_; }  // The data that the engine uses.

  std::optional<NodeId> find_node(std::string_view name) const;
  std::optional<GpuTypeId> find_gpu_type(std::string_view name) const;
  bool is_drained(NodeId node) const;
  // Drained nodes whose maintenance has a planned end.
  const std::map<NodeId, Instant>& drain_ends() const { return drain_ends_; }
  const std::map<NodeId, NodeQuarantine>& quarantines() const { return quarantines_; }
  // Schedulable nodes that are being tested because of a measured event.
  const std::set<NodeId>& checks() const { return checks_; }
  // Nodes without a problem have no entry.
  const std::map<NodeId, NodeCondition>& conditions() const { return conditions_; }
  bool is_usable(NodeId node) const;
  // Whether the input changes nothing: it repeats the last one, or its subject does not exist.
  bool knows(const NodeStateInput& input) const;
  bool knows(const LeaseNoteInput& input) const;

 protected:
  // The engine points to it, so it must not move.
  struct World {
    explicit World(RosterSettings given);
    RosterSettings settings;
    Cluster cluster;
  };

  explicit RosterView(RosterSettings settings);

  // Without the user and the name.
  JobSpec spec_of(const JobRequest& request, const std::string& user, const std::string& tenant,
                  bool trial) const;
  EngineHistory past_of(JobId row) const;  // The engine's record of it.
  bool is_shut(NodeId node) const;         // It takes no jobs.

  std::shared_ptr<const World> world_;
  std::unique_ptr<Engine> engine_;
  std::vector<LiveId> live_of_;  // By JobId.
  std::map<LiveId, LiveJob> jobs_;
  std::vector<std::uint8_t> drained_;  // By node: drained by an operator.
  std::map<NodeId, Instant> drain_ends_;
  std::map<NodeId, NodeQuarantine> quarantines_;
  std::map<NodeId, NodeCondition> conditions_;
  std::set<NodeId> checks_;
  Instant now_;
  Instant wake_ = Instant::never();
  Digest digest_;
};

}  // namespace muster
