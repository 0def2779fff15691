#pragma once

// The sentences of explanation.h: why a job waits, ways to start sooner, and the facts behind them.

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "live/query/engine_snapshot.h"
#include "live/query/explanation.h"
#include "sim/forecast/wait_explanation.h"

namespace muster {

std::string gpu_count(std::int64_t count);  // "1 GPU"
// A band as JSON, with "says": "starts in about 2 h (80% chance: 1 h to 4 h)".
nlohmann::json band_json(const EngineSnapshot& snapshot, const Band& band, const LiveClock& clock,
                         const char* verb = "starts ");

// Texts about one job for one reader.
class ExplanationText {
 public:
  ExplanationText(const EngineSnapshot& snapshot, JobId job, const Audience& reader)
      : snapshot_(snapshot), job_(job), reader_(reader) {}

  // "job 12 (alice, 2 GPUs)". Omits the user if the reader may not see it.
  std::string name(JobId job) const;
  // One line that says why the job waits. Omits details that do not fit; facts() has them.
  std::string sentence(const Why& why) const;
  nlohmann::json way(const StartOption& way) const;
  // Whether the rules of access allow the reader to resubmit the job like this.
  bool may_use(const StartOption& way) const;
  // ", after job 12 (alice, 2 GPUs) has been preempted"; empty without jobs.
  std::string stops(const std::vector<JobId>& jobs) const;
  nlohmann::json facts(const Why& why) const;
  // Adds ", after the test of node n3 in about 5 min, if it passes" or ", after the maintenance of
  // node n3 ends in about 2 h" to a forecast that relies on it.
  void add_node_opening(const Band& band, nlohmann::json& eta) const;

 private:
  const Topology& topology() const { return snapshot_.rules.cluster->topology(); }
  const JobSpec& spec() const { return snapshot_.engine.state().jobs[job_].spec; }

  LiveId live(JobId job) const;
  std::string soon(const StartOption& way) const;          // "now" or "in about 5 min".
  nlohmann::json way_alone(const StartOption& way) const;  // Without the jobs it preempts.
  nlohmann::json resubmitted(const StartOption& way) const;
  const std::string& user_of(UserId user) const;
  std::string_view tenant_name(TenantId tenant) const;
  bool may_know(const JobSpec& spec) const;  // The name of its user.
  // Adds the owner of the job if the reader may see it.
  void put_user(nlohmann::json& out, const char* key, JobId job) const;
  std::string names(const std::vector<JobId>& jobs) const;
  std::string what_stops_it(const Why& why) const;
  bool can_use(NodeId node) const;           // True if the node has the GPU type of the job.
  std::vector<NodeId> closed_nodes() const;  // Unschedulable nodes that it can use.
  // "n3 (4 GPUs) drained, n4 (4 GPUs) in quarantine and 2 more"; facts() has the reasons.
  std::string unschedulable_nodes_text() const;
  // "waits for memory: it needs 64 GiB with 2 GPUs; one node has at most 12 GiB free"
  std::string beside(const Why& why) const;
  std::string quota() const;

  const EngineSnapshot& snapshot_;
  JobId job_;
  const Audience& reader_;
};

}  // namespace muster
