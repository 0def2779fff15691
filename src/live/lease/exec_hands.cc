#include "live/lease/exec_hands.h"

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

ExecHands::ExecHands(std::unique_ptr<Executor> executor, Doctor doctor, News news,
                     std::function<void(std::vector<ServerFacts>)> servers,
                     std::function<void(std::string)> trouble)
    : executor_(std::move(executor)),
      doctor_(std::move(doctor)),
      news_(std::move(news)),
      servers_(std::move(servers)),
      trouble_(std::move(trouble)),
      wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  MUSTER_CHECK(wake_.open());
  thread_ = std::thread([this] { run(); });
}

ExecHands::~ExecHands() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  const std::uint64_t one = 1;
  MUSTER_CHECK(::write(wake_.get(), &one, sizeof one) == sizeof one);
  thread_.join();
}

void ExecHands::order(std::vector<HandOrder> orders) {
  if (orders.empty()) return;
  {
    const std::lock_guard lock(mutex_);
    for (HandOrder& each : orders) inbox_.push_back(std::move(each));
  }
  const std::uint64_t one = 1;
  MUSTER_CHECK(::write(wake_.get(), &one, sizeof one) == sizeof one);
}

void ExecHands::stop_strangers(std::vector<Name> known) {
  {
    const std::lock_guard lock(mutex_);
    known_ = std::move(known);
  }
  const std::uint64_t one = 1;
  MUSTER_CHECK(::write(wake_.get(), &one, sizeof one) == sizeof one);
}

void ExecHands::run() {
  while (true) {
    std::deque<HandOrder> inbox;
    std::optional<std::vector<Name>> known;
    bool look = false;
    {
      const std::lock_guard lock(mutex_);
      if (ending_ && inbox_.empty()) return;  // What was ordered is done before.
      inbox.swap(inbox_);
      known.swap(known_);
      look = std::exchange(use_wanted_, false);
    }
    if (known) greet_strangers(*known);
    for (HandOrder& each : inbox) take(std::move(each));
    work();
    for (const ExecEvent& event : executor_->poll()) hear(event);
    hear_of_servers();
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

int ExecHands::wait_ms() const {
  Clock::time_point next = Clock::time_point::max();
  for (const auto& [name, held] : held_) {
    if (held.stopping) next = std::min(next, held.stop_at);
    for (const Part& part : held.parts) {
      if (part.over) continue;
      if (!part.ordered || held.take_up) next = std::min(next, held.start_at);
      if (part.limits && part.up) next = std::min(next, held.start_at);
    }
  }
  if (tests_.busy()) next = std::min(next, Clock::now() + kAgain);
  if (next == Clock::time_point::max()) return -1;
  const auto left = std::chrono::duration_cast<milliseconds>(next - Clock::now()).count() + 1;
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, 10'000));
}

void ExecHands::take(HandOrder order) {
  const Name name{order.id, order.lease};
  const Clock::time_point now = Clock::now();
  const auto found = held_.find(name);
  switch (order.kind) {
    case HandOrder::Kind::kStart:
    case HandOrder::Kind::kTakeUp: {
      if (found != held_.end()) return;
      Held& held = held_[name];
      for (LaunchSpec& spec : order.specs) {
        Part part;
        part.spec = std::move(spec);
        held.parts.push_back(std::move(part));
      }
      held.take_up = order.kind == HandOrder::Kind::kTakeUp;
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
    case HandOrder::Kind::kStop:
      if (found == held_.end() || found->second.stopping) return;
      found->second.stopping = true;
      found->second.grace = order.grace;
      found->second.stop_at = now;
      found->second.kill_at = now + kKillAfterGrace + in_ms(order.grace.value_or(Duration()));
      return;
    case HandOrder::Kind::kResize:
      if (found == held_.end()) return;
      for (std::size_t i = 0; i < order.limits.size() && i < found->second.parts.size(); ++i) {
        found->second.parts[i].limits = order.limits[i];
      }
      found->second.start_at = std::min(found->second.start_at, now);
      return;
    case HandOrder::Kind::kForget:
      return forget(name);
    case HandOrder::Kind::kTest:
      return tests_.begin(order.node, executor_->command_on(order.node, order.test));
  }
}

void ExecHands::work() {
  const Clock::time_point now = Clock::now();
  for (auto& [name, held] : held_) {
    if (held.take_up && held.start_at <= now) try_take_up(name, held);
    if (!held.take_up && held.start_at <= now) {
      try_start(name, held);
      try_resize(name, held);
    }
    if (held.stopping && held.stop_at <= now) try_stop(name, held);
  }
}

void ExecHands::try_start(const Name& name, Held& held) {
  std::vector<LaunchSpec> specs;
  bool due = false;
  for (Part& part : held.parts) {
    specs.push_back(part.spec);
    if (part.ordered || part.over) continue;
    LeaseOverInput over;
    if (held.stopping) {  // It never began, and never will.
      over.fate = LeaseFate::kStopped;
      part.over = over;
    } else if (const Refusal refusal = check_spec(part.spec)) {
      over.fate = LeaseFate::kFailed;
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

void ExecHands::order_start(Held& held, const std::vector<LaunchSpec>& specs) {
  const std::vector<Refusal> refusals = executor_->start(specs);
  for (std::size_t i = 0; i < held.parts.size(); ++i) {
    Part& part = held.parts[i];
    if (part.ordered || part.over) continue;
    if (!refusals[i]) {
      part.ordered = true;
      continue;
    }
    // The machine's trouble, not the job's: a full disk, no more processes.
    if (Clock::now() < held.give_up_at) {
      trouble_(lease_name(part.spec) + ": cannot be started yet: " + refusals[i]->message);
      held.start_at = Clock::now() + 4 * kAgain;
      return;
    }
    part.over = LeaseOverInput{};
    part.over->fate = LeaseFate::kFailed;
    part.over->reason = "no-signature";
    part.over->words = "could not be started: " + refusals[i]->message;
  }
}

void ExecHands::try_take_up(const Name& name, Held& held) {
  held.take_up = false;
  std::vector<LaunchSpec> specs;
  for (const Part& part : held.parts) specs.push_back(part.spec);
  const std::vector<Executor::TakenUp> taken =
      executor_->take_up(specs, held.was_up, held.stopping);
  for (std::size_t i = 0; i < held.parts.size(); ++i) {
    Part& part = held.parts[i];
    if (part.over) continue;
    part.spec = std::move(specs[i]);
    switch (taken[i]) {
      case Executor::TakenUp::kOurs:
        part.ordered = true;
        break;
      case Executor::TakenUp::kNever:
        break;
      case Executor::TakenUp::kGone:
        part.over = LeaseOverInput{};
        part.over->fate = LeaseFate::kLost;
        part.over->words = "its record is gone";
        break;
      case Executor::TakenUp::kAskAgain:
        held.take_up = true;
        held.start_at = Clock::now() + kAgain;
        break;
    }
  }
  settle(name, held);
}

void ExecHands::try_stop(const Name& name, Held& held) {
  const Clock::time_point now = Clock::now();
  held.stop_at = now + kAgain;
  bool told = true;
  for (const Part& part : held.parts) {
    if (!part.ordered || part.over) continue;
    const std::string lease = lease_name(part.spec);
    if (now >= held.kill_at) {
      trouble_(lease + ": did not stop in time and is killed");
      if (const Refusal refusal = executor_->kill(lease)) trouble_(refusal->message);
      held.stop_at = now + 20 * kAgain;
      continue;
    }
    const std::optional<std::int64_t> grace =
        held.grace ? std::optional(held.grace->us() / 1000) : std::nullopt;
    if (executor_->stop(lease, grace)) told = false;  // Not listening yet, or frozen: again soon.
  }
  if (told && now < held.kill_at) held.stop_at = held.kill_at;
  settle(name, held);
}

void ExecHands::try_resize(const Name& name, Held& held) {
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

void ExecHands::hear(const ExecEvent& event) {
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
      if (event.started) {
        held.isolation = event.started->isolation;
        if (!event.started->isolation_why.empty()) {
          held.isolation += ": " + event.started->isolation_why.substr(0, 500);
        }
      }
      held.start_at = std::min(held.start_at, Clock::now());
      break;
    case ExecEvent::Kind::kEnded:
      // It may have started and ended while nobody was there to see it.
      part.up = part.up || event.ended->cause != EndCause::kCouldNotStart;
      part.over = over_of(*event.ended);
      part.report = *event.ended;
      break;
    case ExecEvent::Kind::kLost:
      part.over = LeaseOverInput{};
      part.over->fate = LeaseFate::kLost;
      part.over->words = event.why;
      break;
    case ExecEvent::Kind::kNote:
      return tell_note(name, event.why);
  }
  settle(name, held);
}

// Tells what there is to tell, and ends what is left of a gang that has lost a member.
void ExecHands::settle(const Name& name, Held& held) {
  const auto is_over = [](const Part& part) { return part.over.has_value(); };
  const bool all_up =
      std::all_of(held.parts.begin(), held.parts.end(), [](const Part& part) { return part.up; });
  if (all_up && !std::exchange(held.told_up, held.told_up || all_up)) {
    told_.push_back(LeaseUpInput{name.first, name.second, held.isolation});
  }
  if (!std::all_of(held.parts.begin(), held.parts.end(), is_over)) {
    const bool broken = std::any_of(held.parts.begin(), held.parts.end(), [&](const Part& part) {
      return part.over && part.over->fate != LeaseFate::kFinished;
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
  LeaseOverInput whole = whole_of(ends);
  if (whole.fate == LeaseFate::kFailed) {
    std::vector<Doctor::Part> parts;
    for (const Part& part : held.parts) parts.push_back({lease_name(part.spec), part.report});
    if (std::optional<Doctor::Finding> found = doctor_.examine(parts)) {
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

void ExecHands::greet_strangers(const std::vector<Name>& known) {
  std::vector<Executor::Name> names;
  for (const auto& [id, lease] : known) names.emplace_back(id, lease);
  for (const std::string& line : executor_->end_strangers(names)) trouble_(line);
}

void ExecHands::tell_note(const Name& name, const std::string& words) {
  told_.push_back(LeaseNoteInput{name.first, name.second, words});
}

void ExecHands::hear_of_servers() {
  // First the servers, then what is new of them.
  if (auto changed = executor_->changed_servers()) servers_(std::move(*changed));
  for (ServerNews& news : executor_->servers()) {
    NodeStateInput input;
    input.node = std::move(news.name);
    input.usable = news.usable;
    input.why = std::move(news.why);
    input.taken = {news.gpus, news.cpu_milli, news.mem_mib, 0};
    told_.push_back(std::move(input));
  }
  for (const std::string& line : executor_->troubles()) trouble_(line);
}

void ExecHands::forget(const Name& name) {
  for (int node = 0;; ++node) {
    LaunchSpec spec;
    spec.job = static_cast<std::int64_t>(name.first);
    spec.epoch = name.second;
    spec.node_rank = node;
    if (!executor_->forget(lease_name(spec))) return;
  }
}

}  // namespace muster
