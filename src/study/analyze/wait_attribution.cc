#include <fmt/format.h>

#include "study/analyze/blame_matrix.h"
#include "study/analyze/figures.h"
#include "study/analyze/sections.h"

namespace muster {

namespace {

std::vector<std::vector<double>> matrix_of(const StudyInput& asked) {
  std::vector<PartyWait> waits;
  std::vector<PartyHold> holds;
  for (const StudyJob& job : asked.jobs) {
    if (!job.started() || job.wait == Duration()) continue;
    const PastJob& past = asked.past(job);
    waits.push_back({past.submit, job.start, asked.party_of(past)});
  }
  for (const Hold& hold : asked.holds) {
    holds.push_back(
        {hold.begin, hold.end, hold.gpus, asked.party_of(asked.history.jobs[hold.job])});
  }
  return waited_for(waits, holds, asked.parties.names.size());
}

PageTable table_of(const GroupNames& parties, const std::vector<std::vector<double>>& matrix) {
  PageTable table;
  table.key = "who-waited-for-whom";
  table.title = fmt::format(
      "Hours that jobs of each {} waited, by the holders of GPUs during the wait", parties.noun);
  table.columns = {fmt::format("{} waiting", parties.noun)};
  for (const std::string& name : parties.names) table.columns.push_back(name + " (h)");
  table.columns.emplace_back("nobody (h)");
  table.columns.emplace_back("in all (h)");
  for (std::size_t a = 0; a < matrix.size(); ++a) {
    std::vector<Cell> row = {parties.names[a]};
    double sum = 0;
    for (const double part : matrix[a]) {
      row.push_back(time_cell(part, kHour));
      sum += part;
    }
    row.push_back(time_cell(sum, kHour));
    table.rows.push_back(std::move(row));
  }
  return table;
}

struct Sums {
  double all = 0;
  double own = 0;  // Waits while the same party held GPUs.
  std::size_t waiting = 0, holding = 0;
  double worst = 0;  // Between two parties with names.
};

Sums sums_of(const GroupNames& parties, const std::vector<std::vector<double>>& matrix) {
  Sums sums;
  for (std::size_t a = 0; a < matrix.size(); ++a) {
    for (std::size_t b = 0; b < matrix[a].size(); ++b) {
      sums.all += matrix[a][b];
      const bool named = a < parties.ids.size() && b < parties.ids.size();
      if (a == b && named) sums.own += matrix[a][b];
      if (a == b || !named || matrix[a][b] <= sums.worst) continue;
      sums.worst = matrix[a][b];
      sums.waiting = a;
      sums.holding = b;
    }
  }
  return sums;
}

}  // namespace

void wait_attribution(const StudyInput& asked, Section& section) {
  const Knows& knows = asked.history.knows;
  const GroupNames& parties = asked.parties;
  std::vector<std::string> lacks;
  if (!knows.starts) lacks.emplace_back("start times");
  if (!parties.known()) lacks.emplace_back("tenants and users");
  section.missing = listed(lacks);
  if (!lacks.empty()) return;
  const std::vector<std::vector<double>> matrix = matrix_of(asked);
  const Sums sums = sums_of(parties, matrix);
  section.tables.push_back(table_of(parties, matrix));
  if (sums.all <= 0) {
    section.findings.emplace_back("No job is known to have waited.");
    return;
  }
  section.findings.push_back(
      fmt::format("Each moment that a job waits before its first start is divided among the {}s by "
                  "the GPUs they hold at that moment. This shows the holders, not the cause. {} of "
                  "the {} of waiting falls on GPUs held by the same {}.",
                  parties.noun, percent(sums.own, sums.all), lasting(sums.all), parties.noun));
  if (sums.worst > 0) {
    section.findings.push_back(fmt::format(
        "The largest wait for another party is that of {} for {}: {}, {} of all waiting.",
        parties.names[sums.waiting], parties.names[sums.holding], lasting(sums.worst),
        percent(sums.worst, sums.all)));
  }
  if (!knows.attempts) {
    section.missing =
        "all attempts of a job; it counts as holding GPUs from its first start to its end";
  }
}

}  // namespace muster
