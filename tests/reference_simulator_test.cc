// A simple reference simulator: plain vectors, sorted again at each event, without nodes and
// leases. On one pool of GPUs with free preemption, both simulators must agree to the microsecond
// for each job. It shares only the types of time with engine/core.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "base/types/random.h"
#include "base/types/time.h"
#include "campaign.h"
#include "sim/run/simulator.h"

namespace muster {
namespace {

__extension__ typedef __int128 Huge;

constexpr std::int64_t kSecond = 1'000'000;
constexpr std::int64_t kQuantum = 300 * kSecond;
constexpr std::int64_t kNever = std::int64_t{1} << 62;

struct ReferenceJob {
  std::int64_t submit = 0;  // All times are in microseconds.
  std::int64_t duration = 0;
  std::int64_t estimate = 0;
  std::int64_t gpus = 1;
  // Current state.
  bool running = false;
  bool done = false;
  std::int64_t worked = 0;
  std::int64_t start = kNever;
  std::int64_t end = kNever;
  std::int64_t believed_end = 0;
  std::int64_t preemptions = 0;

  // Remaining time that a scheduler may use, based on the estimate.
  std::int64_t remaining() const { return std::max<std::int64_t>(1, estimate - worked); }
};

// Numerator and denominator of the sort key of a policy, ascending.
struct Key {
  std::int64_t over = 0;
  std::int64_t under = 1;
};

struct ReferencePolicy {
  std::string name;
  bool waits = false;     // Waits for the first job that does not fit.
  bool reserves = false;  // EASY.
  bool preempts = false;
  bool drifts = false;  // Preempts only at ticks.
  std::function<Key(const ReferenceJob&, std::int64_t now)> key;
};

std::vector<ReferencePolicy> reference_policies() {
  const auto age = [](const ReferenceJob& job, std::int64_t) { return Key{job.submit}; };
  const auto attained = [](const ReferenceJob& job, std::int64_t) {
    return Key{job.worked * job.gpus};
  };
  return {
      {"fifo", true, false, false, false, age},
      {"fit-first", false, false, false, false, age},
      {"backfill", false, true, false, false, age},
      {"smallest-first", false, false, true, false,
       [](const ReferenceJob& job, std::int64_t) { return Key{job.gpus}; }},
      {"sjf", false, false, false, false,
       [](const ReferenceJob& job, std::int64_t) { return Key{job.estimate}; }},
      {"srtf", false, false, true, false,
       [](const ReferenceJob& job, std::int64_t) { return Key{job.remaining()}; }},
      {"srsf", false, false, true, false,
       [](const ReferenceJob& job, std::int64_t) { return Key{job.remaining() * job.gpus}; }},
      {"las", false, false, true, true, attained},
      {"ftf", false, false, true, true,
       [](const ReferenceJob& job, std::int64_t now) {
         return Key{job.submit - now - job.remaining(), job.estimate};  // -rho.
       }},
      // With proportional shares, the dominant resource is the GPU.
      {"drf", false, false, true, true, attained},
  };
}

class Reference {
 public:
  Reference(std::vector<ReferenceJob> jobs, std::int64_t gpus, ReferencePolicy policy,
            std::int64_t round)
      : jobs_(std::move(jobs)), gpus_(gpus), policy_(std::move(policy)), round_(round) {}

  std::vector<ReferenceJob> run() {
    while (true) {
      const std::int64_t next = next_time();
      if (next == kNever) return jobs_;
      for (ReferenceJob& job : jobs_) {
        if (job.running) job.worked += next - now_;
      }
      const bool again = next == now_ && planned_;  // Only jobs of length 0 cause a second plan.
      now_ = next;
      for (ReferenceJob& job : jobs_) {
        if (!job.running || job.worked < job.duration) continue;
        job.running = false;
        job.done = true;
        job.end = now_;
      }
      planned_ = true;
      if (round_ == 0) {
        plan(policy_.preempts && (!policy_.drifts || (now_ % kQuantum == 0 && !again)));
      } else if (now_ % round_ == 0 && !again) {
        plan(policy_.preempts);
      }
    }
  }

 private:
  bool waits(const ReferenceJob& job) const {
    return !job.done && !job.running && job.submit <= now_;
  }

  std::int64_t next_time() const {
    std::int64_t next = kNever;
    bool anybody = false;
    bool anyone_waits = false;
    for (const ReferenceJob& job : jobs_) {
      if (job.submit > now_ || !planned_) next = std::min(next, job.submit);
      if (job.running) next = std::min(next, now_ + job.duration - job.worked);
      anyone_waits = anyone_waits || waits(job);
      anybody = anybody || !job.done;
    }
    const std::int64_t tick = round_ > 0 ? round_ : policy_.drifts && anyone_waits ? kQuantum : 0;
    if (tick > 0 && anybody && planned_) next = std::min(next, (now_ / tick + 1) * tick);
    return next;
  }

  // Returns the waiting (and running) jobs in policy order.
  std::vector<ReferenceJob*> in_order(bool with_running) {
    std::vector<ReferenceJob*> all;
    for (ReferenceJob& job : jobs_) {
      if (waits(job) || (with_running && job.running)) all.push_back(&job);
    }
    std::sort(all.begin(), all.end(), [this](const ReferenceJob* a, const ReferenceJob* b) {
      const Key left = policy_.key(*a, now_);
      const Key right = policy_.key(*b, now_);
      const Huge x = static_cast<Huge>(left.over) * right.under;
      const Huge y = static_cast<Huge>(right.over) * left.under;
      if (x != y) return x < y;
      if (a->running != b->running) return a->running;
      return a < b;  // Jobs are in order of id.
    });
    return all;
  }

  std::int64_t free() const {
    std::int64_t left = gpus_;
    for (const ReferenceJob& job : jobs_) left -= job.running ? job.gpus : 0;
    return left;
  }

  void start(ReferenceJob& job) {
    job.running = true;
    job.start = std::min(job.start, now_);
    job.believed_end = now_ + job.remaining();
  }

  void plan(bool preempting) {
    const std::vector<ReferenceJob*> all = in_order(preempting);
    if (preempting) {
      std::int64_t left = gpus_;
      for (ReferenceJob* job : all) {
        const bool fits = job->gpus <= left;
        if (fits) left -= job->gpus;
        if (fits && !job->running) start(*job);
        if (!fits && job->running) {
          job->running = false;
          ++job->preemptions;
        }
      }
      return;
    }
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (all[i]->gpus <= free()) {
        start(*all[i]);
      } else if (policy_.waits) {
        return;
      } else if (policy_.reserves) {
        return backfill(*all[i], {all.begin() + static_cast<std::ptrdiff_t>(i) + 1, all.end()});
      }
    }
  }

  // The head starts when, according to the estimates, enough GPUs are free. `spare` is the number
  // of free GPUs that it does not need then.
  void backfill(const ReferenceJob& head, const std::vector<ReferenceJob*>& others) {
    if (free() == 0) return;
    std::vector<const ReferenceJob*> running;
    for (ReferenceJob& job : jobs_) {
      if (!job.running) continue;
      // A job that exceeds its estimate is expected to run as long again.
      if (job.believed_end <= now_) {
        job.believed_end = now_ + (job.worked < job.estimate ? job.estimate - job.worked
                                                             : std::max(job.worked, kSecond));
      }
      running.push_back(&job);
    }
    const auto end_of = [](const ReferenceJob* job) { return job->believed_end; };
    const auto free_at = [&](std::int64_t time) {
      std::int64_t sum = free();
      for (const ReferenceJob* job : running) sum += end_of(job) <= time ? job->gpus : 0;
      return sum;
    };
    std::int64_t reserved = kNever;
    for (const ReferenceJob* job : running) {
      if (free_at(end_of(job)) >= head.gpus) reserved = std::min(reserved, end_of(job));
    }
    std::int64_t spare = free_at(reserved) - head.gpus;
    for (ReferenceJob* job : others) {
      const bool ends_before = now_ + job->remaining() <= reserved;
      if (job->gpus > free() || (!ends_before && job->gpus > spare)) continue;
      if (!ends_before) spare -= job->gpus;
      start(*job);
    }
  }

  std::vector<ReferenceJob> jobs_;
  std::int64_t gpus_;
  ReferencePolicy policy_;
  std::int64_t round_;
  std::int64_t now_ = 0;
  bool planned_ = false;
};

struct Scene {
  std::int64_t nodes = 1;
  std::int64_t gpus_per_node = 1;
  std::vector<ReferenceJob> jobs;
  std::string text() const {
    std::string lines = std::to_string(nodes) + "x" + std::to_string(gpus_per_node) + "\n";
    for (const ReferenceJob& job : jobs) {
      lines += std::to_string(job.submit / kSecond) + "," + std::to_string(job.gpus) + "," +
               std::to_string(job.duration / kSecond) + "," +
               std::to_string(job.estimate / kSecond) + "\n";
    }
    return lines;
  }
};

// Small times and few sizes, so that ties between jobs are frequent.
Scene random_scene(Random& random, bool good_estimates) {
  Scene scene;
  scene.nodes = 1 + static_cast<std::int64_t>(random.below(4));
  scene.gpus_per_node = 1 + static_cast<std::int64_t>(random.below(4));
  const auto gpus = static_cast<std::uint64_t>(scene.nodes * scene.gpus_per_node);
  const std::uint64_t count = 1 + random.below(24);
  const std::uint64_t grain = random.below(2) == 0 ? 1 : 50;
  const std::uint64_t spread = 1 + random.below(120);
  const std::uint64_t longest = 2 + random.below(60);
  std::int64_t submit = random.below(2) == 0 ? 0 : static_cast<std::int64_t>(random.below(400));
  for (std::uint64_t i = 0; i < count; ++i) {
    ReferenceJob job;
    job.submit = submit * kSecond;
    job.gpus = static_cast<std::int64_t>(1 + random.below(gpus));
    if (random.below(2) == 0)
      job.gpus = static_cast<std::int64_t>(1 + random.below((gpus + 1) / 2));
    const auto length = static_cast<std::int64_t>(random.below(longest) * 25 * grain / 5);
    job.duration = length * kSecond;
    job.estimate = std::max<std::int64_t>(1, job.duration);
    if (!good_estimates) {
      job.estimate = static_cast<std::int64_t>(1 + random.below(longest * 25)) * kSecond;
    }
    scene.jobs.push_back(job);
    if (random.below(3) != 0) submit += static_cast<std::int64_t>(random.below(spread) * grain / 5);
  }
  return scene;
}

SimResult ours(const Scene& scene, const std::string& policy, std::int64_t round, bool oracle) {
  Topology topology;
  const auto each = static_cast<std::int32_t>(scene.gpus_per_node);
  for (std::int64_t i = 0; i < scene.nodes; ++i) {
    const MaybeError refusal =
        topology.add_node("n" + std::to_string(i), "r0", "gpu", kReferenceShare * each);
    EXPECT_FALSE(refusal);
  }
  Trace trace;
  for (const ReferenceJob& reference : scene.jobs) {
    TraceJob job;
    job.id = std::to_string(trace.jobs.size());
    job.submit = Instant::micros(reference.submit);
    job.duration = Duration::micros(reference.duration);
    job.user_estimate = Duration::micros(reference.estimate);
    job.gpus = static_cast<std::int32_t>(reference.gpus);
    trace.jobs.push_back(job);
  }
  SimOptions options;
  options.parts = {policy, "proportional", "count"};
  options.overheads = {Duration(), Duration(), Duration()};
  options.round = Duration::micros(round);
  options.estimates.kind = oracle ? EstimateSource::Kind::kOracle : EstimateSource::Kind::kUser;
  options.check_invariants = true;
  return simulate(trace, topology, ProfileTable(), options);
}

class ReferenceSimulator : public testing::TestWithParam<ReferencePolicy> {
 protected:
  static void expect_equal(const Scene& scene, std::int64_t round, bool oracle) {
    const SimResult result = ours(scene, GetParam().name, round, oracle);
    const std::vector<ReferenceJob> references =
        Reference(scene.jobs, scene.nodes * scene.gpus_per_node, GetParam(), round).run();
    for (std::size_t i = 0; i < references.size(); ++i) {
      const JobOutcome& job = result.jobs[i];
      ASSERT_EQ(job.fate, JobResult::kFinished) << "job " << i << " of\n" << scene.text();
      ASSERT_EQ(job.start.us(), references[i].start) << "start of job " << i << " of\n"
                                                     << scene.text();
      ASSERT_EQ(job.end.us(), references[i].end) << "end of job " << i << " of\n" << scene.text();
      ASSERT_EQ(job.preemptions, references[i].preemptions) << "job " << i << " of\n"
                                                            << scene.text();
      ASSERT_EQ(job.migrations, 0) << "job " << i << " of\n" << scene.text();
      ASSERT_EQ(job.run.us(), references[i].duration) << "job " << i << " of\n" << scene.text();
    }
  }

  static void expect_equal_on_many(std::uint64_t seed, std::int64_t round, bool oracle) {
    Random random(seed);
    const auto scenes = static_cast<int>(campaign_size(600, 20'000));
    for (int i = 0; i < scenes && !HasFatalFailure(); ++i) {
      expect_equal(random_scene(random, oracle), round, oracle);
    }
  }
};

TEST_P(ReferenceSimulator, AgreesAtEveryEvent) { expect_equal_on_many(1, 0, true); }

TEST_P(ReferenceSimulator, AgreesWhenTheEstimatesAreWrong) { expect_equal_on_many(2, 0, false); }

TEST_P(ReferenceSimulator, AgreesInRounds) { expect_equal_on_many(3, 60 * kSecond, true); }

INSTANTIATE_TEST_SUITE_P(Policies, ReferenceSimulator, testing::ValuesIn(reference_policies()),
                         [](const auto& it) {
                           std::string name = it.param.name;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace muster
