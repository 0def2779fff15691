#include "live/views/metrics_text.h"

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include <map>
#include <string_view>
#include <utility>
#include <vector>

namespace muster {

namespace {

using prometheus::MetricType;

class Metrics {
 public:
  void begin(MetricType type, const char* name, const char* help) {
    families_.push_back({name, help, type, {}});
  }
  void add(std::vector<prometheus::ClientMetric::Label> labels, double value) {
    prometheus::ClientMetric& metric = families_.back().metric.emplace_back();
    metric.label = std::move(labels);
    metric.gauge.value = metric.counter.value = value;
  }
  void one(MetricType type, const char* name, const char* help, double value) {
    begin(type, name, help);
    add({}, value);
  }
  std::string text() const { return prometheus::TextSerializer().Serialize(families_); }

 private:
  std::vector<prometheus::MetricFamily> families_;
};

}  // namespace

std::string metrics_text(const Roster& roster, const ManagerCounts& counts) {
  std::map<std::string_view, int> states;
  int used = 0;
  for (const auto& [id, job] : roster.jobs()) {
    ++states[state_name(roster.state_of(job))];
    if (job.lease) used += total_of(job.lease->placement).gpus;
  }
  Metrics metrics;
  metrics.begin(MetricType::Gauge, "muster_jobs", "Active jobs, by state.");
  for (const char* state :
       {"held", "blocked", "queued", "starting", "running", "stopping", "retrying"}) {
    metrics.add({{"state", state}}, states[state]);
  }
  metrics.one(MetricType::Gauge, "muster_gpus", "GPUs of the cluster.",
              roster.settings().topology.total().gpus);
  metrics.one(MetricType::Gauge, "muster_gpus_used", "GPUs that leases hold.", used);
  metrics.one(MetricType::Counter, "muster_submitted_total", "Jobs submitted since the start.",
              static_cast<double>(counts.submitted));
  metrics.begin(MetricType::Counter, "muster_ended_total",
                "Jobs finished since the start, by final state.");
  for (std::size_t i = 0; i < counts.ended.size(); ++i) {
    const auto end = static_cast<LiveState>(static_cast<std::size_t>(LiveState::kDone) + i);
    metrics.add({{"end", std::string(state_name(end))}}, static_cast<double>(counts.ended[i]));
  }
  metrics.one(MetricType::Gauge, "muster_decisions",
              "Starts, stops and resizes since the last snapshot.",
              static_cast<double>(roster.engine().counters().decisions));
  metrics.begin(MetricType::Gauge, "muster_mode", "1 for the mode of the manager.");
  metrics.add({{"mode", std::string(counts.mode)}}, 1);
  metrics.one(MetricType::Gauge, "muster_journal_blocked", "1 while the journal cannot be written.",
              counts.journal_blocked ? 1 : 0);
  metrics.one(MetricType::Counter, "muster_forecasts_checked_total",
              "Job starts compared with a forecast since the start.",
              static_cast<double>(counts.forecasts.checked));
  metrics.begin(MetricType::Counter, "muster_forecasts_inside_total",
                "Job starts inside the band of their forecast since the start, by band.");
  constexpr std::array kBands = {"50%", "80%", "95%"};
  for (std::size_t i = 0; i < kBands.size(); ++i) {
    metrics.add({{"band", kBands[i]}}, static_cast<double>(counts.forecasts.inside[i]));
  }
  return metrics.text();
}

}  // namespace muster
