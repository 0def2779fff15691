#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "study/analyze/figures.h"
#include "study/analyze/sections.h"

namespace muster {

namespace {

struct Tally {
  std::size_t jobs = 0;  // All jobs; if attempts are known, only jobs with an attempt.
  std::int64_t attempts = 0;
  std::int64_t retries = 0;
  std::int64_t failures = 0;
  std::int64_t resumed = 0;  // Resumes after a stop or a move.
  std::size_t hit = 0;       // Jobs with a failed attempt.
  std::size_t failed = 0;    // Jobs whose final state is failed.
};

void count(const StudyInput& asked, const StudyJob& job, Tally& tally) {
  const PastJob& past = asked.past(job);
  if (asked.history.knows.attempts && past.attempt_count == 0) return;
  ++tally.jobs;
  std::int64_t attempts = 0;  // Leases after a stop or a move continue the attempt before.
  for (const Attempt& attempt : asked.history.attempts_of(past)) {
    ++(attempt.resumed ? tally.resumed : attempts);
  }
  tally.attempts += attempts;
  tally.retries += std::max<std::int64_t>(0, attempts - 1);
  tally.failures += past.failures;
  if (past.failures > 0) ++tally.hit;
  if (past.status == Status::kFailed) ++tally.failed;
}

std::vector<Cell> row_of(const Knows& knows, std::string_view name, const Tally& of) {
  const auto jobs = static_cast<double>(of.jobs);
  const auto when = [](bool known, Cell cell) { return known ? cell : Cell(); };
  return {std::string(name),
          count_cell(of.jobs),
          when(knows.attempts, ratio_cell(static_cast<double>(of.attempts), jobs)),
          when(knows.attempts, ratio_cell(static_cast<double>(of.retries), jobs)),
          when(knows.attempts, ratio_cell(static_cast<double>(of.resumed), jobs)),
          when(knows.failures, ratio_cell(static_cast<double>(of.failures), jobs)),
          when(knows.failures, share_cell(static_cast<double>(of.hit), jobs)),
          when(knows.status, share_cell(static_cast<double>(of.failed), jobs))};
}

std::string per_job(const Tally& of) {
  return fmt::format("{:.2f}", static_cast<double>(of.failures) / static_cast<double>(of.jobs));
}

void say(const Knows& knows, const std::array<Tally, kSizes>& sizes, const Tally& all,
         Section& section) {
  if (all.jobs == 0) {
    section.findings.emplace_back("No job has a known attempt.");
    return;
  }
  if (knows.failures) {
    Tally several;
    for (std::size_t i = 1; i < kSizes; ++i) {
      several.jobs += sizes[i].jobs;
      several.failures += sizes[i].failures;
    }
    section.findings.push_back(fmt::format(
        "There were {} failed attempts per job on average{}.", per_job(all),
        several.jobs == 0
            ? ""
            : fmt::format(", and {} per job with more than one GPU", per_job(several))));
  }
  if (knows.status) {
    std::vector<std::string> shares;
    for (std::size_t i = 0; i < kSizes; ++i) {
      if (sizes[i].jobs == 0) continue;
      shares.push_back(fmt::format(
          "{} on {}",
          percent(static_cast<double>(sizes[i].failed), static_cast<double>(sizes[i].jobs)),
          size_words(i)));
    }
    section.findings.push_back("Jobs that finally failed: " + listed(shares) + ".");
  }
}

}  // namespace

void attempts_by_size(const StudyInput& asked, Section& section) {
  const Knows& knows = asked.history.knows;
  std::vector<std::string> lacks;
  if (!knows.attempts) lacks.emplace_back("all attempts of a job");
  if (!knows.failures) lacks.emplace_back("the number of failed attempts");
  if (!knows.status) lacks.emplace_back("the outcomes of jobs");
  section.missing = listed(lacks);
  if (lacks.size() == 3) return;
  std::array<Tally, kSizes> sizes;
  Tally all;
  for (const StudyJob& job : asked.jobs) {
    count(asked, job, sizes[job.size]);
    count(asked, job, all);
  }
  PageTable table;
  table.key = "attempts";
  table.columns = {"GPUs",
                   "jobs",
                   "attempts a job",
                   "retries a job",
                   "resumed after a stop or move, a job",
                   "failures a job",
                   "jobs hit (%)",
                   "failed for good (%)"};
  for (std::size_t i = 0; i < kSizes; ++i) {
    table.rows.push_back(row_of(knows, kWaitSizes[i], sizes[i]));
  }
  table.rows.push_back(row_of(knows, "all", all));
  section.tables.push_back(std::move(table));
  say(knows, sizes, all, section);
}

}  // namespace muster
