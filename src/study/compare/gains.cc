#include "study/compare/gains.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <span>
#include <string_view>
#include <utility>

namespace muster {

namespace {

constexpr std::size_t kMaxJobs = 5;
constexpr std::size_t kMaxGroups = 20;

Number minutes(double us) { return {us / 6e7, 2}; }
Number minutes(Duration duration) { return minutes(static_cast<double>(duration.us())); }

// Jobs from the front of the list that gain (sign 1) or lose (sign -1) at least kSmallestGain.
PageTable jobs_table(std::span<const JobGain> jobs, const GainNames& names, int sign) {
  PageTable table;
  table.key = (sign > 0 ? "gained-" : "lost-") + names.key;
  table.title = sign > 0 ? "Largest gains" : "Largest losses";
  table.columns = {"job",
                   "user",
                   "tenant",
                   "GPUs",
                   fmt::format("{} (min)", names.before),
                   fmt::format("{} (min)", names.after),
                   sign > 0 ? "sooner by (min)" : "later by (min)"};
  for (const JobGain& job : jobs.first(std::min(jobs.size(), kMaxJobs))) {
    const Duration much = job.gain() * sign;
    if (much < kSmallestGain) break;
    table.rows.push_back({job.id, job.user, job.tenant, std::int64_t{job.gpus}, minutes(job.before),
                          minutes(job.after), minutes(much)});
  }
  return table;
}

struct Group {
  std::string name;
  std::int64_t jobs = 0, gain = 0, lose = 0;
  double before = 0, after = 0;  // Sums in microseconds.

  double change() const { return after - before; }
};

std::vector<Group> groups_of(std::span<const JobGain> jobs, std::string JobGain::*name) {
  std::map<std::string_view, Group> by_name;
  for (const JobGain& job : jobs) {
    Group& group = by_name[job.*name];
    group.name = job.*name;
    ++group.jobs;
    if (job.gain() >= kSmallestGain) ++group.gain;
    if (job.gain() * -1 >= kSmallestGain) ++group.lose;
    group.before += static_cast<double>(job.before.us());
    group.after += static_cast<double>(job.after.us());
  }
  std::vector<Group> groups;
  for (auto& [key, group] : by_name) groups.push_back(std::move(group));
  std::stable_sort(groups.begin(), groups.end(), [](const Group& a, const Group& b) {
    return std::abs(a.change()) > std::abs(b.change());
  });
  return groups;
}

void add_groups(std::span<const JobGain> jobs, const GainNames& names, std::string JobGain::*name,
                const char* what, Section& section) {
  const std::vector<Group> groups = groups_of(jobs, name);
  if (groups.empty() || (groups.size() == 1 && groups.front().name.empty())) return;
  PageTable table;
  table.key = fmt::format("by-{}-{}", what, names.key);
  table.title = fmt::format("By {}: mean completion time", what);
  table.columns = {what,
                   "jobs",
                   fmt::format("{} (min)", names.before),
                   fmt::format("{} (min)", names.after),
                   "change (min)",
                   "gain",
                   "lose"};
  for (const Group& group : std::span(groups).first(std::min(groups.size(), kMaxGroups))) {
    const auto count = static_cast<double>(group.jobs);
    table.rows.push_back({group.name, group.jobs, minutes(group.before / count),
                          minutes(group.after / count), minutes(group.change() / count), group.gain,
                          group.lose});
  }
  if (groups.size() > kMaxGroups) {
    section.findings.push_back(fmt::format("The {} {}s with the largest changes, out of {}.",
                                           kMaxGroups, what, groups.size()));
  }
  section.tables.push_back(std::move(table));
}

}  // namespace

Section gains_section(std::vector<JobGain> jobs, const GainNames& names) {
  Section section;
  section.key = "gains-" + names.key;
  section.title = fmt::format("Gains and losses under {}", names.after);
  std::stable_sort(jobs.begin(), jobs.end(),
                   [](const JobGain& a, const JobGain& b) { return a.gain() > b.gain(); });
  std::size_t gain = 0;
  std::size_t lose = 0;
  for (const JobGain& job : jobs) {
    if (job.gain() >= kSmallestGain) ++gain;
    if (job.gain() * -1 >= kSmallestGain) ++lose;
  }
  section.findings.push_back(
      fmt::format("Of {} jobs, {} would finish earlier than under {}, {} later, and {} at the same "
                  "time (within a second).",
                  jobs.size(), gain, names.before, lose, jobs.size() - gain - lose));
  section.tables.push_back(jobs_table(jobs, names, 1));
  std::vector<JobGain> worst(
      jobs.rbegin(), jobs.rbegin() + static_cast<std::ptrdiff_t>(std::min(jobs.size(), kMaxJobs)));
  section.tables.push_back(jobs_table(worst, names, -1));
  std::erase_if(section.tables, [](const PageTable& table) { return table.rows.empty(); });
  add_groups(jobs, names, &JobGain::user, "user", section);
  add_groups(jobs, names, &JobGain::tenant, "tenant", section);
  return section;
}

}  // namespace muster
