#include <fmt/format.h>

#include <array>
#include <utility>

#include "base/types/saturate.h"
#include "study/analyze/figures.h"
#include "study/analyze/quotas.h"
#include "study/analyze/sections.h"

namespace muster {

namespace {

// ---- Histories that contain the causes of waiting.

void split_as_told(const StudyInput& asked, Section& section) {
  std::array<WaitingOfSize, kSizes> sizes;
  WaitingOfSize all;
  for (const StudyJob& job : asked.jobs) {
    WaitingOfSize one;
    one.jobs = 1;
    const WaitSplit& split = asked.history.waits[job.index];
    one.by_cause = split.by_cause;
    if (one.total() > Duration() && asked.past(job).run >= kRealRun) {
      one.waited = 1;
      one.over_part_on_arrival = split.over_part_on_arrival ? 1 : 0;
    }
    sizes[job.size].add(one);
    all.add(one);
  }
  PageTable table;
  table.key = "wait-causes";
  table.columns = {"GPUs", "jobs", "waiting (h)"};
  for (const std::string_view cause : kWaitCauseNames) {
    table.columns.push_back(fmt::format("{} (%)", cause));
  }
  table.columns.emplace_back("over part on arrival (%)");
  const auto add_row = [&](std::string_view name, const WaitingOfSize& of) {
    const auto total = static_cast<double>(of.total().us());
    std::vector<Cell> row = {std::string(name), count_cell(of.jobs), time_cell(total, kHour)};
    for (const Duration part : of.by_cause) {
      row.push_back(share_cell(static_cast<double>(part.us()), total));
    }
    row.push_back(
        share_cell(static_cast<double>(of.over_part_on_arrival), static_cast<double>(of.waited)));
    table.rows.push_back(std::move(row));
  };
  for (std::size_t i = 0; i < kSizes; ++i) add_row(kWaitSizes[i], sizes[i]);
  add_row("all", all);
  section.tables.push_back(std::move(table));
  if (all.total() == Duration()) {
    section.findings.emplace_back("No job waited.");
    return;
  }
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < kWaitCauses; ++i) {
    parts.push_back(
        fmt::format("{:.1f}% {}", 100 * all.share(static_cast<WaitCause>(i)), kWaitCauseNames[i]));
  }
  section.findings.push_back(fmt::format(
      "{} of waiting: {}.", lasting(static_cast<double>(all.total().us())), listed(parts)));
}

// ---- Histories without causes: estimated from the GPUs that tenants held.

struct Estimate {
  std::uint64_t waited = 0;  // Jobs that waited and ran for at least a minute.
  std::uint64_t on_arrival = 0;
  std::int64_t wait_us = 0;
  std::int64_t fair_us = 0;

  void add(const Estimate& other) {
    waited += other.waited;
    on_arrival += other.on_arrival;
    wait_us = saturating_add(wait_us, other.wait_us);
    fair_us = saturating_add(fair_us, other.fair_us);
  }
};

struct Estimates {
  std::array<Estimate, kSizes> by_size;

  Estimate all() const {
    Estimate sum;
    for (const Estimate& of : by_size) sum.add(of);
    return sum;
  }
};

struct OfTenant {
  std::vector<Step> held;
  std::vector<StudyJob> jobs;  // Jobs that waited.
};

std::vector<OfTenant> by_tenant(const StudyInput& asked) {
  std::vector<OfTenant> tenants(asked.history.tenants.size());
  for (const Hold& hold : asked.holds) {
    std::vector<Step>& changes = tenants[asked.history.jobs[hold.job].tenant].held;
    changes.push_back({hold.begin, hold.gpus});
    changes.push_back({hold.end, -hold.gpus});
  }
  for (OfTenant& tenant : tenants) tenant.held = steps_of(std::move(tenant.held));
  for (const StudyJob& job : asked.jobs) {
    if (job.started() && job.wait > Duration()) tenants[asked.past(job).tenant].jobs.push_back(job);
  }
  return tenants;
}

void add_tenant(const StudyInput& asked, const OfTenant& tenant, std::int64_t quota,
                Estimates& sums) {
  std::vector<WaitingJob> waiting;
  waiting.reserve(tenant.jobs.size());
  for (const StudyJob& job : tenant.jobs) {
    const PastJob& past = asked.past(job);
    waiting.push_back({past.submit, job.start, past.gpus});
  }
  const std::vector<FairShareWait> waits = fair_share_waits(waiting, tenant.held, quota);
  for (std::size_t i = 0; i < waits.size(); ++i) {
    const StudyJob& job = tenant.jobs[i];
    const bool counts = asked.past(job).run >= kRealRun;
    sums.by_size[job.size].add({counts ? 1U : 0U, counts && waits[i].on_arrival ? 1U : 0U,
                                job.wait.us(), waits[i].time.us()});
  }
}

// Returns nullopt if the given tree does not have the tenant.
std::optional<std::int64_t> quota_given(const StudyInput& asked, std::uint32_t tenant) {
  const std::string& name = asked.history.tenants[tenant];
  const Result<TenantId> id = asked.options.tenants->tenant_of_job(name);
  if (!id.ok()) return std::nullopt;
  return (*asked.options.tenants)[id.value()].quota;
}

struct Quotas {
  bool given = false;
  bool scaled = false;  // The sum exceeded the GPUs of the cluster.
  std::vector<std::optional<std::int64_t>> by_tenant;
};

Quotas quotas_of(const StudyInput& asked, const std::vector<OfTenant>& tenants, QuotaGuess guess) {
  const TenantTree* tree = asked.options.tenants;
  Quotas quotas;
  quotas.given = tree != nullptr && tree->sharing() == Sharing::kQuota;
  std::int64_t sum = 0;
  for (std::uint32_t i = 0; i < tenants.size(); ++i) {
    quotas.by_tenant.push_back(quotas.given ? quota_given(asked, i)
                                            : guess_quota(tenants[i].held, guess));
    sum = saturating_add(sum, quotas.by_tenant.back().value_or(0));
  }
  if (quotas.given || guess == QuotaGuess::kPeak || sum <= asked.gpus) return quotas;
  // GPUs beyond a tenant's share were borrowed. The entitlements add up to the cluster.
  const double scale = static_cast<double>(asked.gpus) / static_cast<double>(sum);
  for (std::optional<std::int64_t>& quota : quotas.by_tenant) {
    quota = static_cast<std::int64_t>(static_cast<double>(*quota) * scale + 0.5);
  }
  quotas.scaled = true;
  return quotas;
}

Estimates estimate(const StudyInput& asked, const std::vector<OfTenant>& tenants,
                   const Quotas& quotas) {
  Estimates sums;
  for (std::size_t i = 0; i < tenants.size(); ++i) {
    if (quotas.by_tenant[i]) add_tenant(asked, tenants[i], *quotas.by_tenant[i], sums);
  }
  return sums;
}

void append_estimate(const Estimate& of, std::vector<Cell>& row) {
  const auto waited = static_cast<double>(of.waited);
  const auto arrival = static_cast<double>(of.on_arrival);
  const auto wait = static_cast<double>(of.wait_us);
  const auto fair = static_cast<double>(of.fair_us);
  row.push_back(share_cell(arrival, waited));
  row.push_back(share_cell(waited - arrival, waited));
  row.push_back(share_cell(fair, wait));
  row.push_back(share_cell(wait - fair, wait));
}

PageTable estimates_table(const Estimates& sums, std::string key, std::string title) {
  PageTable table;
  table.key = std::move(key);
  table.title = std::move(title);
  table.columns = {"GPUs",
                   "jobs that waited and ran a minute",
                   "waiting (h)",
                   "fair-share on arrival (%)",
                   "fragmentation on arrival (%)",
                   "fair-share time (%)",
                   "fragmentation time (%)"};
  const auto add_row = [&](std::string_view name, const Estimate& of) {
    std::vector<Cell> row = {std::string(name), count_cell(of.waited),
                             time_cell(static_cast<double>(of.wait_us), kHour)};
    append_estimate(of, row);
    table.rows.push_back(std::move(row));
  };
  for (std::size_t i = 0; i < kSizes; ++i) add_row(kWaitSizes[i], sums.by_size[i]);
  add_row("all", sums.all());
  return table;
}

PageTable quotas_table(const StudyInput& asked, const std::vector<OfTenant>& tenants,
                       const Quotas& quotas) {
  PageTable table;
  table.key = "quotas";
  table.title = "Quotas of the largest tenants";
  table.columns = {"tenant", "quota (GPUs)", "most held (GPUs)"};
  for (std::size_t i = 0; i < asked.parties.ids.size(); ++i) {
    const std::uint32_t id = asked.parties.ids[i];
    const std::optional<std::int64_t> quota = quotas.by_tenant[id];
    table.rows.push_back(
        {asked.parties.names[i], quota ? Cell(*quota) : Cell(), peak_of(tenants[id].held)});
  }
  return table;
}

void say(const Estimate& all, Section& section) {
  if (all.wait_us == 0) {
    section.findings.emplace_back("No job with a quota is known to have waited.");
    return;
  }
  section.findings.push_back(fmt::format(
      "{} of the waiting time passed while the job's tenant had used up its quota (fair-share); "
      "the rest, which the study calls fragmentation, is all other waiting.",
      percent(static_cast<double>(all.fair_us), static_cast<double>(all.wait_us))));
  if (all.waited == 0) return;
  section.findings.push_back(
      fmt::format("By the state on arrival, as counted in the study: {} of {} that waited and ran "
                  "for a minute arrived when their tenant was over its quota.",
                  percent(static_cast<double>(all.on_arrival), static_cast<double>(all.waited)),
                  many(all.waited, "job")));
}

void split_by_quota(const StudyInput& asked, Section& section) {
  const std::vector<OfTenant> tenants = by_tenant(asked);
  const Quotas quotas = quotas_of(asked, tenants, QuotaGuess::kP95);
  const Estimates sums = estimate(asked, tenants, quotas);
  say(sums.all(), section);
  section.tables.push_back(estimates_table(sums, "wait-causes", ""));
  section.tables.push_back(quotas_table(asked, tenants, quotas));
  if (quotas.given) {
    std::size_t without = 0;
    for (std::size_t i = 0; i < tenants.size(); ++i) {
      if (!quotas.by_tenant[i] && !tenants[i].jobs.empty()) ++without;
    }
    if (without > 0) {
      section.missing = fmt::format("the quotas of {} whose jobs waited; these are omitted",
                                    many(without, "tenant"));
    }
    return;
  }
  const Estimates peaks = estimate(asked, tenants, quotas_of(asked, tenants, QuotaGuess::kPeak));
  section.tables.push_back(estimates_table(peaks, "wait-causes-peak-quotas",
                                           "The same if each quota were the maximum ever held"));
  section.missing = fmt::format(
      "quotas; each was inferred as the level that the tenant did not exceed for 95% of the "
      "time{}. If it were the maximum ever held, fair-share would be {} of the time instead of {}",
      quotas.scaled
          ? fmt::format(", scaled down so that the sum is the {} GPUs of the cluster", asked.gpus)
          : std::string(),
      percent(static_cast<double>(peaks.all().fair_us), static_cast<double>(peaks.all().wait_us)),
      percent(static_cast<double>(sums.all().fair_us), static_cast<double>(sums.all().wait_us)));
}

}  // namespace

void wait_causes(const StudyInput& asked, Section& section) {
  const Knows& knows = asked.history.knows;
  if (knows.waits && asked.history.waits.size() == asked.history.jobs.size()) {
    split_as_told(asked, section);
  } else if (knows.starts && knows.tenants) {
    split_by_quota(asked, section);
  } else {
    std::vector<std::string> lacks;
    if (!knows.starts) lacks.emplace_back("start times");
    if (!knows.tenants) lacks.emplace_back("tenants");
    section.missing = listed(lacks);
  }
}

}  // namespace muster
