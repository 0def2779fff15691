#pragma once

// Measures how a running job's speed depends on its CPUs: chooses the next CPU limit and records
// the result. The job starts once; its limit changes while it runs. The session has no clock: the
// caller passes the current time.
//
//   Session session(options); session.begin(now);
//   while (!session.over()) { limit the job to session.cpu_milli();
//                             session.take(report); session.look(now); }

#include <cstdint>
#include <optional>
#include <string>

#include "base/types/time.h"
#include "engine/fit/rate_meter.h"
#include "engine/fit/speed_curve.h"

namespace muster {

struct SessionOptions {
  std::int64_t full = 0;    // Maximum milli-CPUs to try, for the whole job.
  std::int64_t least = 50;  // Minimum milli-CPUs.
  double tolerance = 0.05;  // Maximum relative uncertainty between points.
  int most_points = 8;
  Duration patience = Duration::seconds(60);  // Maximum time without a report.
  Duration budget = Duration::seconds(50);    // Total time for all points.
  MeterOptions meter = {};
};

class Session {
 public:
  // `known` contains earlier points, if any. The maximum CPU is measured in any case.
  explicit Session(SessionOptions options, SpeedCurve known = {});

  // Call when the job has started with the limit cpu_milli(). Call again if the job restarts: the
  // current point then begins again.
  void begin(Duration now);
  void take(const Observation& observation) { meter_.take(observation); }
  // Polls the measurement. Returns true if cpu_milli() has changed or the session has ended.
  bool look(Duration now);

  std::int64_t cpu_milli() const { return cpu_milli_; }
  bool over() const { return over_; }
  // Reason why the measurement failed; nullopt if it did not. Points measured before stay valid.
  const std::optional<std::string>& trouble() const { return trouble_; }
  const SpeedCurve& curve() const { return curve_; }
  Duration measured() const { return measured_; }  // Total time of all measured points.

 private:
  void end(std::optional<std::string> trouble);

  SessionOptions options_;
  RateMeter meter_;
  SpeedCurve curve_;
  std::int64_t cpu_milli_;
  Duration since_;  // Start of the current point.
  Duration measured_;
  bool over_ = false;
  std::optional<std::string> trouble_;
};

}  // namespace muster
