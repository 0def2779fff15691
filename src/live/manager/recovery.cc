#include "live/manager/recovery.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/types/check.h"
#include "live/codec/era_replay.h"
#include "live/config/settings.h"
#include "live/manager/eras.h"

namespace muster {

namespace {

constexpr std::size_t kMaxNodeNotes = 2'000;  // Maximum read at the start.

// With a new journal, job ids start at 1 again. Old records with the same names would be mistaken
// for those of new jobs.
MaybeError refuse_old_leases(const LeaseFiles& files) {
  if (files.empty()) return std::nullopt;
  return Error{files.directory() +
                   ": contains leases, but their journal is missing; restore journal.db, or "
                   "move the directory away",
               ErrorCode::kConflict};
}

// Opens the files and replays the journal. Used once.
class Recovery {
 public:
  Recovery(Instance instance, Journal journal, const std::function<void(const std::string&)>& log)
      : instance_(std::move(instance)), journal_(std::move(journal)), log_(log) {}

  Result<Recovered> from_nothing(const std::string& scheduling, JobReader rows,
                                 JobReader worker_rows) &&;
  Result<Recovered> from_snapshot(const Snapshot& snapshot, const std::string& scheduling,
                                  JobReader rows, JobReader worker_rows) &&;
  MaybeError remember_nodes(JobReader& rows);
  Journal& journal() { return journal_; }

 private:
  MaybeError replay(EraReplay& era, std::uint64_t after, const LiveClock& clock);
  void write_notes() {
    if (const MaybeError refusal = notes_->write(0, journal_)) log_(refusal->message);
  }

  Instance instance_;
  Journal journal_;
  const std::function<void(const std::string&)>& log_;
  std::unique_ptr<NoteLog> notes_ = std::make_unique<NoteLog>();
  std::size_t since_snapshot_ = 0;
  bool repeatable_ = true;  // Another engine version could repeat the era.
};

MaybeError Recovery::remember_nodes(JobReader& rows) {
  Result<std::vector<EventRow>> events = rows.latest_of_no_job(kMaxNodeNotes);
  if (!events.ok()) return events.error();
  std::for_each(events.value().rbegin(), events.value().rend(),
                [this](const EventRow& event) { notes_->remember(event); });
  return std::nullopt;
}

Result<Recovered> Recovery::from_nothing(const std::string& scheduling, JobReader rows,
                                         JobReader worker_rows) && {
  Result<RosterSettings> wanted = roster_settings(scheduling);
  if (!wanted.ok()) return wanted.error();
  const LiveClock clock(instance_, Instant());
  return Recovered{std::move(instance_),
                   clock,
                   std::move(journal_),
                   std::move(rows),
                   std::move(worker_rows),
                   Roster(std::move(wanted).value()),
                   std::move(notes_),
                   true,
                   scheduling,
                   scheduling,
                   {},
                   0};
}

Result<Recovered> Recovery::from_snapshot(const Snapshot& snapshot, const std::string& scheduling,
                                          JobReader rows, JobReader worker_rows) && {
  Result<EraSnapshot> begun = read_era_snapshot(snapshot.body);
  if (!begun.ok()) return begun.error();
  const std::string settings = begun.value().settings;
  notes_->continue_after(begun.value().last_note);
  // If the instance file was lost, its times and tokens must stay the same.
  instance_.id = begun.value().instance;
  instance_.born_unix_us = begun.value().born_unix_us;
  Result<RosterSettings> old = roster_settings(settings);
  if (!old.ok()) return old.error();
  Result<std::vector<LearnedProfile>> profiles = learned_profiles_in(settings);
  if (!profiles.ok()) return profiles.error();
  repeatable_ = begun.value().decided.has_value();
  Result<EraReplay> era = EraReplay::begin(begun.value(), std::move(old).value());
  if (!era.ok()) return era.error();
  Roster& roster = era.value().roster();
  // The journal contains the notes of its entries. It contains those of the new era only if a
  // commit followed it.
  const LiveClock clock(instance_, Instant());
  const bool known = journal_.last_event() > notes_->last();
  notes_->take(roster, clock);
  if (!known) write_notes();
  if (const MaybeError refusal = replay(era.value(), snapshot.seq, clock)) return *refusal;
  notes_->drop_fresh();
  notes_->continue_after(std::max(notes_->last(), journal_.last_event()));
  const LiveClock clock_after(instance_, roster.now());
  std::string wanted = with_learned(scheduling, profiles.value());
  if (era.value().is_other_version()) {
    const std::uint64_t steps = era.value().steps();
    log_(
        fmt::format("recovered {} step{} decided by engine version {}; this is version {}, which "
                    "decides from now on",
                    steps, steps == 1 ? "" : "s", era.value().engine(), kEngineVersion));
  }
  return Recovered{std::move(instance_),
                   clock_after,
                   std::move(journal_),
                   std::move(rows),
                   std::move(worker_rows),
                   std::move(roster),
                   std::move(notes_),
                   era.value().is_other_version() || !repeatable_,
                   settings,
                   std::move(wanted),
                   std::move(profiles).value(),
                   since_snapshot_};
}

// Every entry must match the roster state at the time it was written.
MaybeError Recovery::replay(EraReplay& era, std::uint64_t after, const LiveClock& clock) {
  MaybeError wrong;
  const MaybeError refusal = journal_.for_each_from(after + 1, [&](std::uint64_t number,
                                                                   const JournalEntry& entry) {
    if (wrong) return;
    const Result<JournalStep> step = read_step(entry.body);
    if (!step.ok()) {
      wrong = Error{fmt::format("entry {}: {}", number, step.error().message), ErrorCode::kCorrupt};
    } else if (!era.agrees(step.value())) {
      wrong = Error{
          fmt::format("entry {}: the replay of earlier entries led to different decisions; another "
                      "version of Muster wrote them: start and stop that version once, then this "
                      "one",
                      number),
          ErrorCode::kConflict};
    } else if (const MaybeError misfit = era.take(entry.at, step.value())) {
      wrong = Error{fmt::format("entry {}: {}", number, misfit->message), ErrorCode::kCorrupt};
    } else {
      repeatable_ = repeatable_ && step.value().decided;
      notes_->drop_fresh();
      notes_->take(era.roster(), clock);
      since_snapshot_ += snapshot_weight(step.value().inputs);
      // Written by a version that did not store events.
      if (number < journal_.events_from()) write_notes();
    }
  });
  return refusal ? refusal : wrong;
}

}  // namespace

Result<Recovered> recover(const std::string& home, const LeaseFiles& files,
                          const std::string& scheduling,
                          const std::function<void(const std::string&)>& log) {
  Result<Instance> instance = open_instance(home);
  if (!instance.ok()) return instance.error();
  const Result<SecretKey> lease_key = open_key_file(home + "/lease.key");
  if (!lease_key.ok()) return lease_key.error();
  const std::string file = home + "/journal.db";
  Result<Journal> journal = Journal::open(file);
  if (!journal.ok()) return journal.error();
  Result<JobReader> rows = JobReader::open(file);
  if (!rows.ok()) return rows.error();
  Result<JobReader> worker_rows = JobReader::open(file);
  if (!worker_rows.ok()) return worker_rows.error();
  Recovery recovery(std::move(instance).value(), std::move(journal).value(), log);
  if (const MaybeError refusal = recovery.remember_nodes(rows.value())) return *refusal;
  if (const auto wanted = roster_settings(scheduling); !wanted.ok()) return wanted.error();
  const Result<std::optional<Snapshot>> snapshot = recovery.journal().newest_snapshot();
  if (!snapshot.ok()) return snapshot.error();
  if (!snapshot.value()) {
    if (const MaybeError refusal = refuse_old_leases(files)) return *refusal;
  }
  Result<Recovered> recovered =
      snapshot.value() ? std::move(recovery).from_snapshot(*snapshot.value(), scheduling,
                                                           std::move(rows).value(),
                                                           std::move(worker_rows).value())
                       : std::move(recovery).from_nothing(scheduling, std::move(rows).value(),
                                                          std::move(worker_rows).value());
  if (recovered.ok()) {
    recovered.value().lease_key = lease_key.value();
    return recovered;
  }
  return Error{file + ": " + recovered.error().message, recovered.error().code};
}

}  // namespace muster
