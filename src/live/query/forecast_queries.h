#pragma once

// Answers why a job waits, when it will start and what a request would do; orders the queue; and
// predicts the starts of all waiting jobs for lists. explain_queries.cc has the answers,
// start_forecasts.cc the queue order and the predictions.
//
// Threads: the manager thread calls it. Predictions run on its worker, on a shared copy of the
// engine, and return through the ForecastBook.

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "base/types/result.h"
#include "live/query/explain.h"
#include "live/query/forecast_book.h"
#include "live/query/forecaster.h"
#include "live/query/picture.h"
#include "live/query/read_context.h"

namespace muster {

// Jobs that wait for GPUs, in the order in which the scheduler considers them.
struct QueueOrder {
  std::vector<JobId> jobs;           // Without those that are about to start.
  std::vector<std::uint32_t> place;  // By row, from 1; 0 or beyond the end: unknown.

  std::uint32_t of(const LiveJob& job) const {
    return job.row && job.row->index() < place.size() ? place[job.row->index()] : 0;
  }
};

// {"soonest", "likely", "latest"}: seconds since 1970, null if there is no predicted time.
nlohmann::json start_band_json(const Band& band, const LiveClock& clock);

class ForecastQueries {
 public:
  explicit ForecastQueries(const ReadContext& context) : context_(context) {}

  void explain(const Caller& caller, const ExplainJob& call, Done done);
  void plan(const Caller& caller, const PlanJob& call, Done done);

  const QueueOrder& queue_order();  // At most a second old. Valid until the next call.
  // The predicted starts of waiting jobs; nullptr if there are no recent ones.
  std::shared_ptr<const StartBands> bands();
  // A caller wants bands with lists: after_turn() makes them for the next 30 seconds.
  void expect_lists() { lists_expected_ = context_.clock.now(); }

  // Evaluates forecasts, predicts a start now and then, and renews the bands.
  void after_turn();

 private:
  // A copy of the engine after the last step, at most a second old; if a job is given, one in which
  // it waits in this row.
  std::shared_ptr<const Picture> snapshot_with(LiveId id = 0, JobId row = {});
  Reader reader_for(const Caller& caller) const { return {caller, book_.errors(), context_.clock}; }
  nlohmann::json story_of(const LiveJob& job) const;
  Answer story_of(const JobRow& row) const;
  void ask_about_one_job();
  void renew_bands();
  std::vector<JobId> next_to_start();

  // The state of the roster that something was made from. Any step or new era changes it.
  struct Version {
    std::uint64_t era = 0;
    Instant step;
    std::uint64_t events = 0;  // Of the engine.

    friend bool operator==(const Version&, const Version&) = default;
  };
  Version version_now() const;

  ReadContext context_;
  ForecastBook book_;
  std::shared_ptr<const Picture> snapshot_;  // Large, so that questions share one.
  Version snapshot_version_;
  QueueOrder order_;
  Version order_version_;
  Instant order_made_ = Instant::never();
  Instant next_question_;
  Instant lists_expected_;  // The last call of expect_lists().
  Instant next_bands_;      // No new bands before.
  Instant bands_step_;      // The last step before the latest bands.
  Forecaster worker_;       // Last: its thread uses the rest.
};

}  // namespace muster
