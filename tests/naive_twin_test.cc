// A second simulator, as simple as can be: plain vectors, everything sorted anew at every event, no
// servers, no leases. On one pool of GPUs with free preemption it must agree with ours to the
// microsecond for every job. It shares nothing with engine/core but the types of time.

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

struct TwinJob {
  std::int64_t submit = 0;  // Microseconds, all of them.
  std::int64_t duration = 0;
  std::int64_t estimate = 0;
  std::int64_t gpus = 1;
  // How it stands.
  bool running = false;
  bool done = false;
  std::int64_t worked = 0;
  std::int64_t start = kNever;
  std::int64_t end = kNever;
  std::int64_t believed_end = 0;
  std::int64_t preemptions = 0;

  // What a scheduler may believe.
  std::int64_t remaining() const { return std::max<std::int64_t>(1, estimate - worked); }
};

// Numerator and denominator of what a policy sorts by, smallest first.
struct Key {
  std::int64_t over = 0;
  std::int64_t under = 1;
};

struct TwinPolicy {
  std::string name;
  bool waits = false;     // For the first that does not fit.
  bool reserves = false;  // EASY.
  bool preempts = false;
  bool drifts = false;  // Preempts only at ticks.
  std::function<Key(const TwinJob&, std::int64_t now)> key;
};

std::vector<TwinPolicy> twin_policies() {
  const auto age = [](const TwinJob& job, std::int64_t) { return Key{job.submit}; };
  const auto attained = [](const TwinJob& job, std::int64_t) { return Key{job.worked * job.gpus}; };
  return {
      {"fifo", true, false, false, false, age},
      {"fit-first", false, false, false, false, age},
      {"backfill", false, true, false, false, age},
      {"smallest-first", false, false, true, false,
       [](const TwinJob& job, std::int64_t) { return Key{job.gpus}; }},
      {"sjf", false, false, false, false,
       [](const TwinJob& job, std::int64_t) { return Key{job.estimate}; }},
      {"srtf", false, false, true, false,
       [](const TwinJob& job, std::int64_t) { return Key{job.remaining()}; }},
      {"srsf", false, false, true, false,
       [](const TwinJob& job, std::int64_t) { return Key{job.remaining() * job.gpus}; }},
      {"las", false, false, true, true, attained},
      {"ftf", false, false, true, true,
       [](const TwinJob& job, std::int64_t now) {
         return Key{job.submit - now - job.remaining(), job.estimate};  // -rho.
       }},
      // With shares in proportion, the dominant share is that of the GPUs.
      {"drf", false, false, true, true, attained},
  };
}

class Twin {
 public:
  Twin(std::vector<TwinJob> jobs, std::int64_t gpus, TwinPolicy policy, std::int64_t round)
      : jobs_(std::move(jobs)), gpus_(gpus), policy_(std::move(policy)), round_(round) {}

  std::vector<TwinJob> run() {
    while (true) {
      const std::int64_t next = next_time();
      if (next == kNever) return jobs_;
      for (TwinJob& job : jobs_) {
        if (job.running) job.worked += next - now_;
      }
      const bool again = next == now_ && planned_;  // Only jobs of no length bring us back.
      now_ = next;
      for (TwinJob& job : jobs_) {
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
  bool waits(const TwinJob& job) const { return !job.done && !job.running && job.submit <= now_; }

  std::int64_t next_time() const {
    std::int64_t next = kNever;
    bool anybody = false;
    bool anyone_waits = false;
    for (const TwinJob& job : jobs_) {
      if (job.submit > now_ || !planned_) next = std::min(next, job.submit);
      if (job.running) next = std::min(next, now_ + job.duration - job.worked);
      anyone_waits = anyone_waits || waits(job);
      anybody = anybody || !job.done;
    }
    const std::int64_t tick = round_ > 0 ? round_ : policy_.drifts && anyone_waits ? kQuantum : 0;
    if (tick > 0 && anybody && planned_) next = std::min(next, (now_ / tick + 1) * tick);
    return next;
  }

  // Everybody of interest, first in order first.
  std::vector<TwinJob*> in_order(bool with_running) {
    std::vector<TwinJob*> all;
    for (TwinJob& job : jobs_) {
      if (waits(job) || (with_running && job.running)) all.push_back(&job);
    }
    std::sort(all.begin(), all.end(), [this](const TwinJob* a, const TwinJob* b) {
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
    for (const TwinJob& job : jobs_) left -= job.running ? job.gpus : 0;
    return left;
  }

  void start(TwinJob& job) {
    job.running = true;
    job.start = std::min(job.start, now_);
    job.believed_end = now_ + job.remaining();
  }

  void plan(bool preempting) {
    const std::vector<TwinJob*> all = in_order(preempting);
    if (preempting) {
      std::int64_t left = gpus_;
      for (TwinJob* job : all) {
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

  // The head starts as soon as, by the estimates, enough GPUs are free; `spare` are those free then
  // that it does not need.
  void backfill(const TwinJob& head, const std::vector<TwinJob*>& others) {
    std::vector<const TwinJob*> running;
    for (const TwinJob& job : jobs_) {
      if (job.running) running.push_back(&job);
    }
    const auto end_of = [this](const TwinJob* job) { return std::max(now_, job->believed_end); };
    const auto free_at = [&](std::int64_t time) {
      std::int64_t sum = free();
      for (const TwinJob* job : running) sum += end_of(job) <= time ? job->gpus : 0;
      return sum;
    };
    std::int64_t reserved = kNever;
    for (const TwinJob* job : running) {
      if (free_at(end_of(job)) >= head.gpus) reserved = std::min(reserved, end_of(job));
    }
    std::int64_t spare = free_at(reserved) - head.gpus;
    for (TwinJob* job : others) {
      const bool ends_before = now_ + job->remaining() <= reserved;
      if (job->gpus > free() || (!ends_before && job->gpus > spare)) continue;
      if (!ends_before) spare -= job->gpus;
      start(*job);
    }
  }

  std::vector<TwinJob> jobs_;
  std::int64_t gpus_;
  TwinPolicy policy_;
  std::int64_t round_;
  std::int64_t now_ = 0;
  bool planned_ = false;
};

struct Scene {
  std::int64_t nodes = 1;
  std::int64_t gpus_per_node = 1;
  std::vector<TwinJob> jobs;
  std::string text() const {
    std::string lines = std::to_string(nodes) + "x" + std::to_string(gpus_per_node) + "\n";
    for (const TwinJob& job : jobs) {
      lines += std::to_string(job.submit / kSecond) + "," + std::to_string(job.gpus) + "," +
               std::to_string(job.duration / kSecond) + "," +
               std::to_string(job.estimate / kSecond) + "\n";
    }
    return lines;
  }
};

// Small times and few sizes, so that jobs come, end and rank alike all the time.
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
    TwinJob job;
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
    const Refusal refusal =
        topology.add_node("n" + std::to_string(i), "r0", "gpu", kReferenceShare * each);
    EXPECT_FALSE(refusal);
  }
  Trace trace;
  for (const TwinJob& twin : scene.jobs) {
    TraceJob job;
    job.id = std::to_string(trace.jobs.size());
    job.submit = Instant::micros(twin.submit);
    job.duration = Duration::micros(twin.duration);
    job.user_estimate = Duration::micros(twin.estimate);
    job.gpus = static_cast<std::int32_t>(twin.gpus);
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

class NaiveTwin : public testing::TestWithParam<TwinPolicy> {
 protected:
  static void expect_equal(const Scene& scene, std::int64_t round, bool oracle) {
    const SimResult result = ours(scene, GetParam().name, round, oracle);
    const std::vector<TwinJob> twins =
        Twin(scene.jobs, scene.nodes * scene.gpus_per_node, GetParam(), round).run();
    for (std::size_t i = 0; i < twins.size(); ++i) {
      const JobOutcome& job = result.jobs[i];
      ASSERT_EQ(job.fate, Fate::kFinished) << "job " << i << " of\n" << scene.text();
      ASSERT_EQ(job.start.us(), twins[i].start) << "start of job " << i << " of\n" << scene.text();
      ASSERT_EQ(job.end.us(), twins[i].end) << "end of job " << i << " of\n" << scene.text();
      ASSERT_EQ(job.preemptions, twins[i].preemptions) << "job " << i << " of\n" << scene.text();
      ASSERT_EQ(job.migrations, 0) << "job " << i << " of\n" << scene.text();
      ASSERT_EQ(job.run.us(), twins[i].duration) << "job " << i << " of\n" << scene.text();
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

TEST_P(NaiveTwin, AgreesAtEveryEvent) { expect_equal_on_many(1, 0, true); }

TEST_P(NaiveTwin, AgreesWhenTheEstimatesAreWrong) { expect_equal_on_many(2, 0, false); }

TEST_P(NaiveTwin, AgreesInRounds) { expect_equal_on_many(3, 60 * kSecond, true); }

INSTANTIATE_TEST_SUITE_P(Policies, NaiveTwin, testing::ValuesIn(twin_policies()),
                         [](const auto& it) {
                           std::string name = it.param.name;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace muster
