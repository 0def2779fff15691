#include "sim/results/run_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include "base/terminal/table.h"
#include "base/text/text.h"
#include "base/text/wording.h"

namespace muster {

namespace {

std::string percent(double ratio) { return fmt::format("{:.1f}%", ratio * 100); }

std::string round_text(const RunLabel& label) {
  return label.round == Duration() ? "at events" : short_duration(label.round);
}

// Schedulers are compared with each other, parts only within their policy unless `across`.
bool comparable(const RunLabel& a, const RunLabel& b, bool across) {
  const bool schedulers = !a.scheduler.empty() && !b.scheduler.empty();
  return (across || schedulers || a.policy == b.policy) && a.trace == b.trace &&
         a.cluster == b.cluster && a.seed == b.seed;
}

std::string who_text(const RunLabel& label) {
  if (label.scheduler.empty() || label.scheduler == label.policy) return label.policy;
  return label.scheduler + ": " + label.policy;
}

// A setting besides policy and mechanism. It is shown if the runs differ in it.
struct Trait {
  std::string_view header;
  Align align;
  std::string (*of)(const RunLabel&);
};

constexpr Trait kTraits[] = {
    {"placement", Align::kLeft, [](const RunLabel& label) { return label.placement; }},
    {"estimates", Align::kLeft, [](const RunLabel& label) { return label.estimates; }},
    {"round", Align::kRight, round_text},
    {"compat", Align::kLeft, [](const RunLabel& label) { return label.compat; }},
    {"trace", Align::kLeft, [](const RunLabel& label) { return label.trace; }},
    {"cluster", Align::kLeft, [](const RunLabel& label) { return label.cluster; }},
    {"seed", Align::kRight, [](const RunLabel& label) { return fmt::format("{}", label.seed); }},
};

std::vector<Trait> differing_traits(std::span<const RunRow> rows) {
  std::vector<Trait> differing;
  for (const Trait& trait : kTraits) {
    const bool differs = std::any_of(rows.begin(), rows.end(), [&](const RunRow& row) {
      return trait.of(row.label) != trait.of(rows.front().label);
    });
    if (differs) differing.push_back(trait);
  }
  return differing;
}

std::string gain_text(std::span<const RunRow> rows, const RunRow& row, bool across) {
  const RunRow& base = *std::find_if(rows.begin(), rows.end(), [&](const RunRow& other) {
    return comparable(other.label, row.label, across);
  });
  if (&base == &row) return "—";
  const double base_mean = base.summary.jct.mean.in_seconds();
  const double mean = row.summary.jct.mean.in_seconds();
  if (base_mean <= 0 || mean <= 0) return "n/a";
  return fmt::format("{:.2f}x", base_mean / mean);
}

std::string finished_text(const Summary& summary) {
  return fmt::format("{}/{}{}", summary.finished, summary.jobs, summary.partial ? "*" : "");
}

std::array<Duration, 5> times_of(const Summary& summary) {
  return {summary.jct.mean, summary.jct.p50, summary.jct.p99, summary.wait.mean, summary.makespan};
}

// One unit and precision for a whole column makes its numbers easy to compare.
struct ColumnUnit {
  const char* name;
  double seconds;
  int decimals;
};

ColumnUnit unit_for(Duration longest) {
  const double s = longest.in_seconds();
  const auto unit = [s](const char* name, double seconds) {
    return ColumnUnit{name, seconds, s / seconds < 99.995 ? 2 : 1};
  };
  if (s < 120) return unit("s", 1);
  return s < 7200 ? unit("min", 60) : unit("h", 3600);
}

std::string in_unit(Duration duration, const ColumnUnit& unit) {
  return fmt::format("{:.{}f} {}", duration.in_seconds() / unit.seconds, unit.decimals, unit.name);
}

std::string spread_text(const Spread& spread) {
  return fmt::format("mean {}, median {}, p95 {}, p99 {}", short_duration(spread.mean),
                     short_duration(spread.p50), short_duration(spread.p95),
                     short_duration(spread.p99));
}

std::string fate_text(const Summary& summary) {
  std::string text =
      fmt::format("{} of {} finished", grouped(summary.finished), grouped(summary.jobs));
  if (summary.unfinished > 0) text += fmt::format(", {} unfinished", grouped(summary.unfinished));
  if (summary.killed > 0) text += fmt::format(", {} killed", grouped(summary.killed));
  if (summary.failed > 0) text += fmt::format(", {} failed", grouped(summary.failed));
  if (summary.rejected > 0) text += fmt::format(", {} rejected", grouped(summary.rejected));
  return text;
}

// A block of "name  value" lines.
class Block {
 public:
  void line(std::string_view name, std::string_view value) {
    out_ += fmt::format("{:<13}{}", name, printable(value));
    while (out_.back() == ' ') out_.pop_back();
    out_ += '\n';
  }
  std::string finish() && { return std::move(out_); }

 private:
  std::string out_;
};

void add_label(Block& block, const RunLabel& label) {
  if (!label.scheduler.empty()) block.line("scheduler", label.scheduler);
  block.line("policy", label.policy);
  block.line("mechanism", label.mechanism);
  block.line("placement", label.placement);
  block.line("estimates", label.estimates);
  block.line("planned",
             label.round == Duration() ? "at every event" : "every " + short_duration(label.round));
  if (!label.compat.empty()) block.line("compat", label.compat);
  block.line("trace", label.trace);
  block.line("cluster", label.cluster);
  block.line("seed", fmt::format("{}", label.seed));
}

std::string failures_text(const FailureLedger& ledger) {
  std::uint64_t attempts = 0;
  std::int64_t lost = ledger.outage_gpu_us;
  for (const std::uint64_t count : ledger.attempts) attempts += count;
  for (const std::int64_t part : ledger.lost_gpu_us) lost += part;
  std::string text = fmt::format("{} attempts, {:.1f} GPU hours lost", grouped(attempts),
                                 Duration::micros(lost).in_hours());
  if (ledger.caught > 0)
    text += fmt::format(", {} jobs caught in the pre-run", grouped(ledger.caught));
  if (ledger.outages > 0) text += fmt::format(", {} node outages", grouped(ledger.outages));
  return text;
}

// Existing causes, largest first.
std::string causes_text(const WaitingOfSize& waiting) {
  std::vector<std::pair<double, std::string_view>> causes;
  for (std::size_t i = 0; i < kWaitCauses; ++i) {
    const double share = waiting.share(static_cast<WaitCause>(i));
    if (share > 0) causes.emplace_back(-share, kWaitCauseNames[i]);
  }
  std::stable_sort(causes.begin(), causes.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::string out;
  for (const auto& [share, name] : causes) {
    if (!out.empty()) out += ", ";
    out += fmt::format("{} {}", name, percent(-share));
  }
  return out;
}

std::string overtaking_text(const OvertakingResult& overtaking) {
  return fmt::format("{} of {} starts overtook an older, larger job; {} of these delayed it",
                     grouped(overtaking.total.overtaking), grouped(overtaking.starts),
                     grouped(overtaking.total.harmful));
}

}  // namespace

bool compares_policies(std::span<const RunRow> rows) {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (std::size_t j = i + 1; j < rows.size(); ++j) {
      if (comparable(rows[i].label, rows[j].label, false)) return false;
    }
  }
  return true;
}

std::string comparison_table(std::span<const RunRow> rows, ColorMode colors) {
  const bool across = compares_policies(rows);
  const std::vector<Trait> traits = differing_traits(rows);
  std::vector<Column> columns = {{"policy", Align::kLeft}, {"mechanism", Align::kLeft}};
  for (const Trait& trait : traits) columns.push_back({std::string(trait.header), trait.align});
  for (const char* header :
       {"mean JCT", "p50", "p99", "wait", "makespan", "GPU use", "preempt", "finished", "gain"}) {
    columns.push_back({header, Align::kRight});
  }
  Table table(std::move(columns));
  std::vector<ColumnUnit> units;
  for (std::size_t i = 0; i < times_of(Summary()).size(); ++i) {
    Duration longest;
    for (const RunRow& row : rows) longest = std::max(longest, times_of(row.summary)[i]);
    units.push_back(unit_for(longest));
  }
  for (const RunRow& row : rows) {
    const Summary& s = row.summary;
    std::vector<std::string> cells = {who_text(row.label), row.label.mechanism};
    for (const Trait& trait : traits) cells.push_back(trait.of(row.label));
    for (std::size_t i = 0; i < units.size(); ++i) {
      cells.push_back(s.finished == 0 ? "n/a" : in_unit(times_of(s)[i], units[i]));
    }
    cells.push_back(percent(s.gpu_utilization));
    cells.push_back(grouped(s.preemptions));
    cells.push_back(finished_text(s));
    cells.push_back(gain_text(rows, row, across));
    table.add_row(std::move(cells));
  }
  std::string out = table.render(colors);
  if (std::any_of(rows.begin(), rows.end(), [](const RunRow& r) { return r.summary.partial; })) {
    out += "* interrupted: includes only jobs that had finished by then\n";
  }
  return out;
}

std::string failure_table(const FailureLedger& ledger, ColorMode colors) {
  Table table({{"reason", Align::kLeft},
               {"blame", Align::kLeft},
               {"attempts", Align::kRight},
               {"GPU hours lost", Align::kRight}});
  const auto row = [&](std::string_view name, std::string_view blame, std::uint64_t attempts,
                       std::int64_t lost) {
    table.add_row({std::string(name), std::string(blame), grouped(attempts),
                   fmt::format("{:.1f}", Duration::micros(lost).in_hours())});
  };
  for (const ReasonInfo& info : reasons()) {
    const auto i = static_cast<std::size_t>(info.reason);
    if (ledger.attempts[i] == 0) continue;
    row(info.name, name_of(info.bucket()), ledger.attempts[i], ledger.lost_gpu_us[i]);
  }
  if (ledger.outages > 0) row("Node lost", "infrastructure", ledger.outages, ledger.outage_gpu_us);
  return table.render(colors);
}

std::string waiting_table(const WaitingSummary& waiting, ColorMode colors) {
  std::vector<Column> columns = {
      {"GPUs", Align::kLeft}, {"jobs", Align::kRight}, {"mean wait", Align::kRight}};
  for (const std::string_view cause : kWaitCauseNames) {
    columns.push_back({std::string(cause), Align::kRight});
  }
  columns.push_back({"fair-share on arrival", Align::kRight});
  Table table(std::move(columns));
  const auto row = [&](std::string_view size, const WaitingOfSize& of) {
    const auto jobs = static_cast<std::int64_t>(std::max<std::uint64_t>(of.jobs, 1));
    std::vector<std::string> cells = {std::string(size), grouped(of.jobs),
                                      short_duration(Duration::micros(of.total().us() / jobs))};
    for (std::size_t i = 0; i < kWaitCauses; ++i) {
      cells.push_back(percent(of.share(static_cast<WaitCause>(i))));
    }
    const double met = of.waited == 0 ? 0
                                      : static_cast<double>(of.over_part_on_arrival) /
                                            static_cast<double>(of.waited);
    cells.push_back(percent(met));
    table.add_row(std::move(cells));
  };
  for (std::size_t i = 0; i < kWaitSizes.size(); ++i) row(kWaitSizes[i], waiting.by_size[i]);
  row("all", waiting.all());
  return table.render(colors);
}

std::string summary_text(const Summary& summary, const RunLabel& label) {
  Block block;
  add_label(block, label);
  if (summary.partial)
    block.line("partial", "interrupted: includes only jobs that had finished by then");
  if (summary.window) {
    block.line("window",
               fmt::format("jobs [{}, {}) in order of arrival", grouped(summary.window->first),
                           grouped(summary.window->last)));
  }
  block.line("jobs", fate_text(summary));
  if (!summary.first_rejection.empty()) {
    block.line("rejected", "first reason: " + summary.first_rejection);
  }
  const std::string nothing = "none: no job finished";
  block.line("JCT", summary.finished == 0 ? nothing : spread_text(summary.jct));
  block.line("waiting", summary.finished == 0 ? nothing : spread_text(summary.wait));
  if (summary.waiting.all().total() > Duration()) {
    block.line("wait causes", causes_text(summary.waiting.all()));
    block.line("overtaken", overtaking_text(summary.waiting.overtaking));
  }
  const bool no_end = summary.finished == 0 && summary.makespan == Duration();
  block.line("makespan", no_end ? nothing : short_duration(summary.makespan));
  block.line("GPUs", fmt::format("{:.1f} GPU hours, {} in use", summary.gpu_time.in_hours(),
                                 percent(summary.gpu_utilization)));
  if (summary.failures.on) block.line("failures", failures_text(summary.failures));
  block.line("preemptions", grouped(summary.preemptions));
  block.line("migrations", grouped(summary.migrations));
  block.line("computed", fmt::format("{} events, {} decisions in {}", grouped(summary.events),
                                     grouped(summary.decisions), short_duration(summary.wall)));
  block.line("digest", summary.digest);
  return std::move(block).finish();
}

}  // namespace muster
