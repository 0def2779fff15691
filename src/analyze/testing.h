#pragma once

// Small pasts for tests: random ones in whole seconds, so that a loop over seconds recomputes any
// figure exactly, and a way to pick cells out of a page.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <regex>
#include <set>
#include <string>
#include <string_view>

#include "analyze/asked.h"
#include "analyze/study.h"
#include "base/random.h"
#include "page/page.h"

namespace muster {

inline Instant second(std::int64_t s) { return Instant::at(Duration::seconds(s)); }
inline std::int64_t seconds_of(Duration d) { return d.us() / 1'000'000; }

// Adds a job without attempts; the caller may change it, and give it attempts at once.
inline PastJob& add_job(History& history, std::int64_t submit_s, std::int32_t gpus,
                        std::string_view tenant = "a", std::string_view user = "u") {
  PastJob job;
  job.id = history.ids.intern("job " + std::to_string(history.jobs.size()));
  job.submit = second(submit_s);
  job.gpus = gpus;
  job.tenant = history.tenants.intern(tenant);
  job.user = history.users.intern(user);
  job.attempts = static_cast<std::uint32_t>(history.attempts.size());
  history.jobs.push_back(job);
  return history.jobs.back();
}

// To the job added last.
inline Attempt& add_attempt(History& history, std::int64_t start_s, std::int64_t end_s,
                            bool failed = false, std::optional<Reason> reason = std::nullopt) {
  Attempt attempt;
  attempt.start = second(start_s);
  attempt.end = second(end_s);
  attempt.run = attempt.end - attempt.start;
  attempt.hosts = static_cast<std::uint32_t>(history.hosts.size());
  attempt.failed = failed;
  attempt.reason = reason;
  history.attempts.push_back(attempt);
  PastJob& job = history.jobs.back();
  ++job.attempt_count;
  job.run += attempt.run;
  if (failed) ++job.failures;
  return history.attempts.back();
}

inline Knows all_known() {
  Knows knows;
  knows.runs = knows.starts = knows.attempts = knows.hosts = knows.status = true;
  knows.failures = knows.reasons = knows.tenants = knows.users = true;
  return knows;
}

// Everything known; statuses, reasons, servers and odd jobs of every kind. No quota holds here:
// jobs start whenever they like.
inline History random_history(std::uint64_t seed, int jobs) {
  constexpr std::array<std::int32_t, 9> kGpus = {0, 1, 1, 2, 4, 5, 8, 9, 16};
  Random random(seed);
  const auto below = [&](std::uint64_t bound) { return random.below(bound); };
  History history;
  history.knows = all_known();
  for (int i = 0; i < 6; ++i) history.servers.push_back({"s" + std::to_string(i), 8, 8, 16});
  std::int64_t now = 0;
  for (int i = 0; i < jobs; ++i) {
    now += static_cast<std::int64_t>(below(40));
    const std::string tenant(1, static_cast<char>('a' + below(4)));
    const std::string user = tenant + std::to_string(below(3));
    PastJob& job = add_job(history, now, kGpus[below(kGpus.size())], tenant, user);
    job.status = static_cast<Status>(below(4));
    const Status status = job.status;
    const std::uint64_t attempts = job.gpus == 0 ? 0 : below(4);
    std::int64_t at = now + static_cast<std::int64_t>(below(3) * below(100));
    for (std::uint64_t k = 0; k < attempts; ++k) {
      const auto run = static_cast<std::int64_t>(1 + below(300));
      const bool failed = k + 1 < attempts || status == Status::kFailed;
      const bool told = below(8) > 0;
      const auto reason = static_cast<Reason>(below(kReasonCount));
      Attempt& attempt = add_attempt(history, at, at + run, failed,
                                     failed && told ? std::optional(reason) : std::nullopt);
      attempt.host_count = static_cast<std::uint32_t>(1 + below(3));
      for (std::uint32_t h = 0; h < attempt.host_count; ++h) {
        history.hosts.push_back({h, 0});  // The number of GPUs is the job's.
      }
      at += run + static_cast<std::int64_t>(below(50));
    }
  }
  return history;
}

inline const Section& section_of(const Page& page, std::string_view key) {
  for (const Section& section : page.sections) {
    if (section.key == key) return section;
  }
  ADD_FAILURE() << "no section " << key;
  return page.sections.front();
}

inline const PageTable& table_of(const Page& page, std::string_view key) {
  for (const Section& section : page.sections) {
    for (const PageTable& table : section.tables) {
      if (table.key == key) return table;
    }
  }
  ADD_FAILURE() << "no table " << key;
  static const PageTable kNone;
  return kNone;
}

inline Cell cell_of(const Page& page, std::string_view key, std::string_view row,
                    std::string_view column) {
  const PageTable& table = table_of(page, key);
  const auto at = std::find(table.columns.begin(), table.columns.end(), column);
  EXPECT_NE(at, table.columns.end()) << key << ": no column " << column;
  for (const std::vector<Cell>& cells : table.rows) {
    if (at == table.columns.end() || std::get<std::string>(cells[0]) != row) continue;
    return cells[static_cast<std::size_t>(at - table.columns.begin())];
  }
  ADD_FAILURE() << key << ": no row " << row;
  return {};
}

// -1 for an empty cell.
inline double value_of(const Cell& cell) {
  if (const auto* whole = std::get_if<std::int64_t>(&cell)) return static_cast<double>(*whole);
  if (const auto* number = std::get_if<Number>(&cell)) return number->value;
  return -1;
}

inline double value_at(const Page& page, std::string_view key, std::string_view row,
                       std::string_view column) {
  return value_of(cell_of(page, key, row, column));
}

// What must hold of any page: whoever writes it out relies on it.
inline void expect_sound(const Page& page) {
  EXPECT_EQ(page.sections.size(), 13u);
  std::set<std::string> keys;
  for (const Section& section : page.sections) {
    EXPECT_FALSE(section.findings.empty() && section.missing.empty()) << section.key;
    std::string words = section.missing;
    for (const std::string& finding : section.findings) words += " " + finding;
    EXPECT_FALSE(std::regex_search(words, std::regex("\\b(nan|inf)\\b"))) << section.key << words;
    for (const PageTable& table : section.tables) {
      EXPECT_TRUE(keys.insert(table.key).second) << table.key;
      for (const std::vector<Cell>& row : table.rows) {
        EXPECT_EQ(row.size(), table.columns.size()) << table.key;
        for (const Cell& cell : row) EXPECT_TRUE(std::isfinite(value_of(cell))) << table.key;
      }
    }
    for (const Plot& plot : section.plots) {
      EXPECT_TRUE(keys.insert(plot.key).second) << plot.key;
      const bool bars = plot.kind == Plot::Kind::kBars;
      for (const Series& series : plot.series) {
        EXPECT_EQ(series.y.size(), bars ? plot.categories.size() : series.x.size()) << plot.key;
        EXPECT_LE(series.y.size(), 1000u) << plot.key;
        EXPECT_TRUE(std::is_sorted(series.x.begin(), series.x.end())) << plot.key;
        for (const double y : series.y) EXPECT_TRUE(std::isfinite(y)) << plot.key;
      }
    }
  }
}

}  // namespace muster
