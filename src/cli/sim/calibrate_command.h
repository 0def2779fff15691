#pragma once

// muster calibrate: replays a trace and reports whether start forecasts are correct as often as
// they claim. Exit status 1 if they are not. With --live, reports the record of the live manager.

#include <string>

#include "cli/common/command.h"
#include "cli/common/parser.h"
#include "cli/common/trace_inputs.h"
#include "cli/live/live_options.h"

namespace muster {

struct CalibrationOptions;
struct CalibrationReport;

class CalibrateCommand {
 public:
  void add_to(Command app);
  int run(Streams streams);
  bool chosen() const { return command_.parsed(); }

 private:
  std::string report_json(const CalibrationReport& report, const Trace& trace,
                          const CalibrationOptions& options) const;

  int run_live(Streams streams);

  Command command_;
  LiveOptions live_;
  std::string trace_, cluster_ = "16x8", policy_ = "fifo";
  TraceOptions trace_options_;
  int every_ = 0;  // 0: chosen by the number of jobs.
  int drives_ = 9;
  int limit_h_ = 24;
  bool json_ = false;
  bool live_record_ = false;
};

}  // namespace muster
