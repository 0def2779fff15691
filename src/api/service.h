#pragma once

// What the HTTP server asks of the manager: the port between the two. The server knows sockets,
// bytes, limits and who is calling; the manager knows jobs, and who may do what to them. A call may
// come from any thread; its answer comes later, on a thread of the manager's.

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/time.h"
#include "request/job_request.h"

namespace muster {

// How long the server waits for an answer.
inline constexpr Duration kAnswerTime = Duration::seconds(60);

// Established by the server: by the socket's peer credentials, by a token or by a ticket.
struct Caller {
  std::string user;
  bool is_operator = false;
};

// `job` is an id or a beginning of one (or of "12_3", a job of an array); the manager resolves it.
// What changes a job takes no beginnings, but "12_*", all of an array.
struct SubmitJob {
  JobRequest request;
  std::string key;  // Idempotency-Key; empty: none.
};
struct ListJobs {
  std::string state;  // States with commas, "active" (not over), "ended" or "all".
  std::string user;   // Empty: whoever's.
  std::string tenant;
  std::size_t limit = 50;
  std::size_t offset = 0;
  std::uint64_t array = 0;  // Only jobs of this array; 0: whichever.
  std::string search = {};  // Part of name, user or tenant, or the beginning of an id.
  std::string sort = {};    // One of kJobSorts; empty: as the queue goes.
  bool descending = false;
  bool counts = false;  // With how many there are in each state.
};
inline constexpr std::array<std::string_view, 12> kJobSorts = {
    "id",       "name",      "user",    "tenant", "state", "gpus",
    "priority", "submitted", "started", "ended",  "ran",   "position"};
struct ShowJob {
  std::string job;
};
struct ExplainJob {  // Why it waits, runs or ended so; when it will start; what would be sooner.
  std::string job;
};
struct PlanJob {  // What would become of such a job, which is not submitted.
  JobRequest request;
};
struct CancelJob {
  std::string job;
};
struct HoldJob {
  std::string job;
};
struct ReleaseJob {
  std::string job;
};
struct FindLog {  // Answered with Answer::log.
  std::string job;
  std::optional<std::uint32_t> lease;  // Which of its leases, from 1; the latest if none.
  std::uint32_t node = 0;              // Which of that lease's servers.
};
struct ListNodes {};
struct DrainNode {
  std::string node;
};
struct UndrainNode {
  std::string node;
};
struct ListTenants {};
struct ListProfiles {};  // What is known of jobs' speeds.
struct KeepProfile {     // What somebody measured of own jobs of some name and command.
  std::string body;      // JSON, see live/learnt.h.
};
struct ListEvents {  // Those there are, oldest first; later ones come through Service::watch.
  std::uint64_t after = 0;  // Only with greater numbers.
  std::string job;          // Empty: of all.
  std::size_t limit = 1000;
};
struct ShowMe {};      // Who is calling, and what this server has for the dashboard.
struct ShowWholeJob {  // All there is to see of one job.
  std::string job;
};
struct RetryJob {  // Submits the request of a job that is over again.
  std::string job;
};
struct ShowFleet {};    // Every GPU: who has it, or why nobody does.
struct ShowHealth {};   // For /healthz; needs no rights.
struct ShowMetrics {};  // Answered with the text of the exposition format.

// The past. Times are seconds since 1970, or since the run's beginning; the whole if none is given.
struct ShowTimeline {              // Who held which GPU when.
  std::optional<std::size_t> run;  // Of those opened; the manager has only its own.
  std::optional<double> from, to;
};
struct ShowUsage {  // Who held how much of whose quota.
  std::optional<std::size_t> run;
  std::optional<double> from, to;
  std::size_t points = 120;
};
struct ListRuns {};   // What was opened.
struct CompareRuns {  // Side by side.
  std::vector<std::size_t> runs;
  std::size_t baseline = 0;  // One of them.
};
struct ShowPage {
  std::size_t key = 0;
};
struct ShowWhatIf {  // The manager's own past under another scheduler; empty: as it has it.
  std::string policy, mechanism, placement;
  std::optional<double> since;
};

using Call =
    std::variant<SubmitJob, PlanJob, ListJobs, ShowJob, ExplainJob, CancelJob, HoldJob, ReleaseJob,
                 FindLog, ListNodes, DrainNode, UndrainNode, ListTenants, ListProfiles, KeepProfile,
                 ListEvents, ShowHealth, ShowMetrics, ShowMe, ShowTimeline, ShowUsage, ListRuns,
                 CompareRuns, ShowPage, ShowWhatIf, ShowFleet, ShowWholeJob, RetryJob>;

// Where a lease's output is: `directory`/out.log, and older parts in out.log.1, .2...
struct LogPlace {
  std::string directory;
  std::uint64_t job = 0;
  std::uint32_t lease = 0;
  bool over = false;  // Nothing will be added any more.
};

struct Answer {
  int status = 200;  // As HTTP has them.
  std::string body;  // JSON; of an error {"error": "one line"}.
  std::optional<LogPlace> log;
};

// One thing that happened, for people who follow. `json` is one line.
struct Note {
  std::uint64_t number = 0;  // Ascending, without end.
  std::uint64_t job = 0;     // 0: not about a job.
  std::string user;          // Whose job; only they and operators may see it. Else everybody may.
  bool last = false;         // The job is over: nothing about it follows.
  std::string json;
  std::string full = {};  // The same with others' jobs named, for operators; empty: nothing more.

  const std::string& for_caller(const Caller& caller) const {
    return caller.is_operator && !full.empty() ? full : json;
  }
};
using Notes = std::shared_ptr<const std::vector<Note>>;

class Service {
 public:
  virtual ~Service() = default;

  // `done` is called exactly once, unless the manager ends first.
  virtual void call(Caller caller, Call call, std::function<void(Answer)> done) = 0;

  // From now on `news` hears of everything that happens, in order, on the manager's thread; it must
  // be quick. One watcher at a time; an empty function ends it.
  virtual void watch(std::function<void(Notes)> news) = 0;
};

}  // namespace muster
