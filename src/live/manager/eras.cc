#include "live/manager/eras.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/text/text.h"
#include "live/codec/era_snapshot.h"
#include "live/codec/roster_codec.h"
#include "live/config/settings.h"

namespace muster {

namespace {

constexpr std::size_t kForgetAtOnce = 5'000;

std::string ids_of(const std::vector<Order>& orders) {
  std::vector<std::string> ids;
  for (const Order& order : orders) ids.push_back(std::to_string(order.id));
  return first_few(ids);
}

}  // namespace

std::size_t snapshot_weight(std::span<const Input> inputs) {
  const auto jobs = std::count_if(inputs.begin(), inputs.end(), [](const Input& input) {
    return std::holds_alternative<SubmitInput>(input);
  });
  return std::max<std::size_t>(1, static_cast<std::size_t>(jobs));
}

MaybeError Eras::begin() { return begin_with(settings_.in_force); }

MaybeError Eras::begin_with(const std::string& scheduling) {
  const Roster& roster = *parts_.roster;
  Journal& journal = parts_.journal;
  Result<RosterSettings> settings = roster_settings(scheduling);
  if (!settings.ok()) return settings.error();
  EraSnapshot begun;
  begun.instance = parts_.instance.id;
  begun.born_unix_us = parts_.instance.born_unix_us;
  begun.settings = scheduling;
  begun.roster = roster_json(roster.state());
  begun.last_note = parts_.notes.last();
  // The new roster is read from the snapshot, as after a restart.
  Roster again(std::move(settings).value());
  const Result<RosterState> kept = read_roster(begun.roster);
  if (!kept.ok()) return kept.error();
  const Result<std::vector<Order>> unkept = again.restore(kept.value());
  if (!unkept.ok()) return unkept.error();
  if (!unkept.value().empty()) {  // Only if another engine version started them.
    return Error{fmt::format("this version cannot keep running jobs {}; start the version "
                             "that wrote the journal, and stop these jobs with it first",
                             ids_of(unkept.value())),
                 ErrorCode::kConflict};
  }
  begun.decided = again.decisions();
  const Snapshot snapshot{journal.next_seq() - 1, era_snapshot_json(begun)};
  if (const MaybeError refusal = journal.save_snapshot(snapshot)) return refusal;
  // From here on the snapshot is valid, even if the old entries cannot be deleted.
  if (const MaybeError refusal = journal.truncate_before(snapshot.seq + 1)) {
    parts_.log("cannot delete old journal entries: " + refusal->message);
  }
  settings_.since_snapshot = 0;
  settings_.in_force = scheduling;
  parts_.roster.replace(std::move(again));
  return std::nullopt;
}

Result<bool> Eras::adapt() {
  Result<RosterSettings> wanted = roster_settings(settings_.wanted);
  if (!wanted.ok()) return wanted.error();
  Roster fresh(std::move(wanted).value());
  const Result<std::vector<Order>> unkept = fresh.restore(parts_.roster->state());
  if (!unkept.ok()) return unkept.error();
  if (unkept.value().empty()) {
    if (const MaybeError refusal = begin_with(settings_.wanted)) return *refusal;
    parts_.log("the new settings are in force; all running jobs continue");
    logged_.clear();
    if (next_nodes_) settings_.nodes = *std::exchange(next_nodes_, std::nullopt);
    return true;
  }
  const std::string words = fmt::format(
      "the new settings take effect when these running jobs, which do not fit them, have ended: {}",
      ids_of(unkept.value()));
  if (std::exchange(logged_, words) != words) parts_.log(words);
  return false;
}

Result<bool> Eras::use_profiles(std::span<const LearnedProfile> profiles) {
  settings_.wanted = with_learned(settings_.wanted, profiles);
  const std::string scheduling = with_learned(settings_.in_force, profiles);
  if (scheduling == settings_.in_force) return false;
  if (const MaybeError refusal = begin_with(scheduling)) return *refusal;
  return true;
}

void Eras::want(const std::string& scheduling, std::span<const LearnedProfile> profiles,
                std::vector<NodeCaveats> nodes) {
  const Result<RosterSettings> usable = roster_settings(scheduling);
  if (!usable.ok()) {
    parts_.log("ignoring invalid new settings: " + usable.error().message);
    return;
  }
  settings_.wanted = with_learned(scheduling, profiles);
  next_nodes_ = std::move(nodes);
  if (!is_pending()) settings_.nodes = *std::exchange(next_nodes_, std::nullopt);
}

bool Eras::renew() {
  const Journal& journal = parts_.journal;
  if (journal.health() != JournalHealth::kSound || journal.buffered() > 0) return false;
  const MaybeError refusal = begin();
  if (!refusal) return true;
  parts_.log("cannot save a snapshot: " + refusal->message);
  settings_.since_snapshot = 0;  // Do not retry in every turn.
  return false;
}

void Eras::drop_known(std::vector<Input>& inputs) {
  std::set<std::string> later;  // Later reports about a node or a lease replace earlier ones.
  std::vector<Input> kept;
  for (std::size_t i = inputs.size(); i-- > 0;) {
    const auto* state = std::get_if<NodeStateInput>(&inputs[i]);
    const auto* note = std::get_if<LeaseNoteInput>(&inputs[i]);
    if (state != nullptr) {
      if (!later.insert(state->node).second) continue;
      node_states_[state->node] = *state;
      if (parts_.roster->knows(*state)) continue;
    } else if (note != nullptr) {
      if (!later.insert(fmt::format("/{}.{}", note->id, note->lease)).second) continue;
      if (parts_.roster->knows(*note)) continue;
    }
    kept.push_back(std::move(inputs[i]));
  }
  std::reverse(kept.begin(), kept.end());
  inputs = std::move(kept);
}

std::vector<Input> Eras::node_states() const {
  std::vector<Input> states;
  for (const auto& [name, state] : node_states_) states.emplace_back(state);
  return states;
}

Result<std::size_t> forget_ended(Journal& journal, JobReader& rows, LeaseRunner& runner,
                                 Instant before) {
  std::vector<LeaseOrder> orders;
  std::size_t jobs = 0;
  const MaybeError read = rows.for_each_ended_since(Instant(), [&](const JobRow& row) {
    if (!row.ended || *row.ended >= before || jobs == kForgetAtOnce) return;
    ++jobs;
    for (std::uint32_t lease = 1; lease <= row.attempts; ++lease) {
      LeaseOrder order;
      order.kind = LeaseOrder::Kind::kForget;
      order.id = row.id;
      order.lease = lease;
      orders.push_back(std::move(order));
    }
  });
  if (read) return *read;
  if (jobs == 0) return jobs;
  runner.order(std::move(orders));  // First, because a record without a row would never be deleted.
  return journal.forget_ended_before(before, kForgetAtOnce);
}

}  // namespace muster
