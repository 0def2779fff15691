// The manager's way back after a restart, and what keeps that way short.

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "base/check.h"
#include "base/text.h"
#include "live/manager.h"
#include "live/settings.h"

namespace muster {

namespace {

using nlohmann::json;

constexpr std::size_t kMostNotesOfNodes = 2'000;  // That are read at the start.
constexpr const char* kVersion = "1";             // Of what snapshots hold.
constexpr std::size_t kForgetAtOnce = 5'000;

std::string wrap(const std::string& settings, const Roster& roster, std::uint64_t last_note,
                 const Instance& instance) {
  return json({{"version", kVersion},
               {"instance", instance.id},
               {"born_unix_us", instance.born_unix_us},
               {"settings", settings},
               {"roster", roster.snapshot()},
               {"last_note", last_note}})
      .dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace

Result<std::unique_ptr<Manager>> Manager::open(ManagerSettings settings) {
  std::unique_ptr<Manager> manager(new Manager(std::move(settings)));
  if (const Refusal refusal = manager->recover()) return *refusal;
  return manager;
}

Refusal Manager::open_readers(const std::string& file) {
  Result<JobReader> reader = JobReader::open(file);
  if (!reader.ok()) return reader.error();
  reader_.emplace(std::move(reader).value());
  Result<JobReader> lookups = JobReader::open(file);
  if (!lookups.ok()) return lookups.error();
  lookup_reader_.emplace(std::move(lookups).value());
  Result<std::vector<EventRow>> of_nodes = reader_->latest_of_no_job(kMostNotesOfNodes);
  if (!of_nodes.ok()) return of_nodes.error();
  std::for_each(of_nodes.value().rbegin(), of_nodes.value().rend(),
                [this](const EventRow& event) { remember_of_nodes(event); });
  return std::nullopt;
}

Refusal Manager::recover() {
  Result<Instance> instance = open_instance(settings_.home);
  if (!instance.ok()) return instance.error();
  instance_ = std::move(instance).value();
  settings_.launch.instance = instance_.id;
  const std::string file = settings_.home + "/journal.db";
  Result<Journal> journal = Journal::open(file);
  if (!journal.ok()) return journal.error();
  journal_.emplace(std::move(journal).value());
  if (const Refusal refusal = open_readers(file)) return refusal;
  progress_.emplace(settings_.home + "/leases");
  profiler_.emplace(settings_.home + "/leases", settings_.profiling);
  clock_.emplace(instance_, Instant());

  Result<RosterSettings> wanted = roster_settings(settings_.scheduling);
  if (!wanted.ok()) return wanted.error();
  Result<std::optional<Snapshot>> snapshot = journal_->newest_snapshot();
  if (!snapshot.ok()) return snapshot.error();
  if (!snapshot.value()) {
    if (const Refusal refusal = refuse_old_leases()) return refusal;
    in_force_ = settings_.scheduling;
    return begin_era(Roster(std::move(wanted).value()));
  }

  std::string settings;
  std::string kept;
  try {
    const json body = json::parse(snapshot.value()->body);
    if (body.at("version").get<std::string>() != kVersion) {
      return Error{file + ": its snapshot is of another version of Muster"};
    }
    settings = body.at("settings").get<std::string>();
    kept = body.at("roster").get<std::string>();
    last_note_ = body.at("last_note").get<std::uint64_t>();
    // Should the file have been lost, times and tokens must stay what they were.
    instance_.id = body.at("instance").get<std::string>();
    instance_.born_unix_us = body.at("born_unix_us").get<std::int64_t>();
    settings_.launch.instance = instance_.id;
    clock_.emplace(instance_, Instant());
  } catch (const json::exception& error) {
    return Error{file + ": its snapshot cannot be read: " + error.what()};
  }
  Result<RosterSettings> old = roster_settings(settings);
  if (!old.ok()) return Error{file + ": " + old.error().message};
  Result<std::vector<Learnt>> learnt = learnt_in(settings);
  if (!learnt.ok()) return Error{file + ": " + learnt.error().message};
  learnt_ = std::move(learnt).value();
  settings_.scheduling = with_learnt(settings_.scheduling, learnt_);
  Roster roster(std::move(old).value());
  const Result<std::vector<Order>> unkept = roster.restore(kept);
  if (!unkept.ok()) return Error{file + ": " + unkept.error().message};
  MUSTER_CHECK(unkept.value().empty());
  // Beside its entries the journal keeps what was told of them; of the new beginning only if there
  // was a commit after it.
  const bool known = journal_->last_event() > last_note_;
  take_notes(roster);
  if (!known) keep_notes(0);
  if (const Refusal refusal = replay(roster, snapshot.value()->seq)) {
    return Error{file + ": " + refusal->message};
  }
  clock_.emplace(instance_, roster.now());
  fresh_notes_.clear();
  last_note_ = std::max(last_note_, journal_->last_event());
  for (const auto& [id, job] : roster.jobs()) {
    if (!job.end) ++per_user_[job.user];
  }
  roster_.emplace(std::move(roster));
  in_force_ = std::move(settings);
  return in_force_ == settings_.scheduling ? std::nullopt : adapt();
}

// Ids begin at 1 again with a new journal, and old records under the same names would be taken for
// those of new jobs.
Refusal Manager::refuse_old_leases() const {
  const std::string leases = settings_.home + "/leases";
  std::error_code none;
  if (!std::filesystem::exists(leases, none) || std::filesystem::is_empty(leases, none)) {
    return std::nullopt;
  }
  return Error{leases +
               ": has leases of a manager whose journal is gone; bring journal.db back, or "
               "move the directory away"};
}

// Every entry must find the roster as it was when it was written.
Refusal Manager::replay(Roster& roster, std::uint64_t after) {
  Refusal wrong;
  const Refusal refusal =
      journal_->for_each_from(after + 1, [&](std::uint64_t number, const JournalEntry& entry) {
        if (wrong) return;
        const Result<JournalStep> step = read_step(entry.body);
        if (!step.ok()) {
          wrong = Error{fmt::format("entry {}: {}", number, step.error().message)};
        } else if (step.value().before != roster.digest()) {
          wrong = Error{fmt::format(
              "entry {}: replayed, the decisions before it come out differently; it was written by "
              "another version of Muster: start that one and stop it once, then this one",
              number)};
        } else {
          roster.step(entry.at, step.value().inputs);
          fresh_notes_.clear();
          take_notes(roster);
          count_towards_snapshot(step.value().inputs);
          // Written before events were kept.
          if (number < journal_->events_from()) keep_notes(0);
        }
      });
  return refusal ? refusal : wrong;
}

// The journal goes on from this roster, with the settings in force.
Refusal Manager::begin_era(const Roster& roster) {
  const Snapshot snapshot{journal_->next_seq() - 1, wrap(in_force_, roster, last_note_, instance_)};
  // What is kept is read back, so that we go on from the very thing a restart would go on from.
  Result<RosterSettings> settings = roster_settings(in_force_);
  if (!settings.ok()) return settings.error();
  Roster again(std::move(settings).value());
  const Result<std::vector<Order>> unkept = again.restore(roster.snapshot());
  if (!unkept.ok()) return unkept.error();
  MUSTER_CHECK(unkept.value().empty());
  if (const Refusal refusal = journal_->save_snapshot(snapshot)) return refusal;
  // From here on the snapshot holds, whatever becomes of the entries before it.
  if (const Refusal refusal = journal_->truncate_before(snapshot.seq + 1)) {
    complain("old entries of the journal are still there: " + refusal->message);
  }
  since_snapshot_ = 0;
  roster_.emplace(std::move(again));
  line_ = {};             // Rows have other numbers.
  last_picture_.reset();  // The same; and it knows neither new servers nor new profiles.
  note_step();
  return std::nullopt;
}

// The settings have changed since. If everything that runs fits the new ones, they hold from now
// on; otherwise the old ones stay until it does.
Refusal Manager::adapt() {
  Result<RosterSettings> wanted = roster_settings(settings_.scheduling);
  if (!wanted.ok()) return wanted.error();
  Roster fresh(std::move(wanted).value());
  const Result<std::vector<Order>> unkept = fresh.restore(roster_->snapshot());
  if (!unkept.ok()) return unkept.error();
  if (unkept.value().empty()) {
    const std::string old = std::exchange(in_force_, settings_.scheduling);
    const Refusal refusal = begin_era(*roster_);
    if (refusal) {
      in_force_ = old;
    } else {
      complain("the new settings are in force; everything that runs goes on");
      said_of_settings_.clear();
      if (next_nodes_) settings_.nodes = *std::exchange(next_nodes_, std::nullopt);
      // Of servers that are new here it has been told already. What has come since is newer.
      const std::lock_guard lock(mutex_);
      std::vector<Input> states;
      for (const auto& [name, state] : node_states_) states.emplace_back(state);
      news_.insert(news_.begin(), states.begin(), states.end());
      woken_.notify_one();
    }
    return refusal;
  }
  std::vector<std::string> names;
  for (const Order& order : unkept.value()) names.push_back(std::to_string(order.id));
  const std::string words = fmt::format(
      "the new settings wait until these running jobs, which would no longer fit, have ended: {}",
      first_few(names));
  if (std::exchange(said_of_settings_, words) != words) complain(words);
  return std::nullopt;
}

// Those who see servers and leases may say the same again and again; the journal has it once.
void Manager::drop_what_is_known(std::vector<Input>& inputs) {
  std::set<std::string> later;  // What was said last of a server or a lease counts.
  std::vector<Input> kept;
  for (std::size_t i = inputs.size(); i-- > 0;) {
    const auto* state = std::get_if<NodeStateInput>(&inputs[i]);
    const auto* note = std::get_if<LeaseNoteInput>(&inputs[i]);
    if (state != nullptr) {
      if (!later.insert(state->node).second) continue;
      node_states_[state->node] = *state;
      if (roster_->knows(*state)) continue;
    } else if (note != nullptr) {
      if (!later.insert(fmt::format("/{}.{}", note->id, note->lease)).second) continue;
      if (roster_->knows(*note)) continue;
    }
    kept.push_back(std::move(inputs[i]));
  }
  std::reverse(kept.begin(), kept.end());
  inputs = std::move(kept);
}

Refusal Manager::take_up_settings() {
  std::optional<std::pair<std::string, std::vector<NodeNotes>>> changed;
  {
    const std::lock_guard lock(mutex_);
    changed.swap(changed_settings_);
  }
  if (!changed) return std::nullopt;
  const Result<RosterSettings> wanted = roster_settings(changed->first);
  if (!wanted.ok()) {
    complain("the new settings cannot be used: " + wanted.error().message);
    return std::nullopt;
  }
  settings_.scheduling = with_learnt(changed->first, learnt_);
  next_nodes_ = std::move(changed->second);
  if (settings_.scheduling == in_force_) {
    settings_.nodes = *std::exchange(next_nodes_, std::nullopt);
    return std::nullopt;
  }
  if (const Refusal refusal = commit()) return refusal;
  if (const Refusal refusal = adapt()) complain(refusal->message);
  if (const Refusal refusal = commit()) return refusal;
  act();
  return std::nullopt;
}

std::vector<std::pair<LiveId, std::uint32_t>> Manager::leases() const {
  std::vector<std::pair<LiveId, std::uint32_t>> leases;
  for (const auto& [id, job] : roster_->jobs()) {
    if (job.lease) leases.emplace_back(id, job.lease->number);
  }
  return leases;
}

HandOrder Manager::hand_order(const Order& order) const {
  HandOrder out;
  out.id = order.id;
  out.lease = order.lease;
  const LiveJob* job = roster_->find(order.id);
  if (job != nullptr) out.grace = job->request.grace.value_or(settings_.launch.grace);
  switch (order.kind) {
    case Order::Kind::kStart:
      out.kind = HandOrder::Kind::kStart;
      MUSTER_CHECK(job != nullptr);
      out.specs = launch_specs(*job, order, settings_.launch);
      for (std::size_t i = 0; i < out.specs.size(); ++i) {
        const NodeId node = order.placement[i].node;
        out.specs[i].env["MUSTER_NODE"] = roster_->settings().topology.node(node).name;
      }
      break;
    case Order::Kind::kStop:
      out.kind = HandOrder::Kind::kStop;
      break;
    case Order::Kind::kResize:
      out.kind = HandOrder::Kind::kResize;
      out.limits = launch_limits(order.placement);
      break;
    case Order::Kind::kTest:
      out.kind = HandOrder::Kind::kTest;
      out.node = order.node;
      out.test = settings_.node_test;
      break;
  }
  return out;
}

// The orders before the restart may or may not have been carried out: each is given again.
void Manager::take_up_leases() {
  std::vector<HandOrder> orders;
  for (const auto& [id, job] : roster_->jobs()) {
    if (!job.lease) continue;
    Order order;
    order.id = id;
    order.lease = job.lease->number;
    order.placement = job.lease->placement;
    order.trial = job.lease->trial;
    order.time_limit = time_left(job, order.trial);
    HandOrder out = hand_order(order);
    out.kind = HandOrder::Kind::kTakeUp;
    out.limits = launch_limits(job.lease->placement);
    out.was_up = job.lease->up;
    out.stopping = job.lease->stopping;
    if (job.lease->up) progress_->take_up(id, job.lease->number);
    orders.push_back(std::move(out));
  }
  for (const auto& [node, quarantine] : roster_->quarantines()) {
    if (!quarantine.testing) continue;
    Order order;
    order.kind = Order::Kind::kTest;
    order.node = roster_->settings().topology.node(node).name;
    orders.push_back(hand_order(order));
  }
  if (!roster_->jobs().empty()) {
    const std::size_t jobs = roster_->jobs().size();
    complain(fmt::format("found again: {} job{} that {} not over, {} with a lease", jobs,
                         jobs == 1 ? "" : "s", jobs == 1 ? "is" : "are", leases().size()));
  }
  orders_.clear();  // They are among these.
  hands_->order(std::move(orders));
}

// A new era: the journal is cut, and the engine forgets the jobs that are over.
void Manager::keep_house() {
  if (journal_->health() != JournalHealth::kSound || journal_->buffered() > 0) return;
  if (const Refusal refusal = begin_era(*roster_)) {
    complain("no snapshot could be kept: " + refusal->message);
    since_snapshot_ = 0;  // Not again at every turn.
  }
}

void Manager::forget_old() {
  if (journal_->health() != JournalHealth::kSound) return;
  const Instant now = clock_->now();
  if (now < Instant() + settings_.retention) return;
  std::vector<HandOrder> orders;
  std::size_t jobs = 0;
  const Instant before = now - settings_.retention;
  const Refusal read = reader_->for_each_ended_since(Instant(), [&](const JobRow& row) {
    if (!row.ended || *row.ended >= before || jobs == kForgetAtOnce) return;
    ++jobs;
    for (std::uint32_t lease = 1; lease <= row.attempts; ++lease) {
      HandOrder order;
      order.kind = HandOrder::Kind::kForget;
      order.id = row.id;
      order.lease = lease;
      orders.push_back(std::move(order));
    }
  });
  if (read) return complain(read->message);
  if (jobs == 0) return;
  hands_->order(std::move(orders));
  const Result<std::size_t> gone = journal_->forget_ended_before(before, kForgetAtOnce);
  forget_counts();
  if (!gone.ok()) complain(gone.error().message);
}

}  // namespace muster
