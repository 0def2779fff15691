// Responses on the control socket of a shim, and its exit report.

#include <sys/resource.h>

#include <algorithm>

#include <nlohmann/json.hpp>

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
  if (group_) {
    if (auto refusal = group_->resize(limits)) return refusal;
    limits_ = limits;
    return std::nullopt;
  }
  const std::vector<pid_t> tree = ranks_.all();
  const std::int64_t held = tree_pss_bytes(tree);
  if (held > limits.mem_mib << 20) {
    return Error{"the job uses " + std::to_string(held >> 20) + " MiB", ErrorCode::kConflict};
  }
  limits_ = limits;
  throttle_->set_rate(limits.cpu_milli);
  if (data_limit() == 0) return std::nullopt;
  const rlimit data{static_cast<rlim_t>(data_limit()), RLIM_INFINITY};
  for (const pid_t pid : tree) ::prlimit(pid, RLIMIT_DATA, &data, nullptr);
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
  const TreeUse use = tree_use(ranks_.all());
  const char* state = ranks_.running() == 0 ? "sweeping" : cause_ ? "ending" : "running";
  return nlohmann::ordered_json({{"ok", true},
                                 {"state", state},
                                 {"ranks_running", ranks_.running()},
                                 {"cpu_milli", limits_.cpu_milli},
                                 {"mem_mib", limits_.mem_mib},
                                 {"cpu_s", ranks_.cpu_s(use)},
                                 {"mem_bytes", group_ ? group_->memory_bytes() : use.rss_bytes},
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
  if (group_) mem_peak_bytes_ = std::max(mem_peak_bytes_, group_->memory_peak_bytes());
  report.mem_peak_mib = mem_peak_bytes_ >> 20;
  ranks_.account(report);
  report.log_lost_bytes = output_->log().lost_bytes();
  report.log_trouble = output_->log().trouble();
  return report;
}

}  // namespace muster
