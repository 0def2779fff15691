#include "live/views/metrics_text.h"

#include <gtest/gtest.h>

#include <array>

#include "engine/roster/testing.h"

namespace muster {
namespace {

// Dashboards and alerts of users name these: they do not change.
TEST(MetricsText, KeepsNamesAndTypes) {
  Roster roster(live_testing::settings_for("2x4"));
  const std::array<std::uint64_t, 4> ended = {1'234'567'890'123, 2, 0, 1};
  const ForecastScore forecasts = {.checked = 20, .inside = {11, 16, 19}, .before = 2, .after = 2};
  EXPECT_EQ(metrics_text(roster, {.submitted = 5,
                                  .ended = ended,
                                  .journal_blocked = true,
                                  .mode = "personal",
                                  .forecasts = forecasts}),
            "# HELP muster_jobs Active jobs, by state.\n"
            "# TYPE muster_jobs gauge\n"
            "muster_jobs{state=\"held\"} 0\n"
            "muster_jobs{state=\"blocked\"} 0\n"
            "muster_jobs{state=\"queued\"} 0\n"
            "muster_jobs{state=\"starting\"} 0\n"
            "muster_jobs{state=\"running\"} 0\n"
            "muster_jobs{state=\"stopping\"} 0\n"
            "muster_jobs{state=\"retrying\"} 0\n"
            "# HELP muster_gpus GPUs of the cluster.\n"
            "# TYPE muster_gpus gauge\n"
            "muster_gpus 8\n"
            "# HELP muster_gpus_used GPUs that leases hold.\n"
            "# TYPE muster_gpus_used gauge\n"
            "muster_gpus_used 0\n"
            "# HELP muster_submitted_total Jobs submitted since the start.\n"
            "# TYPE muster_submitted_total counter\n"
            "muster_submitted_total 5\n"
            "# HELP muster_ended_total Jobs finished since the start, by final state.\n"
            "# TYPE muster_ended_total counter\n"
            "muster_ended_total{end=\"done\"} 1234567890123\n"
            "muster_ended_total{end=\"failed\"} 2\n"
            "muster_ended_total{end=\"cancelled\"} 0\n"
            "muster_ended_total{end=\"rejected\"} 1\n"
            "# HELP muster_decisions Starts, stops and resizes since the last snapshot.\n"
            "# TYPE muster_decisions gauge\n"
            "muster_decisions 0\n"
            "# HELP muster_mode 1 for the mode of the manager.\n"
            "# TYPE muster_mode gauge\n"
            "muster_mode{mode=\"personal\"} 1\n"
            "# HELP muster_journal_blocked 1 while the journal cannot be written.\n"
            "# TYPE muster_journal_blocked gauge\n"
            "muster_journal_blocked 1\n"
            "# HELP muster_forecasts_checked_total Job starts compared with a forecast since the "
            "start.\n"
            "# TYPE muster_forecasts_checked_total counter\n"
            "muster_forecasts_checked_total 20\n"
            "# HELP muster_forecasts_inside_total Job starts inside the band of their forecast "
            "since the start, by band.\n"
            "# TYPE muster_forecasts_inside_total counter\n"
            "muster_forecasts_inside_total{band=\"50%\"} 11\n"
            "muster_forecasts_inside_total{band=\"80%\"} 16\n"
            "muster_forecasts_inside_total{band=\"95%\"} 19\n");
}

}  // namespace
}  // namespace muster
