// Checks the journal by replaying it entry by entry, and the tables of the database.

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "base/text/text.h"
#include "invariants.h"
#include "live/codec/era_replay.h"
#include "live/config/settings.h"
#include "live/store/job_reader.h"
#include "live/store/journal.h"

namespace muster::invariants {

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// A temporary copy of the journal, so that opening it does not change the original.
class Copy {
 public:
  explicit Copy(const std::string& home) {
    std::string place = (fs::temp_directory_path() / "muster-invariants.XXXXXX").string();
    if (::mkdtemp(place.data()) == nullptr) return;
    place_ = place;
    for (const char* name : {"journal.db", "journal.db-wal"}) {
      std::error_code error;
      fs::copy_file(fs::path(home) / name, place_ / name, error);
    }
  }
  Copy(const Copy&) = delete;
  Copy& operator=(const Copy&) = delete;
  ~Copy() {
    std::error_code error;
    if (!place_.empty()) fs::remove_all(place_, error);
  }
  bool whole() const { return fs::exists(place_ / "journal.db"); }
  std::string file() const { return (place_ / "journal.db").string(); }

 private:
  fs::path place_;
};

std::vector<std::vector<Gpu>> parts_of(const Roster& roster, const Placement& placement) {
  std::vector<std::vector<Gpu>> parts;
  for (const Share& share : placement) {
    std::vector<Gpu>& part = parts.emplace_back();
    for (int slot = 0; slot < 64; ++slot) {
      if ((share.slots >> slot & 1) == 0) continue;
      part.push_back({roster.settings().topology.node(share.node).name, slot});
    }
  }
  return parts;
}

// Parses "node-1:0-1+3,node-2:3", the format of Roster::where.
std::vector<std::vector<Gpu>> read_where(std::string_view text) {
  std::vector<std::vector<Gpu>> parts;
  if (text.empty()) return parts;
  for (const std::string_view node : split(text, ',')) {
    std::vector<Gpu>& part = parts.emplace_back();
    const std::size_t colon = node.rfind(':');
    if (colon == std::string_view::npos) continue;
    for (const std::string_view range : split(node.substr(colon + 1), '+')) {
      const std::vector<std::string_view> ends = split(range, '-');
      const int first = std::atoi(std::string(ends.front()).c_str());
      const int last = std::atoi(std::string(ends.back()).c_str());
      for (int slot = first; slot <= last; ++slot) {
        part.push_back({std::string(node.substr(0, colon)), slot});
      }
    }
  }
  return parts;
}

class Replay {
 public:
  Replay(EraReplay& era, Violations& wrong) : era_(era), roster_(era.roster()), wrong_(wrong) {
    for (const auto& [id, job] : roster_.jobs()) highest_ = std::max(highest_, id);
    for (const auto& [id, job] : roster_.jobs()) seen_[id] = job.leases_used;
    look(0);
  }

  void take(std::uint64_t number, const JournalEntry& entry) {
    const Result<JournalStep> step = read_step(entry.body);
    if (!step.ok()) return say(number, step.error().message);
    if (!era_.agrees(step.value())) {
      return say(number, "replayed, what came before it comes out differently");
    }
    for (const Input& input : step.value().inputs) {
      const auto* submit = std::get_if<SubmitInput>(&input);
      if (submit == nullptr) continue;
      if (submit->id <= highest_) say(number, fmt::format("id {} is used again", submit->id));
      highest_ = std::max(highest_, submit->id);
    }
    if (const MaybeError misfit = era_.take(entry.at, step.value())) {
      return say(number, misfit->message);
    }
    for (const Order& order : roster_.orders()) {
      if (order.kind != Order::Kind::kStart) continue;
      std::uint32_t& last = seen_[order.id];
      if (order.lease <= last) {
        say(number, fmt::format("lease {} of job {} is ordered again", order.lease, order.id));
      }
      last = std::max(last, order.lease);
    }
    look(number);
  }

  LiveId highest() const { return highest_; }
  const std::map<LiveId, std::string>& ended() const { return ended_; }

 private:
  void say(std::uint64_t number, const std::string& words) {
    wrong_.push_back(fmt::format("entry {}: {}", number, words));
  }

  // Checks the resource ledger, and that no GPU has two leases.
  void look(std::uint64_t number) {
    roster_.engine().state().check_invariants();
    std::map<Gpu, LiveId> holders;
    int held = 0;
    bool stopping = false;
    for (const auto& [id, job] : roster_.jobs()) {
      if (job.end) ended_[id] = state_name(*job.end);
      if (!job.lease) continue;
      stopping = stopping || job.lease->stopping;
      for (const std::vector<Gpu>& part : parts_of(roster_, job.lease->placement)) {
        held += static_cast<int>(part.size());
        for (const Gpu& gpu : part) {
          const LiveId other = holders.emplace(gpu, id).first->second;
          if (other == id) continue;
          say(number,
              fmt::format("jobs {} and {} both have GPU {}:{}", other, id, gpu.node, gpu.slot));
        }
      }
    }
    // The resources of stopping leases count as free for planning.
    const int free = roster_.engine().state().ledger.free_gpus();
    const int total = roster_.settings().topology.total().gpus;
    if (!stopping && free + held != total) {
      say(number, fmt::format("{} GPUs held and {} free, of {}", held, free, total));
    }
  }

  EraReplay& era_;
  const Roster& roster_;
  Violations& wrong_;
  LiveId highest_ = 0;
  std::map<LiveId, std::uint32_t> seen_;  // The latest lease of each job.
  std::map<LiveId, std::string> ended_;   // Final states, from replayed entries.
};

MaybeError read_tables(JobReader& reader, Account& account) {
  JobFilter all;
  all.limit = 10'000'000;
  const Result<std::vector<JobRow>> rows = reader.jobs(all);
  if (!rows.ok()) return rows.error();
  for (const JobRow& row : rows.value()) {
    account.jobs[row.id] = {row.state, row.ended.has_value(), row.attempts};
    const Result<std::vector<AttemptRow>> attempts = reader.attempts(row.id);
    if (!attempts.ok()) return attempts.error();
    for (const AttemptRow& each : attempts.value()) {
      account.leases[{row.id, each.number}] = {each.state, read_where(each.nodes), false};
    }
  }
  return std::nullopt;
}

// The tables must match the journal.
void compare(const Roster& roster, const Replay& replay, Account& account, Violations& wrong) {
  for (const auto& [id, job] : roster.jobs()) {
    if (job.lease) {
      LeaseAccount& lease = account.leases[{id, job.lease->number}];
      lease.parts = parts_of(roster, job.lease->placement);
      lease.current = true;
    }
    const auto row = account.jobs.find(id);
    if (row == account.jobs.end()) {
      wrong.push_back(fmt::format("job {}: has no row in the table of jobs", id));
      continue;
    }
    if (row->second.leases_used != job.leases_used) {
      wrong.push_back(fmt::format("job {}: had {} leases, by the table {}", id, job.leases_used,
                                  row->second.leases_used));
    }
  }
  for (const auto& [id, row] : account.jobs) {
    const LiveJob* job = roster.find(id);
    if (row.over == (job != nullptr && !job->end)) {
      wrong.push_back(fmt::format("job {}: {} by the table, but {} by the journal", id, row.state,
                                  row.over ? "is not over" : "unknown or over"));
    }
  }
  for (const auto& [id, end] : replay.ended()) {
    const auto row = account.jobs.find(id);
    if (row == account.jobs.end() || row->second.state == end) continue;
    wrong.push_back(
        fmt::format("job {}: {} by the journal, {} by the table", id, end, row->second.state));
  }
}

// The events of a job begin with its submission and contain its end, if it ended, exactly once.
MaybeError check_stories(JobReader& reader, const Account& account, Violations& wrong) {
  for (const auto& [id, row] : account.jobs) {
    const Result<std::vector<EventRow>> events = reader.events({0, id, std::nullopt, 1'000});
    if (!events.ok()) return events.error();
    std::vector<std::string> kinds;
    for (const EventRow& event : events.value()) {
      const json told = json::parse(event.json, nullptr, false);
      kinds.push_back(told.is_object() ? told.value("kind", "") : "");
    }
    const auto count = [&](const char* kind) {
      return std::count(kinds.begin(), kinds.end(), kind);
    };
    const auto ends = count("done") + count("failed") + count("cancelled") + count("rejected");
    if (kinds.empty() || kinds.front() != "submitted" || count("submitted") != 1) {
      wrong.push_back(fmt::format("job {}: its events do not begin with its submission", id));
    } else if (ends != (row.over ? 1 : 0)) {
      wrong.push_back(fmt::format("job {}: is {}, but its events tell of {} end{}", id, row.state,
                                  ends, ends == 1 ? "" : "s"));
    }
  }
  return std::nullopt;
}

Result<EraReplay> restored(const Snapshot& snapshot) {
  const Result<EraSnapshot> begun = read_era_snapshot(snapshot.body);
  if (!begun.ok()) return begun.error();
  Result<RosterSettings> settings = roster_settings(begun.value().settings);
  if (!settings.ok()) return settings.error();
  return EraReplay::begin(begun.value(), std::move(settings).value());
}

}  // namespace

Result<Account> check_journal(const std::string& home, Violations& wrong) {
  const Copy copy(home);
  if (!copy.whole()) return Error{home + ": no journal.db, or it cannot be copied"};
  Result<Journal> journal = Journal::open(copy.file());
  if (!journal.ok()) return journal.error();
  Account account;
  Result<JobReader> reader = JobReader::open(copy.file());
  if (!reader.ok()) return reader.error();
  if (const MaybeError refusal = read_tables(reader.value(), account)) return *refusal;
  Violations stories;
  if (const MaybeError refusal = check_stories(reader.value(), account, stories)) return *refusal;

  const Result<std::optional<Snapshot>> snapshot = journal.value().newest_snapshot();
  if (!snapshot.ok()) return snapshot.error();
  if (!snapshot.value()) {
    if (!account.jobs.empty()) wrong.push_back("there are jobs, but no snapshot to begin from");
    return account;
  }
  Result<EraReplay> era = restored(*snapshot.value());
  if (!era.ok()) return era.error();
  Replay replay(era.value(), wrong);
  const MaybeError broken = journal.value().for_each_from(
      snapshot.value()->seq + 1, [&](std::uint64_t number, const JournalEntry& entry) {
        ++account.entries;
        if (wrong.empty()) replay.take(number, entry);
      });
  if (broken) wrong.push_back(broken->message);
  if (!wrong.empty()) return account;  // More checks would only repeat these errors.

  compare(era.value().roster(), replay, account, wrong);
  wrong.insert(wrong.end(), stories.begin(), stories.end());
  const LiveId next = journal.value().next_id();
  const LiveId known = account.jobs.empty() ? 0 : account.jobs.rbegin()->first;
  if (std::max(replay.highest(), known) >= next) {
    wrong.push_back(fmt::format("id {} will be used again", next));
  }
  return account;
}

}  // namespace muster::invariants
