#include "study/past/era.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/text/text.h"
#include "live/codec/era_replay.h"
#include "live/config/settings.h"
#include "live/store/journal_reader.h"
#include "study/past/row_history.h"

namespace muster {

namespace {

constexpr std::size_t kRowText = 2'000;  // Rows truncate the list of nodes to this length.
constexpr std::uint64_t kEntriesBetweenLooks = 100;  // Entries between two calls of go_on().

struct Beginning {
  std::uint64_t seq = 0;
  EraSnapshot era;
};

Result<Beginning> read_beginning(JournalReader& reader, const std::string& database) {
  const Result<std::optional<Snapshot>> snapshot = reader.newest_snapshot();
  if (!snapshot.ok()) return snapshot.error();
  if (!snapshot.value()) return Error{database + ": no manager has used it yet"};
  Result<EraSnapshot> era = read_era_snapshot(snapshot.value()->body);
  if (!era.ok()) return Error{database + ": " + era.error().message};
  return Beginning{snapshot.value()->seq, std::move(era).value()};
}

// Steps a roster through the era and compares its decisions with the rows in the tables.
class Replay {
 public:
  Replay(EraReplay& era, LivePast& past) : era_(era), roster_(era.roster()), past_(past) {
    past_.era.begin = roster_.now();
    for (const auto& [id, job] : roster_.jobs()) {
      if (job.row || job.leases_used > 0) entered_.insert(id);
    }
    look();
  }

  // Returns true while the replay agrees with the records.
  bool take(std::uint64_t number, const JournalEntry& entry) {
    number_ = number;
    const Result<JournalStep> step = read_step(entry.body);
    if (!step.ok()) return differs(step.error().message);
    if (!era_.agrees(step.value())) {
      return differs(era_.is_other_version()
                         ? "another version of Muster wrote it without storing its decisions"
                         : "the replay of earlier entries gives different decisions");
    }
    if (const std::string why = misfit(step.value().inputs); !why.empty()) return differs(why);
    if (const MaybeError misfit = era_.take(entry.at, step.value()))
      return differs(misfit->message);
    for (const Input& input : step.value().inputs) {
      if (const auto* hold = std::get_if<HoldInput>(&input)) held_.insert(hold->id);
    }
    ++past_.era.entries;
    past_.era.inputs += step.value().inputs.size();
    look();
    return !past_.era.differs;
  }

  void finish() {
    past_.era.digest = roster_.digest();
    past_.era.held = static_cast<std::int64_t>(held_.size());
    past_.history.last = std::max(past_.history.last, roster_.now());
  }

 private:
  bool differs(const std::string& why) {
    if (!past_.era.differs) {
      past_.era.differs = Error{
          number_ == 0 ? fmt::format("{}: first snapshot of the era: {}", past_.history.source, why)
                       : fmt::format("{}: entry {}: {}", past_.history.source, number_, why),
          ErrorCode::kConflict};
    }
    return false;
  }

  // Checks for inputs that the roster would treat as a bug of its caller.
  std::string misfit(const std::vector<Input>& inputs) const {
    std::set<LiveId> fresh;
    for (const Input& input : inputs) {
      const auto* submit = std::get_if<SubmitInput>(&input);
      if (submit == nullptr) continue;
      if (roster_.find(submit->id) != nullptr || !fresh.insert(submit->id).second) {
        return fmt::format("job {} is submitted twice", submit->id);
      }
    }
    return "";
  }

  KnownJob* known(LiveId id) {
    const KnownJob* job = past_.history.find(id);
    return job == nullptr
               ? nullptr
               : &past_.history.jobs[static_cast<std::size_t>(job - past_.history.jobs.data())];
  }

  // Rows of finished jobs may have been deleted. If a job has a row, all its leases have rows.
  const PastLease* row_of(LiveId id, std::uint32_t number, const Placement& placement) {
    const KnownJob* job = past_.history.find(id);
    if (job == nullptr) return nullptr;
    for (const PastLease& lease : job->leases) {
      if (lease.number != number) continue;
      const std::string where = roster_.where(placement);
      if (where == lease.nodes ||
          (lease.nodes.size() == kRowText && where.starts_with(lease.nodes))) {
        return &lease;
      }
      differs(fmt::format("lease {} of job {} gets {}, but had {}", number, id, where,
                          in_quotes(lease.nodes)));
      return nullptr;
    }
    differs(fmt::format("job {} gets a lease {} that it never had", id, number));
    return nullptr;
  }

  void look() {
    for (const Order& order : roster_.orders()) {
      ++past_.era.decisions;
      if (order.kind != Order::Kind::kStart) continue;
      ++past_.era.leases;
      row_of(order.id, order.lease, order.placement);
    }
    for (const LeaseRecord& record : roster_.over()) {
      const PastLease* row = row_of(record.id, record.lease.number, record.lease.placement);
      if (row == nullptr) continue;
      // Older rows contain no reason.
      const bool same_reason = !row->reason || row->reason == find_reason(record.end.reason);
      if (row->end == roster_.now() && row->fate == record.end.fate && same_reason) continue;
      differs(fmt::format("lease {} of job {} ends differently", record.lease.number, record.id));
    }
    for (const LiveId id : roster_.touched()) {
      if (const LiveJob* job = roster_.find(id)) look(*job);
    }
  }

  void look(const LiveJob& job) {
    KnownJob* row = known(job.id);
    if (row == nullptr) return;
    if (job.row && entered_.insert(job.id).second) row->eligible = roster_.now();
    if (!job.end || row->state == *job.end) return;
    differs(fmt::format("job {} ends as {}, but was {}", job.id, state_name(*job.end),
                        state_name(row->state)));
  }

  EraReplay& era_;
  const Roster& roster_;
  LivePast& past_;
  std::uint64_t number_ = 0;
  std::set<LiveId> held_;
  std::set<LiveId> entered_;  // Jobs that the scheduler has seen.
};

}  // namespace

Result<LivePast> read_live_past(const std::string& database, const PastLimits& limits) {
  Result<JournalReader> opened = JournalReader::open(database);
  if (!opened.ok()) return opened.error();
  JournalReader reader = std::move(opened).value();
  const Result<Beginning> beginning = read_beginning(reader, database);
  if (!beginning.ok()) return beginning.error();
  Result<RosterSettings> settings = roster_settings(beginning.value().era.settings);
  if (!settings.ok()) return Error{database + ": " + settings.error().message};
  LivePast past;
  past.history.source = database;
  past.history.born_unix_us = beginning.value().era.born_unix_us;
  past.history.settings = settings.value();
  if (const MaybeError refusal = read_rows(reader, limits, past.history)) return *refusal;

  Result<EraReplay> era = EraReplay::begin(beginning.value().era, std::move(settings).value());
  if (!era.ok()) return Error{database + ": " + era.error().message};
  Replay replay(era.value(), past);
  bool going = !past.era.differs;
  bool stopped = false;
  const MaybeError broken = reader.for_each_from(
      beginning.value().seq + 1, [&](std::uint64_t number, const JournalEntry& entry) {
        stopped = stopped || (number % kEntriesBetweenLooks == 0 && !limits.go_on());
        if (going && !stopped) going = replay.take(number, entry);
      });
  if (stopped) return Error{kStoppedEarly};
  if (broken && !past.era.differs) past.era.differs = broken;
  replay.finish();
  return past;
}

}  // namespace muster
