#pragma once

// The calls of the API. Each struct declares one call: its properties (CallInfo) and arguments.
// Call is the variant of all of them; a Service dispatches it with std::visit. Calls about the past
// are in past_calls.h, and those about callers in access_calls.h.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "api/port/access_calls.h"
#include "api/port/call_info.h"
#include "api/port/past_calls.h"
#include "engine/model/job_request.h"

namespace muster {

// In all calls, `job` is an id, a prefix of an id, or "12_3" for a job of an array. The manager
// resolves it. Calls that change a job accept only full ids, or "12_*" for all jobs of an array.
struct SubmitJob {
  static constexpr CallInfo kInfo{.name = "submitJob", .writes = true};
  JobRequest request;
  std::string key;  // Idempotency-Key; empty: none.
};
inline constexpr std::array<std::string_view, 12> kJobSorts = {
    "id",       "name",      "user",    "tenant", "state", "gpus",
    "priority", "submitted", "started", "ended",  "ran",   "position"};
struct ListJobs {
  static constexpr CallInfo kInfo{.name = "listJobs"};
  std::string state;   // Comma-separated states, "active", "ended" or "all".
  std::string user;    // Empty: all users.
  std::string tenant;  // Empty: all tenants.
  std::size_t limit = 50;
  std::size_t offset = 0;
  std::uint64_t array = 0;  // Only jobs of this array; 0: all jobs.
  std::string search = {};  // Substring of name, user or tenant, or a prefix of an id.
  std::string sort = {};    // A key from kJobSorts; empty: queue order.
  bool descending = false;
  bool counts = false;  // Adds the number of jobs in each state.
};
struct ShowJob {
  static constexpr CallInfo kInfo{.name = "showJob"};
  std::string job;
  bool show_env = false;  // With the values of environment variables; for the job's owner only.
};
struct ExplainJob {  // Reasons for the job's state, predicted start, ways to start sooner.
  static constexpr CallInfo kInfo{.name = "explainJob"};
  std::string job;
};
struct PlanJob {  // Predicts the start of a job without submitting it.
  static constexpr CallInfo kInfo{.name = "planJob"};
  JobRequest request;
};
struct CancelJob {
  static constexpr CallInfo kInfo{.name = "cancelJob", .writes = true};
  std::string job;
};
struct HoldJob {
  static constexpr CallInfo kInfo{.name = "holdJob", .writes = true};
  std::string job;
};
struct ReleaseJob {
  static constexpr CallInfo kInfo{.name = "releaseJob", .writes = true};
  std::string job;
};
struct FindLog {  // Answered with Answer::log.
  static constexpr CallInfo kInfo{.name = "readLog"};
  std::string job;
  std::optional<std::uint32_t> lease;  // Number of the lease, from 1 (default: the latest).
  std::uint32_t node = 0;              // Index of the node among the lease's nodes.
};
struct ListNodes {
  static constexpr CallInfo kInfo{.name = "listNodes"};
};
struct DrainNode {
  static constexpr CallInfo kInfo{.name = "drainNode", .writes = true};
  std::string node;
  // End of the maintenance in seconds since 1970 (default: it has no planned end).
  std::optional<std::int64_t> until = {};
};
struct UndrainNode {
  static constexpr CallInfo kInfo{.name = "undrainNode", .writes = true};
  std::string node;
};
struct ListTenants {
  static constexpr CallInfo kInfo{.name = "listTenants"};
};
struct ListProfiles {  // Measured speeds of jobs.
  static constexpr CallInfo kInfo{.name = "listProfiles"};
};
struct KeepProfile {  // Stores a profile for the caller's jobs of one name and command.
  static constexpr CallInfo kInfo{.name = "keepProfile", .writes = true};
  std::string body;  // JSON, see live/config/learned_profiles.h.
};
struct ListEvents {  // Past events, oldest first. Service::watch() delivers later events.
  static constexpr CallInfo kInfo{.name = "listEvents"};
  std::uint64_t after = 0;  // Only events with a greater number.
  std::string job;          // Empty: events of all jobs.
  std::size_t limit = 1000;
};
struct ShowMe {  // The caller, and the dashboard screens that this server offers.
  static constexpr CallInfo kInfo{.name = "showMe", .from_files = true};
};
struct ShowWholeJob {  // A job and its events, progress and speed curve.
  static constexpr CallInfo kInfo{.name = "showJobPage"};
  std::string job;
};
struct RetryJob {  // Submits the request of a finished job again.
  static constexpr CallInfo kInfo{.name = "retryJob", .writes = true};
  std::string job;
};
struct ShowFleet {  // Every GPU with its job, or the reason why it is idle.
  static constexpr CallInfo kInfo{.name = "showFleet"};
};
struct ListParts {  // Available policies, mechanisms, placements and presets.
  static constexpr CallInfo kInfo{.name = "listParts"};
};
struct ShowHealth {  // For /healthz; needs no authentication.
  static constexpr CallInfo kInfo{.name = "showHealth", .from_files = true};
};
struct ShowMetrics {  // The answer is in the Prometheus text format.
  static constexpr CallInfo kInfo{.name = "showMetrics", .from_files = true};
};

using Call =
    std::variant<SubmitJob, PlanJob, ListJobs, ShowJob, ExplainJob, CancelJob, HoldJob, ReleaseJob,
                 FindLog, ListNodes, DrainNode, UndrainNode, ListTenants, ListProfiles, KeepProfile,
                 ListEvents, ShowHealth, ShowMetrics, ShowMe, ShowTimeline, ShowUsage, ListRuns,
                 CompareRuns, ShowPage, ShowWhatIf, ShowFleet, ShowWholeJob, RetryJob, ListParts,
                 ListAudit, GiveTicket, LogOut>;

inline const CallInfo& info_of(const Call& call) {
  return std::visit([](const auto& each) -> const CallInfo& { return each.kInfo; }, call);
}

}  // namespace muster
