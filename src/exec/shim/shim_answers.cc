// Responses on the control socket of a shim, and its exit report.

#include <algorithm>

#include <nlohmann/json.hpp>

#include "base/os/processes.h"
#include "exec/shim/shim.h"

namespace muster {
namespace {

std::string no(const std::string& why) {
  return nlohmann::ordered_json({{"ok", false}, {"error", why}})
      .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

constexpr const char* kYes = R"({"ok":true})";

}  // namespace

std::string Shim::answer(std::string_view line) {
  const auto read = read_control(line);
  if (!read.ok()) return no(read.error().message);
  const Request& request = read.value();
  switch (request.what) {
    case Request::Do::kStatus:
      return status_json();
    case Request::Do::kResize: {
      const auto refusal = resize(request.limits);
      return refusal ? no(refusal->message) : kYes;
    }
    case Request::Do::kStop:
      end_with(EndCause::kStopped, "stopped on request");
      stop(request.grace_ms.value_or(spec_.grace_ms));
      return kYes;
    case Request::Do::kKill:
      end_with(EndCause::kKilled, "killed on request");
      kill_everything();
      return kYes;
  }
  return no("unknown request");
}

MaybeError Shim::resize(Limits limits) {
  if (cause_) return Error{"the lease is ending: " + words_, ErrorCode::kConflict};
  if (auto refusal = processes_->resize(limits)) return refusal;
  limits_ = limits;
  return std::nullopt;
}

// Each order is complete, so parts of it may have been executed before.
void Shim::obey(const RemoteOrder& order) {
  if (order.kill) {
    end_with(EndCause::kKilled, "killed on request");
    kill_everything();
  } else if (order.stop_ms) {
    end_with(EndCause::kStopped, "stopped on request");
    stop(*order.stop_ms);
  } else if (order.limits && resize(*order.limits)) {
    // A memory limit below the usage fails as a whole. Change only the CPU limit.
    resize({.cpu_milli = order.limits->cpu_milli, .mem_mib = limits_.mem_mib});
  }
}

std::string Shim::status_json() const {
  const ProcessUse use = processes_->use();
  const int running = ran_ - static_cast<int>(ends_.size());
  const char* state = ranks_over() ? "sweeping" : cause_ ? "ending" : "running";
  return nlohmann::ordered_json({{"ok", true},
                                 {"state", state},
                                 {"ranks_running", running},
                                 {"cpu_milli", limits_.cpu_milli},
                                 {"mem_mib", limits_.mem_mib},
                                 {"cpu_s", use.cpu_s},
                                 {"mem_bytes", use.mem_bytes},
                                 {"log_lost_bytes", output_->log().lost_bytes()},
                                 {"log_trouble", output_->log().trouble()}})
      .dump();
}

ExitReport Shim::report() {
  ExitReport report;
  report.token = spec_.token;
  report.cause = cause_.value_or(EndCause::kFinished);
  report.forced = forced_;
  report.error_number = error_number_;
  report.words = words_;
  report.ranks = ends_;
  std::sort(report.ranks.begin(), report.ranks.end(),
            [](const RankEnd& a, const RankEnd& b) { return a.rank < b.rank; });
  report.start = start_;
  report.end = now_on_both_clocks();
  processes_->account(report);
  report.log_lost_bytes = output_->log().lost_bytes();
  report.log_trouble = output_->log().trouble();
  return report;
}

}  // namespace muster
