#include "live/manager/manager.h"

#include <fmt/format.h>
#include <malloc.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "base/types/check.h"
#include "live/codec/input_codec.h"
#include "live/views/answers.h"

namespace muster {

namespace {

constexpr Duration kCleaningEvery = Duration::seconds(600);
constexpr Duration kMaxWait = Duration::seconds(60);
constexpr Duration kRetryCommit = Duration::micros(200'000);
constexpr Duration kAuditKept = Duration::seconds(std::int64_t{365} * 86'400);
constexpr std::size_t kMaxForgottenRows = 20'000;  // Per cleaning.
constexpr std::size_t kTrimEvery = 1'000;          // In ended jobs.

SpeedSettings speed_settings(const ManagerSettings& settings) {
  return {settings.files, settings.profile, settings.progress_every, settings.profiling};
}

EraSettings era_settings(const ManagerSettings& settings, const Recovered& recovered) {
  return {recovered.wanted, recovered.in_force, settings.nodes, recovered.since_snapshot,
          settings.snapshot_every};
}

}  // namespace

Result<std::unique_ptr<Manager>> Manager::open(ManagerSettings settings) {
  if (!settings.log) settings.log = [](const std::string&) {};
  Result<Recovered> recovered =
      recover(settings.home, settings.files, settings.scheduling, settings.log);
  if (!recovered.ok()) return recovered.error();
  const bool needs_era = recovered.value().needs_era;
  std::unique_ptr<Manager> manager(new Manager(std::move(settings), std::move(recovered).value()));
  if (const MaybeError refusal = manager->begin_eras(needs_era)) return *refusal;
  return manager;
}

Manager::Manager(ManagerSettings settings, Recovered recovered)
    : settings_(std::move(settings)),
      instance_(std::move(recovered.instance)),
      ordering_{settings_.launch, settings_.node_test},
      clock_(recovered.clock),
      journal_(std::move(recovered.journal)),
      rows_(std::move(recovered.rows)),
      roster_(std::move(recovered.roster)),
      notes_(std::move(recovered.notes)),
      reports_(settings_.files, settings_.progress_every),
      speeds_(speed_settings(settings_), std::move(recovered.profiles)),
      eras_({roster_, journal_, *notes_, instance_, settings_.log},
            era_settings(settings_, recovered)),
      audit_(clock_),
      commands_(read_context(), journal_, speeds_,
                {settings_.most_queued, settings_.most_queued_per_user}),
      queries_(read_context(), query_settings(), std::move(recovered.worker_rows)) {
  ordering_.launch.instance = instance_.id;
  ordering_.launch.key = recovered.lease_key;
}

ReadContext Manager::read_context() {
  return {roster_,       rows_,   clock_,  reports_.progress(), speeds_.profiles(),
          eras_.nodes(), *notes_, status_, settings_.account};
}

QuerySettings Manager::query_settings() {
  return {settings_.files,
          {settings_.home, settings_.retention, settings_.what_if, settings_.what_if_time},
          [this] { return runner_->use(); }};
}

MaybeError Manager::begin_eras(bool needs_era) {
  if (needs_era) {
    if (const MaybeError refusal = eras_.begin()) return refusal;
    note_step();
  }
  if (eras_.is_pending()) {
    if (const MaybeError refusal = adapt()) return refusal;
  }
  // The snapshot is durable, so its rows and events must be too, even if the start fails later.
  return journal_.commit();
}

void Manager::stop() {
  queries_.stop();
  inbox_.stop();
}

std::vector<std::pair<LiveId, std::uint32_t>> Manager::leases() const {
  std::vector<std::pair<LiveId, std::uint32_t>> leases;
  for (const auto& [id, job] : roster_->jobs()) {
    if (job.lease) leases.emplace_back(id, job.lease->number);
  }
  return leases;
}

MaybeError Manager::run() {
  MUSTER_CHECK(runner_ != nullptr);
  const MaybeError refusal = run_until_stopped();
  stop();  // Also after an error: it ends long simulations on other threads.
  return refusal;
}

MaybeError Manager::run_until_stopped() {
  order_again();
  if (const MaybeError refusal = commit_and_act()) return refusal;
  next_cleaning_ = clock_.now() + kCleaningEvery;
  while (inbox_.wait(time_to_next_turn())) {
    if (const MaybeError refusal = turn()) return refusal;
  }
  speeds_.let_go();
  set_limits();
  audit_.move_to(journal_, true);
  if (eras_.renew()) note_step();  // So that another version of Muster can start from the snapshot.
  return journal_.commit();
}

void Manager::order_again() {
  for (const auto& [id, job] : roster_->jobs()) {
    if (job.lease && job.lease->up) reports_.adopt(id, job.lease->number);
  }
  if (const std::size_t jobs = roster_->jobs().size(); jobs > 0) {
    settings_.log(fmt::format("recovered {} active job{}, {} with a lease", jobs,
                              jobs == 1 ? "" : "s", leases().size()));
  }
  orders_.clear();  // The orders below include them.
  runner_->order(orders_again(*roster_, ordering_));
}

Duration Manager::time_to_next_turn() const {
  Instant until = std::min({roster_->wake(), next_cleaning_, audit_.due()});
  if (!roster_->engine().state().placed.empty()) {
    until = std::min(until, reports_.next_look());
    if (speeds_.is_measuring()) until = std::min(until, speeds_.next_look());
  }
  return std::clamp(until - clock_.now(), Duration(), kMaxWait);
}

MaybeError Manager::turn() {
  const Instant now = clock_.now();
  std::vector<Input> inputs = take_work();
  reports_.look(*roster_, now, inputs);
  speeds_.look(*roster_, now, inputs);
  set_limits();
  reports_.report_ends(*roster_, now, inputs);
  if (roster_->wake() <= now) inputs.push_back(TickInput{});
  if (!inputs.empty()) decide(std::move(inputs));
  if (journal_.buffered() > 0 || !waiters_.empty() || speeds_.has_changed() ||
      audit_.due() <= now) {
    if (const MaybeError refusal = commit()) return refusal;
    if (speeds_.has_changed()) {
      if (const MaybeError refusal = use_learned_profiles()) settings_.log(refusal->message);
      if (const MaybeError refusal = commit()) return refusal;
    }
    act();
    if (std::exchange(lease_ended_, false) && eras_.is_pending()) {
      if (const MaybeError refusal = adapt()) settings_.log(refusal->message);
      if (const MaybeError refusal = commit_and_act()) return refusal;
    }
  }
  if (const MaybeError refusal = take_new_settings()) return refusal;
  answer_reads();
  queries_.after_turn();
  if (ended_since_trim_ >= kTrimEvery) {
    ended_since_trim_ = 0;
    ::malloc_trim(0);  // Return the memory of finished jobs to the system.
  }
  return now >= next_cleaning_ || eras_.is_due() ? clean_up(now) : std::nullopt;
}

// Splits the inputs into steps that each fit a journal entry.
void Manager::decide(std::vector<Input> inputs) {
  std::size_t begin = 0;
  while (begin < inputs.size()) {
    std::size_t end = begin;
    std::size_t bulk = 0;
    do {
      bulk += bulk_of(inputs[end++]);
    } while (end < inputs.size() && bulk + bulk_of(inputs[end]) <= kMaxEntryBulk);
    step(std::span(inputs).subspan(begin, end - begin));
    begin = end;
  }
}

void Manager::step(std::span<const Input> inputs) {
  const Instant now = std::max(clock_.now(), roster_->now());
  JournalStep entry;
  entry.before = roster_->digest();
  entry.inputs.assign(inputs.begin(), inputs.end());
  roster_.writable().step(now, inputs);
  entry.decided = roster_->decisions();
  JournalEntry written;
  written.kind = "step";
  written.at = now;
  written.body = step_json(entry);
  eras_.count(inputs);
  if (written.body.size() > kLargestText) {  // A plan changed thousands of jobs.
    entry.decided.reset();
    written.body = step_json(entry);
    eras_.make_due();  // Another engine version could not repeat this entry.
  }
  const Result<std::uint64_t> number = journal_.append(std::move(written));
  MUSTER_CHECK(number.ok());  // Guaranteed by kMaxEntryBulk.
  status_.submitted +=
      static_cast<std::uint64_t>(std::count_if(inputs.begin(), inputs.end(), [](const Input& each) {
        return std::holds_alternative<SubmitInput>(each);
      }));
  note_step();
}

// Processes the results of the roster's last step or of a new era.
void Manager::note_step() {
  const auto& orders = roster_->orders();
  orders_.insert(orders_.end(), orders.begin(), orders.end());
  const std::size_t first = notes_->take(*roster_, clock_);
  for (const Note& note : notes_->fresh().subspan(first)) {
    const LiveJob* job = roster_->find(note.job);
    if (job == nullptr || !note.last) continue;
    commands_.job_ended(*job);
    queries_.forget_counts();
    ++ended_since_trim_;
    const auto end = static_cast<std::size_t>(*job->end);
    ++status_.ended.at(end - static_cast<std::size_t>(LiveState::kDone));
  }
  if (!roster_->over().empty()) lease_ended_ = true;
  put_rows();
  if (const MaybeError refusal = notes_->write(first, journal_)) settings_.log(refusal->message);
}

void Manager::put_rows() {
  const auto put = [this](auto row) {
    if (const MaybeError refusal = journal_.put(std::move(row))) settings_.log(refusal->message);
  };
  for (const LeaseRecord& record : roster_->over()) {
    reports_.read_rest(*roster_, record);
    put(row_of(*roster_, record));
  }
  for (const LiveId id : roster_->touched()) {
    const LiveJob* job = roster_->find(id);
    if (job == nullptr) continue;
    put(row_of(*roster_, *job, reports_.progress().find(id)));
    if (job->lease) put(row_of(*roster_, *job, *job->lease));
    if (job->end) reports_.forget(id);
  }
}

// Orders and answers wait until the commit succeeds. Blocks while the disk is full.
MaybeError Manager::commit() {
  audit_.move_to(journal_);
  while (true) {
    const MaybeError refusal = journal_.commit();
    if (!refusal) {
      if (!status_.blocked.empty()) {
        settings_.log("the journal can be written again");
        queries_.forget_counts();  // They were counted before the commit.
      }
      status_.blocked.clear();
      return std::nullopt;
    }
    if (journal_.health() == JournalHealth::kBroken) return refusal;
    if (status_.blocked.empty())
      settings_.log("the journal cannot be written: " + refusal->message);
    status_.blocked = refusal->message;
    answer_reads();
    if (!inbox_.pause(kRetryCommit)) return refusal;
    refuse_calls();
  }
}

MaybeError Manager::commit_and_act() {
  if (const MaybeError refusal = commit()) return refusal;
  act();
  return std::nullopt;
}

void Manager::act() {
  // Restore the full CPU limit of a stopping job, so that it can save its work quickly.
  for (const Order& order : orders_) {
    if (order.kind == Order::Kind::kStop) speeds_.let_go(order.id);
  }
  set_limits();
  std::vector<LeaseOrder> orders;
  for (const Order& order : std::exchange(orders_, {})) {
    orders.push_back(lease_order(*roster_, order, ordering_));
  }
  runner_->order(std::move(orders));
  for (Waiter& each : std::exchange(waiters_, {})) each.done(std::move(each.answer));
  notes_->publish();
}

void Manager::set_limits() {
  const std::vector<Profiler::Limit> limits = speeds_.take_limits();
  if (!limits.empty()) runner_->order(limit_orders(limits));
}

MaybeError Manager::adapt() {
  const Result<bool> began = eras_.adapt();
  if (!began.ok()) return began.error();
  if (!began.value()) return std::nullopt;
  note_step();
  // Queued events are newer than these states of new nodes.
  inbox_.put_first(eras_.node_states());
  return std::nullopt;
}

// Profiles are part of the settings, and all leases fit them.
MaybeError Manager::use_learned_profiles() {
  if (!speeds_.accept_changes(*roster_)) return std::nullopt;
  const Result<bool> began = eras_.use_profiles(speeds_.profiles());
  if (began.ok() && began.value()) note_step();
  for (ProfileWaiter& each : std::exchange(profile_waiters_, {})) {
    if (!began.ok()) {
      each.answer = error_answer({began.error().message, ErrorCode::kUnavailable});
      set_refusal(each.row, each.answer);
    }
    journal_.put(std::move(each.row));
    waiters_.push_back(std::move(each));
  }
  return began.ok() ? std::nullopt : MaybeError(began.error());
}

MaybeError Manager::take_new_settings() {
  std::optional<NewSettings> changed = inbox_.take_settings();
  if (!changed) return std::nullopt;
  eras_.want(changed->scheduling, speeds_.profiles(), std::move(changed->nodes));
  if (!eras_.is_pending()) return std::nullopt;
  if (const MaybeError refusal = commit()) return refusal;
  if (const MaybeError refusal = adapt()) settings_.log(refusal->message);
  return commit_and_act();
}

// Shortens the journal and deletes jobs beyond the retention time.
MaybeError Manager::clean_up(Instant now) {
  next_cleaning_ = now + kCleaningEvery;
  if (eras_.is_due() && eras_.renew()) note_step();
  const bool old = now >= Instant() + settings_.retention;
  if (old && journal_.health() == JournalHealth::kSound) {
    const Result<std::size_t> forgotten =
        forget_ended(journal_, rows_, *runner_, now - settings_.retention);
    if (!forgotten.ok()) settings_.log(forgotten.error().message);
    if (!forgotten.ok() || forgotten.value() > 0) queries_.forget_counts();
  }
  if (now >= Instant() + kAuditKept && journal_.health() == JournalHealth::kSound) {
    const MaybeError refusal = journal_.forget_audit_before(now - kAuditKept, kMaxForgottenRows);
    if (refusal) settings_.log(refusal->message);
  }
  return commit_and_act();
}

}  // namespace muster
