#include "engine/planner/gandiva_packs.h"

#include <algorithm>
#include <iterator>
#include <set>

namespace muster {

GandivaPacks::Sort GandivaPacks::sort_of(PlanWriter pen, JobId a, JobId b, std::int32_t gpus) {
  const auto [low, high] = std::minmax(pen.spec(a).profile, pen.spec(b).profile);
  return {low, high, gpus};
}

void GandivaPacks::judge_one(PlanWriter pen, GandivaFloor& floor, Trial& trial) {
  const std::optional<double> first = floor.reported(trial.first);
  const std::optional<double> second = floor.reported(trial.second);
  const bool complete = first && second;
  if (!complete && trial.more > 0) {
    --trial.more;
    trial.until = pen.now() + floor.slice();
    return;
  }
  trial.until = Instant::never();
  floor.end_trial({trial.first, trial.second});
  // With time-slicing, the fractions of their speeds alone would add up to 1.
  const auto part = [&](JobId job, double speed) {
    const double alone = pen.view.speed(job);
    return alone > 0 ? speed / alone : 0;
  };
  const bool pays = complete && part(trial.first, *first) + part(trial.second, *second) > 1;
  const GpuSeats::Row row = floor.seats().row_of(trial.first);
  pays_[sort_of(pen, trial.first, trial.second, floor.seats()[row].gpus)] = pays;
  if (!pays) floor.set_manner(pen, row, SharingMode::kTimeSliced);
}

void GandivaPacks::judge(PlanWriter pen, GandivaFloor& floor) {
  std::erase_if(trials_, [&](Trial& trial) {
    if (floor.trial(trial.first) != trial.id) return true;  // The trial was aborted.
    if (trial.until <= pen.now()) judge_one(pen, floor, trial);
    return trial.until == Instant::never();
  });
}

// Lone jobs, one per profile, size and GPU type, if other seats of their size are shared.
GandivaPacks::BySize GandivaPacks::alone(PlanWriter pen, const GandivaFloor& floor) {
  BySize jobs;
  std::set<std::tuple<std::int32_t, ProfileId, GpuTypeId>> sorts;
  const GpuSeats::Levels& levels = floor.seats().levels();
  for (auto at = levels.begin(); at != levels.end(); ++at) {
    const auto next = std::next(at);
    if (at->first.second != 1 || next == levels.end() || next->first.first != at->first.first) {
      continue;
    }
    for (const GpuSeats::Row row : at->second) {
      const GpuSeats::Seat& seat = floor.seats()[row];
      const JobId job = seat.members.front();
      const JobSpec& spec = pen.spec(job);
      if (GandivaFloor::is_grown(pen, seat)) continue;
      if (!floor.has_held(pen.view, job, floor.slice())) {
        again_ = true;
        continue;
      }
      const NodeId node = seat.placement.front().node;
      const GpuTypeId type = floor.cluster().topology().node(node).gpu_type;
      if (!sorts.insert({seat.gpus, spec.profile, type}).second) continue;
      jobs[seat.gpus].emplace_back(floor.cluster().profile(spec).gpu_use(), job);
    }
  }
  for (auto& [gpus, candidates] : jobs) std::sort(candidates.begin(), candidates.end());
  return jobs;
}

// Time-sliced jobs that may have a partner: their only companion or a lone job.
std::vector<GandivaPacks::Candidate> GandivaPacks::time_sliced(PlanWriter pen,
                                                               const GandivaFloor& floor) {
  std::vector<Candidate> jobs;
  for (const auto& [level, rows] : floor.seats().levels()) {
    if (level.second == 1) continue;
    if (level.second > 2 && !floor.seats().levels().contains({level.first, 1})) continue;
    for (const GpuSeats::Row row : rows) {
      for (const JobId job : floor.seats()[row].members) {
        if (floor.may_move(pen.view, job)) {
          jobs.emplace_back(floor.cluster().profile(pen.spec(job)).gpu_use(), job);
        } else {
          again_ = true;
        }
      }
    }
  }
  std::sort(jobs.begin(), jobs.end());
  return jobs;
}

bool GandivaPacks::promises(PlanWriter pen, JobId job, JobId other, std::int32_t gpus,
                            bool known) const {
  const auto found = pays_.find(sort_of(pen, job, other, gpus));
  const bool wanted = known ? found != pays_.end() && found->second : found == pays_.end();
  return wanted && pairs_->fits(pen.spec(job).profile, pen.spec(other).profile, gpus);
}

// Returns its only companion, or a lone job with as many GPUs.
std::optional<JobId> GandivaPacks::partner(PlanWriter pen, const GandivaFloor& floor, JobId job,
                                           const BySize& alone, bool known) const {
  const GpuSeats::Seat& seat = floor.seats().of(job);
  if (seat.members.size() == 2) {
    const JobId other = seat.members[seat.members.front() == job ? 1 : 0];
    if (floor.has_held(pen.view, other, floor.slice()) &&
        promises(pen, job, other, seat.gpus, known)) {
      return other;
    }
  }
  const auto same_size = alone.find(seat.gpus);
  if (same_size == alone.end()) return std::nullopt;
  for (const auto& [use, other] : same_size->second) {
    if (!floor.suits(pen.spec(job), floor.seats().of(other).placement)) continue;
    if (promises(pen, job, other, seat.gpus, known)) return other;
  }
  return std::nullopt;
}

bool GandivaPacks::try_pair(PlanWriter pen, GandivaFloor& floor, JobId job, JobId other) {
  const GpuSeats::Row row = floor.seats().row_of(other);
  if (floor.seats().row_of(job) == row) {
    floor.set_manner(pen, row, SharingMode::kPacked);
  } else if (!floor.pack(pen, job, row)) {
    return false;
  }
  const std::uint32_t id = floor.begin_trial({job, other});
  trials_.push_back({job, other, id, pen.now() + floor.slice(), GandivaFloor::kMoreSlices});
  return true;
}

void GandivaPacks::attempt(PlanWriter pen, GandivaFloor& floor) {
  if (pairs_ == nullptr || floor.seats().time_sliced() == 0 || pen.now() < attempt_at_) return;
  attempt_at_ = pen.now() + floor.slice();
  seen_ = floor.seats().version();
  again_ = false;
  const std::vector<Candidate> candidates = time_sliced(pen, floor);
  const BySize lone = alone(pen, floor);
  for (const bool known : {true, false}) {
    // If a job finds no partner, equal jobs find none either, unless they have a single companion.
    std::set<std::tuple<ProfileId, std::optional<GpuTypeId>, std::int32_t>> alike;
    for (const auto& [use, job] : candidates) {
      const JobSpec& spec = pen.spec(job);
      const bool with_one = floor.seats().of(job).members.size() == 2;
      if (!with_one && alike.contains({spec.profile, spec.gpu_type, spec.gpus})) continue;
      if (const auto other = partner(pen, floor, job, lone, known)) {
        try_pair(pen, floor, job, *other);
        return;
      }
      alike.insert({spec.profile, spec.gpu_type, spec.gpus});
    }
  }
}

Instant GandivaPacks::next(const GandivaFloor& floor) const {
  Instant first = Instant::never();
  for (const Trial& trial : trials_) first = std::min(first, trial.until);
  if (pairs_ == nullptr || floor.seats().time_sliced() == 0) return first;
  const bool worth_it = again_ || seen_ != floor.seats().version();
  return worth_it ? std::min(first, attempt_at_) : first;
}

}  // namespace muster
