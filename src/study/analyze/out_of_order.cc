#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/text/wording.h"
#include "study/analyze/figures.h"
#include "study/analyze/sections.h"

namespace muster {

namespace {

constexpr std::int64_t kMaxFree = std::numeric_limits<std::int32_t>::max();

std::vector<FreePoint> free_points(const StudyInput& asked) {
  std::vector<FreePoint> points;
  points.reserve(asked.in_use.size() + 1);
  const auto add = [&](Instant at, std::int64_t used) {
    const std::int64_t free = std::clamp<std::int64_t>(asked.gpus - used, 0, kMaxFree);
    points.push_back({at, static_cast<std::int32_t>(free)});
  };
  add(asked.first, 0);
  for (const Step& step : asked.in_use) add(step.at, step.level);
  return points;
}

std::vector<QueuedJob> line_of(const StudyInput& asked) {
  std::vector<QueuedJob> line;
  line.reserve(asked.jobs.size());
  for (const StudyJob& job : asked.jobs) {
    if (!job.started()) continue;
    const PastJob& past = asked.past(job);
    QueuedJob place;
    place.tenant = TenantId(past.tenant);
    place.gpus = past.gpus;
    place.submit = past.submit;
    place.start = job.start;
    place.end = std::max(job.start, asked.history.attempts_of(past).front().end);
    line.push_back(place);
  }
  return line;
}

PageTable table_of(const OvertakingResult& found) {
  PageTable table;
  table.key = "out-of-order";
  table.title = "By the GPUs of the overtaken job";
  table.columns = {"GPUs", "overtaking starts", "of all starts (%)", "harmful",
                   "of these harmful (%)"};
  const auto add_row = [&](std::string_view name, const OvertakingCount& count) {
    const auto overtaking = static_cast<double>(count.overtaking);
    table.rows.push_back({std::string(name), count_cell(count.overtaking),
                          share_cell(overtaking, static_cast<double>(found.starts)),
                          count_cell(count.harmful),
                          share_cell(static_cast<double>(count.harmful), overtaking)});
  };
  for (std::size_t i = 0; i < kOvertakenSizes.size(); ++i) {
    add_row(kOvertakenSizes[i], found.by_size[i]);
  }
  add_row("all", found.total);
  return table;
}

}  // namespace

void out_of_order(const StudyInput& asked, Section& section) {
  const Knows& knows = asked.history.knows;
  if (!knows.starts) {
    section.missing = "start times";
    return;
  }
  const OvertakingResult found = find_overtaking(line_of(asked), free_points(asked));
  section.tables.push_back(table_of(found));
  const std::string queue = knows.tenants ? "of the same tenant" : "of any user";
  if (found.total.overtaking == 0) {
    section.findings.push_back(fmt::format("None of {} overtook an older, larger job {}.",
                                           many(found.starts, "start"), queue));
  } else {
    section.findings.push_back(fmt::format(
        "{} of {} overtook an older, larger job {}; {} of these were harmful: with the same "
        "GPUs and the free ones the older job could have started earlier.",
        percent(static_cast<double>(found.total.overtaking), static_cast<double>(found.starts)),
        many(found.starts, "start"), queue,
        percent(static_cast<double>(found.total.harmful),
                static_cast<double>(found.total.overtaking))));
  }
  section.findings.push_back(
      fmt::format("GPUs count regardless of their location. The cluster has {}, {}.",
                  grouped(static_cast<std::uint64_t>(asked.gpus)),
                  asked.gpus_counted ? "according to its nodes" : "the maximum ever in use"));
  std::vector<std::string> lacks;
  if (!knows.tenants) lacks.emplace_back("tenants, so all jobs are in one queue");
  if (!knows.attempts) {
    lacks.emplace_back("the ends of first attempts, so GPUs count as held until the job's end");
  }
  section.missing = fmt::format("{}", fmt::join(lacks, "; "));
}

}  // namespace muster
