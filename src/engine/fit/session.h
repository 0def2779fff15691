#pragma once

// Finding out how a job's speed depends on its CPUs while it runs: which limit it is to have now,
// and what came of it. The job is started once and its limit is changed under it, as a live manager
// would; only what it says counts. No clock here: the watcher says what time it is.
//
//   Session session(options); session.begin(now);
//   while (!session.over()) { limit the job to session.cpu_milli();
//                             session.take(...) what it said; session.look(now); }

#include <cstdint>
#include <optional>
#include <string>

#include "base/types/time.h"
#include "engine/fit/rate_meter.h"
#include "engine/fit/speed_curve.h"

namespace muster {

struct SessionOptions {
  std::int64_t full = 0;    // The most CPU to try, of the whole job.
  std::int64_t least = 50;  // And the least.
  double tolerance = 0.05;  // Of what lies between points.
  int most_points = 8;
  Duration patience = Duration::seconds(60);  // Until it must have said something.
  Duration budget = Duration::seconds(180);   // For all points together.
  MeterOptions meter = {};
};

class Session {
 public:
  // With what is known already, if anything; the most CPU is measured in any case.
  explicit Session(SessionOptions options, SpeedCurve known = {});

  // The job was started, with the limit that cpu_milli() says; also after a restart of it, when the
  // point at hand is begun again.
  void begin(Duration now);
  void take(const Observation& observation) { meter_.take(observation); }
  // True: cpu_milli() has changed, or it is over.
  bool look(Duration now);

  std::int64_t cpu_milli() const { return cpu_milli_; }
  bool over() const { return over_; }
  // Why there is nothing to say of the job; nothing while it goes well. Points that were measured
  // by then stay.
  const std::optional<std::string>& trouble() const { return trouble_; }
  const SpeedCurve& curve() const { return curve_; }
  Duration measured() const { return measured_; }  // Time under all limits together.

 private:
  void end(std::optional<std::string> trouble);

  SessionOptions options_;
  RateMeter meter_;
  SpeedCurve curve_;
  std::int64_t cpu_milli_;
  Duration since_;  // This point's beginning.
  Duration measured_;
  bool over_ = false;
  std::optional<std::string> trouble_;
};

}  // namespace muster
