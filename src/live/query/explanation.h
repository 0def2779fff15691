#pragma once

// Human-readable forecasts as JSON: why a job waits, when it will start, what a request would get.
// Everything is computed from an EngineSnapshot, so any thread may call it.

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "api/port/service.h"
#include "live/config/state_directory.h"
#include "live/query/engine_snapshot.h"
#include "sim/forecast/start_forecast.h"
#include "sim/forecast/wait_explanation.h"

namespace muster {

// A predicted start: the raw band of the simulations, and the corrected band that users see.
struct Forecast {
  Band raw;
  Band told;
};

// The reader of an explanation, and the errors of earlier forecasts.
struct Audience {
  Caller caller;
  ForecastErrors errors;
  LiveClock clock;
};

// Explains the waiting job in row `job`: {"why", "constraint", "facts", "eta", "ways"}. Sets
// `forecast`.
nlohmann::json why_json(const EngineSnapshot& snapshot, JobId job, const Audience& reader,
                        Forecast& forecast);

// Explains a hypothetical request: {"verdict": "now" or "queue", "says", "where", "eta", ...}.
nlohmann::json plan_json(const EngineSnapshot& snapshot, const JobSpec& spec,
                         const Audience& reader);

// Corrects a raw band by the errors of earlier forecasts.
Band told_band(const EngineSnapshot& snapshot, JobId job, const Band& raw,
               const ForecastErrors& errors);

// Predicts the start of the row's job. Takes about 0.2 s.
Forecast forecast_of(const EngineSnapshot& snapshot, JobId job, const ForecastErrors& errors);

}  // namespace muster
