#pragma once

// Answers why a job waits, when it will start and what a request would get. Also computes the queue
// order, and predicts the starts of all waiting jobs for lists. explain_queries.cc contains the
// answers, start_forecasts.cc the queue order and the predictions.
//
// Threads: the manager thread calls it. Predictions run on its worker, on a shared copy of the
// engine, and return through the ForecastBook.

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <vector>

#include "base/types/result.h"
#include "live/query/engine_snapshot.h"
#include "live/query/explanation.h"
#include "live/query/forecast_book.h"
#include "live/query/question_worker.h"
#include "live/query/read_context.h"

namespace muster {

// Jobs that wait for GPUs, in the order in which the scheduler considers them.
struct QueueOrder {
  std::vector<JobId> jobs;           // Without jobs that are about to start.
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
  // Returns the predicted start of a waiting job, or nullopt if there is no recent one.
  std::optional<Band> band(const LiveJob& job) const;
  // How often the bands were right.
  ForecastScore score() const { return book_.score(); }
  // Called with lists that show bands: after_turn() then renews the bands for 30 seconds.
  void expect_lists() { lists_expected_ = context_.clock.now(); }

  // Evaluates forecasts and renews the bands: every 10 s while lists show them, otherwise every
  // minute, because earlier forecasts correct later ones.
  void after_turn();

 private:
  // Returns a copy of the engine after the last step, at most a second old. If a job is given, it
  // waits in this row of the copy.
  std::shared_ptr<const EngineSnapshot> snapshot_with(LiveId id = 0, JobId row = {});
  // For an explanation on the worker. `id` is 0 for a job that does not exist.
  Audience reader_for(const Caller& caller, LiveId id, JobId row, const EngineSnapshot& snapshot);
  nlohmann::json story_of(const LiveJob& job) const;
  Answer story_of(const JobRow& row) const;
  void renew_bands();
  std::vector<JobId> next_to_start();
  void predict(const EngineSnapshot& snapshot, const std::vector<JobId>& jobs);

  // Identifies a state of the roster. Any step and any new era changes it.
  struct Version {
    std::uint64_t era = 0;
    Instant step;
    std::uint64_t events = 0;  // Number of engine events.

    friend bool operator==(const Version&, const Version&) = default;
  };
  Version version_now() const;

  ReadContext context_;
  ForecastBook book_;
  std::shared_ptr<const EngineSnapshot> snapshot_;  // Large, so questions share one.
  Version snapshot_version_;
  QueueOrder order_;
  Version order_version_;
  Instant order_made_ = Instant::never();
  Instant lists_expected_;  // The last call of expect_lists().
  Instant next_bands_;      // No new bands earlier.
  Instant last_bands_;      // When the latest bands were made.
  Instant bands_step_;      // The last step before the latest bands.
  QuestionWorker worker_;   // Last: its thread uses the other members.
};

}  // namespace muster
