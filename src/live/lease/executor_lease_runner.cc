#include "live/lease/executor_lease_runner.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "base/types/check.h"

namespace muster {

namespace {

using std::chrono::milliseconds;

constexpr milliseconds kAgain{250};
constexpr milliseconds kStartPatience{60'000};
constexpr milliseconds kKillAfterGrace{5'000};

milliseconds in_ms(Duration duration) { return milliseconds(duration.us() / 1000); }

}  // namespace

ExecutorLeaseRunner::ExecutorLeaseRunner(std::unique_ptr<Executor> executor,
                                         FailureDiagnoser doctor, News news,
                                         std::function<void(std::vector<NodeDescription>)> nodes,
                                         std::function<void(std::string)> trouble,
                                         Duration overtime)
    : executor_(std::move(executor)),
      doctor_(std::move(doctor)),
      news_(std::move(news)),
      nodes_(std::move(nodes)),
      trouble_(std::move(trouble)),
      overtime_(overtime),
      wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  MUSTER_CHECK(wake_.open());
  thread_ = std::thread([this] { run(); });
}

ExecutorLeaseRunner::~ExecutorLeaseRunner() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  const std::uint64_t one = 1;
  MUSTER_CHECK(::write(wake_.get(), &one, sizeof one) == sizeof one);
  thread_.join();
}

void ExecutorLeaseRunner::order(std::vector<LeaseOrder> orders) {
  if (orders.empty()) return;
  {
    const std::lock_guard lock(mutex_);
    for (LeaseOrder& each : orders) inbox_.push_back(std::move(each));
  }
  const std::uint64_t one = 1;
  MUSTER_CHECK(::write(wake_.get(), &one, sizeof one) == sizeof one);
}

void ExecutorLeaseRunner::stop_unknown_leases(std::vector<Name> known) {
  {
    const std::lock_guard lock(mutex_);
    known_ = std::move(known);
  }
  const std::uint64_t one = 1;
  MUSTER_CHECK(::write(wake_.get(), &one, sizeof one) == sizeof one);
}

void ExecutorLeaseRunner::run() {
  while (true) {
    std::deque<LeaseOrder> inbox;
    std::optional<std::vector<Name>> known;
    bool look = false;
    {
      const std::lock_guard lock(mutex_);
      if (ending_ && inbox_.empty()) return;  // Orders that were given are executed first.
      inbox.swap(inbox_);
      known.swap(known_);
      look = std::exchange(use_wanted_, false);
    }
    if (known) end_unknown_leases(*known);
    for (LeaseOrder& each : inbox) take(std::move(each));
    work();
    for (const ExecEvent& event : executor_->poll()) receive(event);
    report_changed_nodes();
    for (NodeTestInput& each : tests_.finished()) told_.push_back(std::move(each));
    for (const Name& name : std::exchange(done_, {})) held_.erase(name);
    if (!told_.empty()) news_(std::exchange(told_, {}));
    if (look) look_at_use();
    pollfd fds[] = {{wake_.get(), POLLIN, 0}, {executor_->fd(), POLLIN, 0}};
    ::poll(fds, 2, wait_ms());
    std::uint64_t count = 0;
    [[maybe_unused]] const ssize_t got = ::read(wake_.get(), &count, sizeof count);
  }
}

void ExecutorLeaseRunner::take(LeaseOrder order) {
  const Name name{order.id, order.lease};
  const Clock::time_point now = Clock::now();
  const auto found = held_.find(name);
  switch (order.kind) {
    case LeaseOrder::Kind::kStart:
    case LeaseOrder::Kind::kAdopt: {
      if (found != held_.end()) return;
      Held& held = held_[name];
      for (LaunchSpec& spec : order.specs) {
        Part part;
        part.spec = std::move(spec);
        held.parts.push_back(std::move(part));
      }
      held.adopt = order.kind == LeaseOrder::Kind::kAdopt;
      held.was_up = order.was_up;
      held.grace = order.grace;
      held.start_at = now;
      held.give_up_at = now + kStartPatience;
      for (std::size_t i = 0; i < order.limits.size() && i < held.parts.size(); ++i) {
        held.parts[i].limits = order.limits[i];
      }
      if (!order.stopping) return;
      held.stopping = true;
      held.stop_at = now;
      held.kill_at = now + kKillAfterGrace + in_ms(order.grace.value_or(Duration()));
      return;
    }
    case LeaseOrder::Kind::kStop:
      if (found == held_.end() || found->second.stopping) return;
      found->second.stopping = true;
      found->second.grace = order.grace;
      found->second.stop_at = now;
      found->second.kill_at = now + kKillAfterGrace + in_ms(order.grace.value_or(Duration()));
      return;
    case LeaseOrder::Kind::kResize:
      if (found == held_.end()) return;
      for (std::size_t i = 0; i < order.limits.size() && i < found->second.parts.size(); ++i) {
        found->second.parts[i].limits = order.limits[i];
      }
      found->second.start_at = std::min(found->second.start_at, now);
      return;
    case LeaseOrder::Kind::kForget:
      return forget(name);
    case LeaseOrder::Kind::kTest:
      return tests_.begin(order.node, executor_->command_on(order.node, order.test));
  }
}

void ExecutorLeaseRunner::work() {
  const Clock::time_point now = Clock::now();
  for (auto& [name, held] : held_) {
    if (held.adopt && held.start_at <= now) try_take_up(name, held);
    if (!held.adopt && held.start_at <= now) {
      try_start(name, held);
      try_resize(name, held);
    }
    if (held.stopping && held.stop_at <= now) try_stop(name, held);
    enforce_limit(held);
  }
}

void ExecutorLeaseRunner::try_start(const Name& name, Held& held) {
  std::vector<LaunchSpec> specs;
  bool due = false;
  for (Part& part : held.parts) {
    specs.push_back(part.spec);
    if (part.ordered || part.over) continue;
    LeaseOverInput over;
    if (held.stopping) {  // It has not started and must not start now.
      over.fate = LeaseResult::kStopped;
      part.over = over;
    } else if (const MaybeError refusal = check_spec(part.spec)) {
      over.fate = LeaseResult::kFailed;
      over.reason = "incorrect-inputs";
      over.words = refusal->message;
      part.over = over;
    } else {
      due = true;
    }
  }
  if (due) order_start(held, specs);
  settle(name, held);
}

void ExecutorLeaseRunner::order_start(Held& held, const std::vector<LaunchSpec>& specs) {
  const std::vector<MaybeError> refusals = executor_->start(specs);
  for (std::size_t i = 0; i < held.parts.size(); ++i) {
    Part& part = held.parts[i];
    if (part.ordered || part.over) continue;
    if (!refusals[i]) {
      part.ordered = true;
      continue;
    }
    // The machine's fault, not the job's: a full disk, too many processes.
    if (Clock::now() < held.give_up_at) {
      trouble_(lease_name(part.spec) + ": start failed, will retry: " + refusals[i]->message);
      held.start_at = Clock::now() + 4 * kAgain;
      return;
    }
    part.over = LeaseOverInput{};
    part.over->fate = LeaseResult::kFailed;
    part.over->reason = "no-signature";
    part.over->words = "start failed: " + refusals[i]->message;
  }
}

void ExecutorLeaseRunner::try_take_up(const Name& name, Held& held) {
  held.adopt = false;
  std::vector<LaunchSpec> specs;
  for (const Part& part : held.parts) specs.push_back(part.spec);
  const std::vector<Executor::AdoptResult> taken =
      executor_->adopt(specs, held.was_up, held.stopping);
  for (std::size_t i = 0; i < held.parts.size(); ++i) {
    Part& part = held.parts[i];
    if (part.over) continue;
    part.spec = std::move(specs[i]);
    switch (taken[i]) {
      case Executor::AdoptResult::kOurs:
        part.ordered = true;
        break;
      case Executor::AdoptResult::kNever:
        break;
      case Executor::AdoptResult::kGone:
        part.over = LeaseOverInput{};
        part.over->fate = LeaseResult::kLost;
        part.over->words = "its lease record does not exist";
        break;
      case Executor::AdoptResult::kAskAgain:
        held.adopt = true;
        held.start_at = Clock::now() + kAgain;
        break;
    }
  }
  settle(name, held);
}

void ExecutorLeaseRunner::try_stop(const Name& name, Held& held) {
  const Clock::time_point now = Clock::now();
  held.stop_at = now + kAgain;
  bool told = true;
  for (const Part& part : held.parts) {
    if (!part.ordered || part.over) continue;
    const std::string lease = lease_name(part.spec);
    if (now >= held.kill_at) {
      trouble_(lease + ": did not stop in time; killing it");
      if (const MaybeError refusal = executor_->kill(lease)) trouble_(refusal->message);
      held.stop_at = now + 20 * kAgain;
      continue;
    }
    const std::optional<std::int64_t> grace =
        held.grace ? std::optional(held.grace->us() / 1000) : std::nullopt;
    if (executor_->stop(lease, grace)) told = false;  // Not listening yet, or frozen: retry soon.
  }
  if (told && now < held.kill_at) held.stop_at = held.kill_at;
  settle(name, held);
}

void ExecutorLeaseRunner::try_resize(const Name& name, Held& held) {
  for (Part& part : held.parts) {
    if (!part.limits || !part.up || part.over) continue;
    const Result<std::string> done = executor_->resize(lease_name(part.spec), *part.limits);
    if (!done.ok()) {
      held.start_at = Clock::now() + 4 * kAgain;
      continue;
    }
    part.limits.reset();
    if (done.value().empty()) continue;
    trouble_(lease_name(part.spec) + ": " + done.value());
    tell_note(name, done.value());
  }
}

void ExecutorLeaseRunner::receive(const ExecEvent& event) {
  const Name name{static_cast<LiveId>(event.job), static_cast<std::uint32_t>(event.epoch)};
  const auto found = held_.find(name);
  if (found == held_.end()) return;
  Held& held = found->second;
  const auto rank = static_cast<std::size_t>(event.node_rank);
  if (rank >= held.parts.size()) return;
  Part& part = held.parts[rank];
  switch (event.kind) {
    case ExecEvent::Kind::kStarted:
      part.up = true;
      begin_limit(part, event.started);
      if (event.started) {
        held.isolation = event.started->isolation;
        if (!event.started->isolation_why.empty()) {
          held.isolation += ": " + event.started->isolation_why.substr(0, 500);
        }
      }
      held.start_at = std::min(held.start_at, Clock::now());
      break;
    case ExecEvent::Kind::kEnded:
      // It may have started and ended while no daemon was running.
      part.up = part.up || event.ended->cause != EndCause::kCouldNotStart;
      part.over = end_of(held, over_of(*event.ended));
      part.report = *event.ended;
      break;
    case ExecEvent::Kind::kLost:
      part.over = LeaseOverInput{};
      part.over->fate = LeaseResult::kLost;
      part.over->words = event.why;
      part.over = end_of(held, *part.over);
      break;
    case ExecEvent::Kind::kNote:
      return tell_note(name, event.why);
  }
  settle(name, held);
}

// Reports new states of the lease, and stops the rest of a gang that has lost a member.
void ExecutorLeaseRunner::settle(const Name& name, Held& held) {
  const auto is_over = [](const Part& part) { return part.over.has_value(); };
  const bool all_up =
      std::all_of(held.parts.begin(), held.parts.end(), [](const Part& part) { return part.up; });
  if (all_up && !std::exchange(held.told_up, held.told_up || all_up)) {
    told_.push_back(LeaseUpInput{name.first, name.second, held.isolation});
  }
  if (!std::all_of(held.parts.begin(), held.parts.end(), is_over)) {
    const bool broken = std::any_of(held.parts.begin(), held.parts.end(), [&](const Part& part) {
      return part.over && part.over->fate != LeaseResult::kFinished;
    });
    if (broken && !held.stopping) {
      held.stopping = true;
      held.stop_at = Clock::now();
      held.kill_at = held.stop_at + kKillAfterGrace + in_ms(held.grace.value_or(Duration()));
    }
    return;
  }
  if (std::find(done_.begin(), done_.end(), name) != done_.end()) return;
  std::vector<LeaseOverInput> ends;
  for (const Part& part : held.parts) ends.push_back(*part.over);
  LeaseOverInput whole = merge_ends(ends);
  if (whole.fate == LeaseResult::kFailed) {
    std::vector<FailureDiagnoser::Part> parts;
    for (const Part& part : held.parts) parts.push_back({lease_name(part.spec), part.report});
    if (std::optional<FailureDiagnoser::Finding> found = doctor_.examine(parts)) {
      whole.reason = std::move(found->reason);
      whole.words = std::move(found->words);
      whole.proof = std::move(found->proof);
    }
  }
  whole.id = name.first;
  whole.lease = name.second;
  told_.push_back(whole);
  done_.push_back(name);
}

void ExecutorLeaseRunner::end_unknown_leases(const std::vector<Name>& known) {
  std::vector<Executor::Name> names;
  for (const auto& [id, lease] : known) names.emplace_back(id, lease);
  for (const std::string& line : executor_->end_unknown_leases(names)) trouble_(line);
}

void ExecutorLeaseRunner::tell_note(const Name& name, const std::string& words) {
  told_.push_back(LeaseNoteInput{name.first, name.second, words});
}

void ExecutorLeaseRunner::report_changed_nodes() {
  // Report the list of nodes first, so that the updates refer to known nodes.
  if (auto changed = executor_->changed_nodes()) nodes_(std::move(*changed));
  for (NodeUpdate& news : executor_->nodes()) {
    NodeStateInput input;
    input.node = std::move(news.name);
    input.usable = news.usable;
    input.why = std::move(news.why);
    input.taken = {news.gpus, news.cpu_milli, news.mem_mib, 0};
    told_.push_back(std::move(input));
  }
  for (MeasuredFault& fault : executor_->faults()) {
    told_.push_back(NodeEvidenceInput{std::move(fault.node), std::move(fault.what)});
  }
  for (const std::string& line : executor_->troubles()) trouble_(line);
}

void ExecutorLeaseRunner::forget(const Name& name) {
  for (int node = 0;; ++node) {
    LaunchSpec spec;
    spec.job = static_cast<std::int64_t>(name.first);
    spec.epoch = name.second;
    spec.node_rank = node;
    if (!executor_->forget(lease_name(spec))) return;
  }
}

}  // namespace muster
