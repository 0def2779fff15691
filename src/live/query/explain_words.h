#pragma once

// The sentences of live/query/explain.h: what stops a job, the ways out, the facts behind them.

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "live/query/explain.h"
#include "live/query/picture.h"
#include "sim/forecast/why.h"

namespace muster {

std::string gpu_count(std::int64_t count);  // "1 GPU"
// A band, with "says": "starts in about 2 h (8 of 10 such jobs: 1 h to 4 h)".
nlohmann::json band_json(const Picture& picture, const Band& band, const LiveClock& clock,
                         const char* verb = "starts ");

// Of one job, to one reader.
class Words {
 public:
  Words(const Picture& picture, JobId job, const Reader& reader)
      : picture_(picture), job_(job), reader_(reader) {}

  // "job 12 (alice, 2 GPUs)"; whose it is only to those who may know.
  std::string name(JobId job) const;
  // What more there is to say is left out where it would not fit a line; the facts have it.
  std::string sentence(const Why& why) const;
  nlohmann::json way(const WayOut& way) const;
  // ", once job 12 (alice, 2 GPUs) has been stopped for it"; nothing if nobody is.
  std::string stops(const std::vector<JobId>& jobs) const;
  nlohmann::json facts(const Why& why) const;

 private:
  const Topology& topology() const { return picture_.rules.cluster->topology(); }
  const JobSpec& spec() const { return picture_.engine.state().jobs[job_].spec; }

  LiveId live(JobId job) const;
  std::string soon(const WayOut& way) const;          // "now" or "in about 5 min".
  nlohmann::json way_alone(const WayOut& way) const;  // But for whom it stops.
  nlohmann::json resubmitted(const WayOut& way) const;
  const std::string& user_of(UserId user) const;
  bool may_know(const std::string& user) const;
  std::string names(const std::vector<JobId>& jobs) const;
  std::string what_stops_it(const Why& why) const;
  std::vector<NodeId> closed_nodes() const;
  // "n3 (4 GPUs) drained, n4 (4 GPUs) in quarantine and 2 more"; why is among the facts.
  std::string closed_servers() const;
  // "waits for memory: it needs 64 GiB with 2 GPUs; one server has at most 12 GiB free"
  std::string beside(const Why& why) const;
  std::string quota() const;

  const Picture& picture_;
  JobId job_;
  const Reader& reader_;
};

}  // namespace muster
