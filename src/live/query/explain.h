#pragma once

// What people read of forecast/: why a job waits, when it will start, what would become of a
// request. From a Picture, so on any thread.

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "api/port/service.h"
#include "live/config/instance.h"
#include "live/query/picture.h"
#include "sim/forecast/eta.h"
#include "sim/forecast/why.h"

namespace muster {

struct Forecast {
  Band raw;
  Band told;
};

// For whom, and how far bands were off before.
struct Reader {
  Caller caller;
  Errors errors;
  LiveClock clock;
};

// Of a job that waits in the engine's row `job`: {"why", "constraint", "facts", "eta", "ways"}.
nlohmann::json why_json(const Picture& picture, JobId job, const Reader& reader,
                        Forecast& forecast);

// Of a request that nobody submitted: {"verdict": "now" or "queue", "says", "where", "eta", ...}.
nlohmann::json plan_json(const Picture& picture, const JobSpec& spec, const Reader& reader);

// What to tell of a raw band of the row's job, by how far bands were off before.
Band told_band(const Picture& picture, JobId job, const Band& raw, const Errors& errors);

// When the row's job starts, within a fifth of a second or little more.
Forecast forecast_of(const Picture& picture, JobId job, const Errors& errors);

}  // namespace muster
