#pragma once

// The write calls. A command checks the request and the caller's rights, and adds inputs for the
// roster's next step. The manager answers with the outcome after the commit of that step. A command
// that returns an error has added nothing.
//
// Threads: the manager thread owns it.

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "api/port/service.h"
#include "base/types/result.h"
#include "live/lease/speed_learning.h"
#include "live/query/read_context.h"
#include "live/store/journal.h"
#include "live/views/command_outcome.h"

namespace muster {

// Maximum size of the inputs of one journal entry, and so of one input. The journal accepts 1 MiB.
inline constexpr std::size_t kMaxEntryBulk = 900U << 10U;

struct QueueLimits {
  std::size_t jobs = 100'000;  // Active jobs of all users.
  std::size_t per_user = 50'000;
};

class JobCommands {
 public:
  // Counts the active jobs of the context's roster.
  JobCommands(const ReadContext& context, Journal& journal, SpeedLearning& speeds,
              QueueLimits limits);

  using Inputs = std::vector<Input>;
  using Outcome = Result<CommandOutcome>;
  Outcome on(const Caller& caller, SubmitJob& call, Inputs& inputs);
  Outcome on(const Caller& caller, const RetryJob& call, Inputs& inputs);
  Outcome on(const Caller& caller, const CancelJob& call, Inputs& inputs);
  Outcome on(const Caller& caller, const HoldJob& call, Inputs& inputs);
  Outcome on(const Caller& caller, const ReleaseJob& call, Inputs& inputs);
  Outcome on(const Caller& caller, const DrainNode& call, Inputs& inputs);
  Outcome on(const Caller& caller, const UndrainNode& call, Inputs& inputs);
  // The profile takes effect when the manager schedules with it; answer then.
  Outcome on(const Caller& caller, const KeepProfile& call, Inputs& inputs);
  Outcome on(const Caller& caller, const GiveTicket& call, Inputs& inputs);
  Outcome on(const Caller& caller, const LogOut& call, Inputs& inputs);

  void job_ended(const LiveJob& job);  // It no longer counts towards the limit of its user.

 private:
  enum class Change : std::uint8_t { kCancel, kHold, kRelease };

  // Returns the ids of the new jobs. The caller has checked that the request can run on the
  // cluster.
  Result<std::vector<LiveId>> take_in(const JobOwner& owner, JobRequest request,
                                      const std::string& key, Inputs& inputs);
  MaybeError check_key_owner(const Caller& caller, LiveId job, const Inputs& inputs);
  std::vector<LiveId> ids_from(LiveId first, const Inputs& inputs);
  MaybeError resolve_dependencies(const Caller& caller, JobRequest& request, const Inputs& inputs);
  Result<JobRequest> request_of(LiveId id);
  Outcome change(const Caller& caller, const std::string& text, Change change, Inputs& inputs);
  Outcome change_array(const Caller& caller, const std::string& text, Change change,
                       Inputs& inputs);
  Result<ChangedJob> change_job(const Caller& caller, const LiveJob& job, Change change,
                                Inputs& inputs);
  Outcome change_node(const Caller& caller, const DrainInput& input,
                      std::optional<std::int64_t> until, Inputs& inputs);

  ReadContext context_;
  Journal& journal_;
  SpeedLearning& speeds_;
  QueueLimits limits_;
  std::map<std::string, std::size_t> active_;  // Active jobs by user; see user_key().
};

}  // namespace muster
