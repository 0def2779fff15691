#include "live/manager.h"

#include <malloc.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>
#include <utility>

#include "base/check.h"
#include "live/answers.h"

namespace muster {

namespace {

using nlohmann::json;
using std::chrono::milliseconds;

constexpr std::size_t kMostCallsPerTurn = 1'000;
constexpr Duration kHousekeeping = Duration::seconds(600);
constexpr std::size_t kTrimEvery = 1'000;  // Jobs that ended.

}  // namespace

void Manager::complain(const std::string& words) const {
  if (settings_.log) settings_.log(words);
}

void Manager::call(Caller caller, Call call, std::function<void(Answer)> done) {
  {
    const std::lock_guard lock(mutex_);
    calls_.push_back({std::move(caller), std::move(call), std::move(done)});
  }
  woken_.notify_one();
}

void Manager::news(std::vector<Input> news) {
  {
    const std::lock_guard lock(mutex_);
    for (Input& each : news) news_.push_back(std::move(each));
  }
  woken_.notify_one();
}

void Manager::change_settings(std::string scheduling, std::vector<NodeNotes> nodes) {
  {
    const std::lock_guard lock(mutex_);
    changed_settings_.emplace(std::move(scheduling), std::move(nodes));
  }
  woken_.notify_one();
}

void Manager::watch(std::function<void(Notes)> news) {
  const std::lock_guard lock(mutex_);
  watcher_ = std::move(news);
}

void Manager::stop() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  woken_.notify_one();
}

Refusal Manager::run() {
  MUSTER_CHECK(hands_ != nullptr);
  const Refusal refusal = run_on();
  stop();  // Whatever ended us: who is asked for long on another thread need not go on.
  return refusal;
}

Refusal Manager::run_on() {
  take_up_leases();
  if (const Refusal refusal = commit()) return refusal;
  act();
  next_look_ = clock_->now();
  next_speed_look_ = clock_->now();
  next_housekeeping_ = clock_->now() + kHousekeeping;
  while (wait()) {
    if (const Refusal refusal = turn()) return refusal;
  }
  let_speeds_go();
  keep_house();  // So that another version of Muster can begin from it.
  return journal_->commit();
}

// Sleeps until something is to be done.
bool Manager::wait() {
  Instant until = std::min(roster_->wake(), next_housekeeping_);
  if (!roster_->engine().state().placed.empty()) {
    until = std::min(until, next_look_);
    if (profiler_->busy()) until = std::min(until, next_speed_look_);
  }
  const std::int64_t left = std::max<std::int64_t>(0, (until - clock_->now()).us());
  std::unique_lock lock(mutex_);
  woken_.wait_for(
      lock, std::chrono::microseconds(std::min<std::int64_t>(left, 60'000'000)),
      [this] { return ending_ || !calls_.empty() || !news_.empty() || changed_settings_; });
  return !ending_;
}

Refusal Manager::turn() {
  std::deque<Pending> calls;
  std::vector<Input> inputs;
  {
    const std::lock_guard lock(mutex_);
    while (!calls_.empty() && calls.size() < kMostCallsPerTurn) {
      calls.push_back(std::move(calls_.front()));
      calls_.pop_front();
    }
    inputs.swap(news_);
  }
  drop_what_is_known(inputs);
  for (Pending& each : calls) {
    if (is_read(each.call)) {
      reads_.push_back(std::move(each));
    } else {
      ask(std::move(each), inputs);
    }
  }
  const Instant now = clock_->now();
  if (now >= next_look_) {
    next_look_ = now + settings_.progress_every;
    look_at_progress(inputs);
  }
  if (now >= next_speed_look_) look_at_speeds(inputs);
  report_ends(inputs);
  if (roster_->wake() <= now) inputs.push_back(TickInput{});
  if (!inputs.empty()) decide(std::move(inputs));
  if (journal_->buffered() > 0 || !waiters_.empty() || learnt_changed_) {
    if (const Refusal refusal = commit()) return refusal;
    if (learnt_changed_) {
      if (const Refusal refusal = decide_by_what_was_learnt()) complain(refusal->message);
      if (const Refusal refusal = commit()) return refusal;
    }
    act();
    if (std::exchange(lease_ended_, false) && in_force_ != settings_.scheduling) {
      if (const Refusal refusal = adapt()) complain(refusal->message);
      if (const Refusal refusal = commit()) return refusal;
      act();
    }
  }
  if (const Refusal refusal = take_up_settings()) return refusal;
  judge_forecasts();
  ask_about_somebody();
  answer_reads();
  foresee_starts();
  if (ended_since_trim_ >= kTrimEvery) {
    ended_since_trim_ = 0;
    ::malloc_trim(0);  // The library keeps what thousands of jobs needed once; we do not.
  }
  if (now >= next_housekeeping_ || since_snapshot_ >= settings_.snapshot_every) {
    next_housekeeping_ = now + kHousekeeping;
    if (since_snapshot_ >= settings_.snapshot_every) keep_house();
    forget_old();
    if (const Refusal refusal = commit()) return refusal;
    act();
  }
  return std::nullopt;
}

void Manager::answer_reads() {
  for (Pending& each : std::exchange(reads_, {})) {
    if (std::holds_alternative<ExplainJob>(each.call)) {
      explain(std::move(each));
    } else if (std::holds_alternative<PlanJob>(each.call)) {
      plan(std::move(each));
    } else if (is_look_back(each.call)) {
      look_back(std::move(each));
    } else if (std::holds_alternative<ListJobs>(each.call)) {
      list(std::move(each));
    } else if (std::holds_alternative<ShowWholeJob>(each.call)) {
      page(std::move(each));
    } else {
      each.done(answer(each.caller, each.call));
    }
  }
}

// In steps that fit an entry of the journal each.
void Manager::decide(std::vector<Input> inputs) {
  std::size_t begin = 0;
  while (begin < inputs.size()) {
    std::size_t end = begin;
    std::size_t bulk = 0;
    do {
      bulk += bulk_of(inputs[end++]);
    } while (end < inputs.size() && bulk + bulk_of(inputs[end]) <= kMostEntryBulk);
    step(std::span(inputs).subspan(begin, end - begin));
    begin = end;
  }
}

void Manager::step(std::span<const Input> inputs) {
  const Instant now = std::max(clock_->now(), roster_->now());
  JournalStep entry;
  entry.before = roster_->digest();
  entry.inputs.assign(inputs.begin(), inputs.end());
  JournalEntry written;
  written.kind = "step";
  written.at = now;
  written.body = step_json(entry);
  const Result<std::uint64_t> number = journal_->append(std::move(written));
  MUSTER_CHECK(number.ok());  // Whoever took the inputs in saw to their bulk.
  count_towards_snapshot(inputs);
  roster_->step(now, inputs);
  note_step();
}

// By entries; one with a thousand jobs counts as so many, since the engine has a row for each until
// the next snapshot.
void Manager::count_towards_snapshot(std::span<const Input> inputs) {
  const auto jobs = std::count_if(inputs.begin(), inputs.end(), [](const Input& input) {
    return std::holds_alternative<SubmitInput>(input);
  });
  since_snapshot_ += std::max<std::size_t>(1, static_cast<std::size_t>(jobs));
}

// What the last step of the roster means for everybody else.
void Manager::note_step() {
  const auto& orders = roster_->orders();
  orders_.insert(orders_.end(), orders.begin(), orders.end());
  const std::size_t first = fresh_notes_.size();
  take_notes(*roster_);
  for (std::size_t i = first; i < fresh_notes_.size(); ++i) {
    const LiveJob* job = roster_->find(fresh_notes_[i].job);
    if (job == nullptr || !fresh_notes_[i].last) continue;
    if (--per_user_[job->user] == 0) per_user_.erase(job->user);
    forget_counts();
    ++ended_since_trim_;
    ++ended_[static_cast<std::size_t>(*job->end) - static_cast<std::size_t>(LiveState::kDone)];
  }
  if (!roster_->over().empty()) lease_ended_ = true;
  put_rows();
  keep_notes(first);
}

// From this fresh one on, with whatever is written next.
void Manager::keep_notes(std::size_t first) {
  for (std::size_t i = first; i < fresh_notes_.size(); ++i) {
    const Note& note = fresh_notes_[i];
    EventRow row{note.number, note.job, note.user, note.json, note.full};
    if (row.job == 0) remember_of_nodes(row);
    if (const Refusal refusal = journal_->put(std::move(row))) complain(refusal->message);
  }
}

void Manager::take_notes(const Roster& roster) {
  for (const RosterNote& note : roster.notes()) {
    Note fresh;
    fresh.number = ++last_note_;
    fresh.job = note.id;
    json words = {{"number", fresh.number},
                  {"at", static_cast<double>(clock_->unix_us(roster.now()) / 1000) / 1000},
                  {"kind", note.kind},
                  {"words", note.words}};
    if (const LiveJob* job = roster.find(note.id)) {
      words["job"] = note.id;
      words["name"] = job->request.name;
      fresh.user = job->user;
      fresh.last = job->end && note.kind == state_name(*job->end);
      if (note.kind == "failed-attempt") put_proof(words, job->proof);
    }
    const auto written = [&] {
      std::string text = words.dump(-1, ' ', false, json::error_handler_t::replace);
      if (note.facts.empty()) return text;
      text.back() = ',';
      return text + "\"facts\":" + note.facts + "}";
    };
    fresh.json = written();
    if (!note.full.empty()) {
      words["words"] = note.full;
      fresh.full = written();
    }
    fresh_notes_.push_back(std::move(fresh));
  }
}

void Manager::put_rows() {
  const auto put = [this](auto row) {
    if (const Refusal refusal = journal_->put(std::move(row))) complain(refusal->message);
  };
  for (const LeaseRecord& record : roster_->over()) {
    const LiveJob* job = roster_->find(record.id);
    const bool counts = job != nullptr && !record.lease.trial;
    progress_->look(record.id, record.lease.number,
                    counts ? std::optional(job->ran) : std::nullopt);
    put(row_of(*roster_, record));
  }
  for (const LiveId id : roster_->touched()) {
    const LiveJob* job = roster_->find(id);
    if (job == nullptr) continue;
    put(row_of(*roster_, *job, progress_->find(id)));
    if (job->lease) put(row_of(*roster_, *job, *job->lease));
    if (!job->end) continue;
    progress_->forget(id);
    foretold_.erase(id);
  }
}

// Nothing is done or said before this has succeeded. A full disk is waited for.
Refusal Manager::commit() {
  while (true) {
    const Refusal refusal = journal_->commit();
    if (!refusal) {
      if (!blocked_.empty()) {
        complain("the journal can be written again");
        forget_counts();  // They were counted before it.
      }
      blocked_.clear();
      return std::nullopt;
    }
    if (journal_->health() == JournalHealth::kBroken) return refusal;
    if (blocked_.empty()) complain("the journal cannot be written: " + refusal->message);
    blocked_ = refusal->message;
    // Meanwhile whoever asks is told so, and what cannot wait is not begun.
    answer_reads();
    std::deque<Pending> calls;
    {
      std::unique_lock lock(mutex_);
      woken_.wait_for(lock, milliseconds(200), [this] { return ending_; });
      if (ending_) return refusal;
      calls.swap(calls_);
    }
    for (Pending& each : calls) {
      if (is_read(each.call)) {
        each.done(answer(each.caller, each.call));
      } else {
        each.done(refused(503, "cannot write to disk: " + blocked_));
      }
    }
  }
}

void Manager::act() {
  // Who is to stop has all its CPU to save its work with.
  for (const Order& order : orders_) {
    if (order.kind == Order::Kind::kStop) profiler_->let_go(order.id);
  }
  set_limits();
  std::vector<HandOrder> orders;
  for (const Order& order : std::exchange(orders_, {})) orders.push_back(hand_order(order));
  hands_->order(std::move(orders));
  for (Waiter& each : std::exchange(waiters_, {})) each.done(std::move(each.answer));
  if (fresh_notes_.empty()) return;
  auto fresh = std::make_shared<const std::vector<Note>>(std::exchange(fresh_notes_, {}));
  std::function<void(Notes)> watcher;
  {
    const std::lock_guard lock(mutex_);
    watcher = watcher_;
  }
  if (watcher) watcher(std::move(fresh));
}

}  // namespace muster
