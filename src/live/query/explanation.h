#pragma once

// Human-readable forecasts as JSON: why a job waits, when it will start, what a request would get.
// Everything is computed from an EngineSnapshot, so any thread may call it.

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "api/port/service.h"
#include "live/config/state_directory.h"
#include "live/query/engine_snapshot.h"
#include "sim/forecast/start_forecast.h"
#include "sim/forecast/wait_explanation.h"

namespace muster {

// The reader of an explanation, and where forecasts come from.
struct Audience {
  Caller caller;
  LiveClock clock;
  // Corrects the samples of a forecast. Empty: they are not corrected.
  std::function<ForecastBounds(const StartSamples&)> correct = {};
  // The band that lists show at this time. It is repeated, so that all pages show the same.
  std::optional<Band> published = {};
};

// Explains the waiting job in row `job`: {"why", "constraint", "facts", "eta", "ways"}. Sets `band`
// to its predicted start.
nlohmann::json why_json(const EngineSnapshot& snapshot, JobId job, const Audience& reader,
                        Band& band);

// Explains a hypothetical request: {"verdict": "now" or "queue", "says", "where", "eta", ...}.
nlohmann::json plan_json(const EngineSnapshot& snapshot, const JobSpec& spec,
                         const Audience& reader);

// The band of corrected bounds. No time of it is earlier than the end of a back-off.
Band told_band(const EngineSnapshot& snapshot, JobId job, const ForecastBounds& bounds);

// Predicts the start of the row's job. Takes less than 0.2 s.
Band forecast_of(const EngineSnapshot& snapshot, JobId job, const Audience& reader);

}  // namespace muster
