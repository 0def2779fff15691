#pragma once

// A planner that drafts nonsense: starts, stops, moves and shares of random jobs.

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/types/check.h"
#include "base/types/random.h"
#include "engine/chain/nonsense_placement_testing.h"
#include "engine/core/planner.h"

namespace muster {

class NonsensePlanner final : public Planner {
 public:
  NonsensePlanner(std::uint64_t seed, bool drifts) : random_(seed), drifts_(drifts) {}

  void be_quiet() { quiet_ = true; }
  std::uint64_t accepted() const { return accepted_; }
  std::uint64_t refused() const { return refused_; }

  std::optional<std::string> refuse(const JobSpec& spec) override {
    if (spec.gpus > 8) return "too large";
    return std::nullopt;
  }
  void enqueue(const View& view, JobId job) override {
    MUSTER_CHECK(view.job_state(job) == JobState::kWaiting);
  }
  void forget(const View& view, JobId job, JobExit) override {
    MUSTER_CHECK(job.index() < view.job_count());
  }
  bool drifts() const override { return drifts_; }

  void plan(const View& view, Draft& draft, PlanTrigger) override {
    if (quiet_ || view.job_count() == 0) return;
    std::vector<Draft::Mark> marks;
    const bool sharing = one_in(2);  // Sharing cannot be rolled back.
    const std::uint64_t wishes = random_.below(25);
    for (std::uint64_t i = 0; i < wishes; ++i) {
      const JobId job = any_job(view);
      if (sharing && one_in(2)) {
        wish_together(view, draft, job);
        continue;
      }
      switch (random_.below(8)) {
        case 0:
          if (!sharing && !anyone_shares(view)) marks.push_back(draft.mark());
          break;
        case 1:
          if (marks.empty()) break;
          draft.rollback(marks.back());
          marks.pop_back();
          break;
        case 2:
          note(draft.stop(job));
          break;
        case 3:
          note(draft.replace(job, nonsense::any_placement(random_, view, draft, job)));
          break;
        default:
          note(draft.start(job, nonsense::any_placement(random_, view, draft, job)));
          break;
      }
    }
  }

 private:
  void wish_together(const View& view, Draft& draft, JobId job) {
    const SharingMode manner = one_in(2) ? SharingMode::kTimeSliced : SharingMode::kPacked;
    if (one_in(3)) {
      note(draft.set_manner(job, manner));
    } else {
      if (one_in(3)) note(draft.stop(job));
      note(draft.join(job, any_job(view), manner));
    }
  }
  static bool anyone_shares(const View& view) {
    return std::any_of(view.placed().begin(), view.placed().end(),
                       [&](JobId job) { return view.sharing_group(job) != nullptr; });
  }

  void note(bool accepted) { ++(accepted ? accepted_ : refused_); }
  bool one_in(std::uint64_t n) { return nonsense::one_in(random_, n); }

  JobId any_job(const View& view) {
    if (one_in(20)) return JobId(static_cast<std::uint32_t>(random_.next()));
    // Mostly new jobs, because old ones are finished.
    const std::uint64_t back = one_in(3)
                                   ? random_.below(view.job_count())
                                   : random_.below(std::min<std::size_t>(12, view.job_count()));
    return JobId(view.job_count() - 1 - back);
  }

  Random random_;
  bool drifts_;
  bool quiet_ = false;
  std::uint64_t accepted_ = 0;
  std::uint64_t refused_ = 0;
};

}  // namespace muster
