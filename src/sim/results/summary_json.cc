#include "sim/results/summary_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/text/json_string.h"
#include "base/text/text.h"
#include "base/text/wording.h"

namespace muster {

namespace {

// One flat object, one key per line.
class ObjectText {
 public:
  explicit ObjectText(std::string_view indent) : indent_(indent) { out_ = indent_ + "{"; }

  void text(std::string_view key, std::string_view value) {
    begin(key);
    append_json_string(out_, value);
  }
  void raw(std::string_view key, std::string_view value) {
    begin(key);
    out_ += value;
  }
  void count(std::string_view key, std::uint64_t value) { raw(key, fmt::format("{}", value)); }
  void seconds(std::string_view key, Duration value) { raw(key, seconds_text(value.us())); }
  void ratio(std::string_view key, double value) { raw(key, fmt::format("{:.6f}", value)); }
  void flag(std::string_view key, bool value) { raw(key, value ? "true" : "false"); }

  std::string finish() && { return std::move(out_) + "\n" + indent_ + "}"; }

 private:
  void begin(std::string_view key) {
    if (!first_) out_ += ',';
    first_ = false;
    out_ += fmt::format("\n{}  \"{}\": ", indent_, key);
  }

  std::string indent_;
  std::string out_;
  bool first_ = true;
};

std::string quotas_text(const std::vector<TenantSpec>& quotas) {
  std::string out = "[";
  for (const TenantSpec& tenant : quotas) {
    out += out.size() > 1 ? ", {\"tenant\": " : "{\"tenant\": ";
    append_json_string(out, tenant.name);
    if (!tenant.parent.empty()) {
      out += ", \"parent\": ";
      append_json_string(out, tenant.parent);
    }
    out += fmt::format(", \"gpus\": {}}}", tenant.quota.value_or(0));
  }
  return out + "]";
}

void add_label(ObjectText& object, const RunLabel& label) {
  if (!label.scheduler.empty()) object.text("scheduler", label.scheduler);
  object.text("policy", label.policy);
  object.text("mechanism", label.mechanism);
  object.text("placement", label.placement);
  object.text("estimates", label.estimates);
  object.seconds("round_s", label.round);
  if (!label.compat.empty()) object.text("compat", label.compat);
  if (!label.retry.empty()) object.text("retry", label.retry);
  if (!label.tenants.empty()) object.text("tenants", label.tenants);
  if (!label.quotas.empty()) object.raw("quotas", quotas_text(label.quotas));
  object.text("trace", label.trace);
  object.text("cluster", label.cluster);
  object.count("seed", label.seed);
  if (!label.command.empty()) object.text("command", label.command);
}

// One entry per size; the last covers all sizes.
std::string waiting_text(const WaitingSummary& waiting, const std::string& indent) {
  std::string out = "[";
  const auto line = [&](std::string_view size, const WaitingOfSize& of, bool more) {
    out += fmt::format(
        "\n{0}  {{\"gpus\": \"{1}\", \"jobs\": {2}, \"waited\": {3}, "
        "\"fair_share_on_arrival\": {4},\n{0}   ",
        indent, size, of.jobs, of.waited, of.over_part_on_arrival);
    for (std::size_t i = 0; i < kWaitCauses; ++i) {
      std::string key(kWaitCauseNames[i]);
      std::replace(key.begin(), key.end(), '-', '_');
      out +=
          fmt::format("{}\"{}_s\": {}", i > 0 ? ", " : "", key, seconds_text(of.by_cause[i].us()));
    }
    out += more ? "}," : "}";
  };
  for (std::size_t i = 0; i < kWaitSizes.size(); ++i) line(kWaitSizes[i], waiting.by_size[i], true);
  line("all", waiting.all(), false);
  return out + "\n" + indent + "]";
}

// Microseconds / 3600 are millionths of an hour, which print as millionths of a second do.
std::string hours_text(std::int64_t gpu_us) { return seconds_text((gpu_us + 1800) / 3600); }

std::string failures_text(const FailureLedger& ledger, std::string_view indent) {
  const std::string inner = std::string(indent) + "  ";
  ObjectText object(inner);
  std::uint64_t attempts = 0;
  std::int64_t lost = 0;
  std::string list = "[";
  for (const ReasonInfo& info : muster::reasons()) {
    const auto i = static_cast<std::size_t>(info.reason);
    attempts += ledger.attempts[i];
    lost += ledger.lost_gpu_us[i];
    if (ledger.attempts[i] == 0) continue;
    list += fmt::format(
        "{}\n{}    {{\"reason\": \"{}\", \"blame\": \"{}\", \"attempts\": {}, "
        "\"lost_gpu_hours\": {}}}",
        list.size() > 1 ? "," : "", inner, info.key, name_of(info.bucket()), ledger.attempts[i],
        hours_text(ledger.lost_gpu_us[i]));
  }
  object.count("attempts", attempts);
  object.raw("lost_gpu_hours", hours_text(lost));
  object.count("caught_in_pre_run", ledger.caught);
  object.raw("pre_run_gpu_hours", hours_text(ledger.pre_run_gpu_us));
  object.count("outages", ledger.outages);
  object.raw("outage_gpu_hours", hours_text(ledger.outage_gpu_us));
  object.raw("reasons", list + "\n" + inner + "  ]");
  return std::move(object).finish();
}

std::string object_text(const Summary& summary, const RunLabel& label, std::string_view indent) {
  ObjectText object(indent);
  add_label(object, label);
  object.count("gpus", static_cast<std::uint64_t>(summary.gpus));
  if (summary.window) {
    object.raw("window", fmt::format("[{}, {}]", summary.window->first, summary.window->last));
  }
  object.count("jobs", summary.jobs);
  object.count("finished", summary.finished);
  if (summary.failures.on) {
    object.count("killed", summary.killed);
    object.count("failed", summary.failed);
  }
  object.count("rejected", summary.rejected);
  object.count("unfinished", summary.unfinished);
  object.flag("partial", summary.partial);
  object.seconds("jct_mean_s", summary.jct.mean);
  object.seconds("jct_p50_s", summary.jct.p50);
  object.seconds("jct_p95_s", summary.jct.p95);
  object.seconds("jct_p99_s", summary.jct.p99);
  object.seconds("wait_mean_s", summary.wait.mean);
  object.seconds("wait_p50_s", summary.wait.p50);
  object.seconds("wait_p95_s", summary.wait.p95);
  object.seconds("wait_p99_s", summary.wait.p99);
  object.raw("waiting", waiting_text(summary.waiting, std::string(indent) + "  "));
  object.raw("overtaking", fmt::format("{{\"starts\": {}, \"overtook\": {}, \"harmful\": {}}}",
                                       summary.waiting.overtaking.starts,
                                       summary.waiting.overtaking.total.overtaking,
                                       summary.waiting.overtaking.total.harmful));
  if (summary.failures.on) object.raw("failures", failures_text(summary.failures, indent));
  object.seconds("makespan_s", summary.makespan);
  object.count("preemptions", summary.preemptions);
  object.count("migrations", summary.migrations);
  object.raw("gpu_hours", hours_text(summary.gpu_time.us()));
  object.ratio("gpu_utilization", summary.gpu_utilization);
  object.count("events", summary.events);
  object.count("decisions", summary.decisions);
  object.count("rounds", summary.rounds);
  object.seconds("wall_s", summary.wall);
  object.text("digest", summary.digest);
  return std::move(object).finish();
}

}  // namespace

std::string summary_json(const Summary& summary, const RunLabel& label) {
  return object_text(summary, label, "") + "\n";
}

std::string summaries_json(std::span<const RunRow> rows) {
  if (rows.empty()) return "[]\n";
  std::string out = "[\n";
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (i > 0) out += ",\n";
    out += object_text(rows[i].summary, rows[i].label, "  ");
  }
  return out + "\n]\n";
}

}  // namespace muster
