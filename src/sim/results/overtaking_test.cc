#include "sim/results/overtaking.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "base/types/random.h"

namespace muster {
namespace {

using enum Overtaking;

constexpr TenantId kOurs(1);
constexpr TenantId kTheirs(0);
constexpr std::int64_t kNever = -1;

Instant at(std::int64_t us) { return us == kNever ? Instant::never() : Instant::micros(us); }

QueuedJob job(std::int32_t gpus, std::int64_t submit, std::int64_t start, std::int64_t end,
              TenantId tenant = kOurs) {
  return {tenant, gpus, at(submit), at(start), at(end)};
}

// The result of the last of these jobs.
Overtaking last_of(const std::vector<QueuedJob>& jobs, const std::vector<FreePoint>& free) {
  return find_overtaking(jobs, free).jobs.back();
}

// ---- the definition, word by word, for every job and every instant

std::optional<std::size_t> naive_overtaken(const std::vector<QueuedJob>& jobs, std::size_t j) {
  if (jobs[j].start == Instant::never()) return std::nullopt;
  std::optional<std::size_t> oldest;
  for (std::size_t k = 0; k < jobs.size(); ++k) {
    const Instant left = jobs[k].start == Instant::never() ? jobs[k].end : jobs[k].start;
    const bool older = jobs[k].submit < jobs[j].submit;
    const bool larger = jobs[k].gpus > jobs[j].gpus;
    if (jobs[k].tenant != jobs[j].tenant || !older || !larger || jobs[j].start >= left) continue;
    if (!oldest || jobs[k].submit < jobs[*oldest].submit) oldest = k;
  }
  return oldest;
}

bool naive_harmful(const QueuedJob& j, const QueuedJob& k, const std::vector<FreePoint>& free,
                   Instant last) {
  const Instant left = k.start == Instant::never() ? k.end : k.start;
  for (Instant t = j.start; t <= last; t = t + Duration::micros(1)) {
    if (t >= j.end || t >= left) break;
    std::optional<std::int32_t> now;
    for (const FreePoint& point : free) {
      if (point.at <= t) now = point.free;
    }
    if (now && *now + j.gpus >= k.gpus) return true;
  }
  return false;
}

OvertakingResult naive(const std::vector<QueuedJob>& jobs, const std::vector<FreePoint>& free,
                       Instant last) {
  OvertakingResult result;
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    result.jobs.push_back(kInOrder);
    if (jobs[j].start != Instant::never()) ++result.starts;
    const std::optional<std::size_t> k = naive_overtaken(jobs, j);
    if (!k) continue;
    const bool harmful = naive_harmful(jobs[j], jobs[*k], free, last);
    result.jobs[j] = harmful ? kHarmful : kHarmless;
    const std::int32_t gpus = jobs[*k].gpus;
    OvertakingCount& size = result.by_size[gpus > 8 ? 2 : gpus > 4 ? 1 : 0];
    ++size.overtaking;
    ++result.total.overtaking;
    size.harmful += harmful ? 1 : 0;
    result.total.harmful += harmful ? 1 : 0;
  }
  return result;
}

struct Case {
  std::vector<QueuedJob> jobs;
  std::vector<FreePoint> free;
  Instant last;
};

// Short times and few sizes, so that everything that can coincide does.
Case random_case(Random& random) {
  const auto below = [&](std::uint64_t n) { return static_cast<std::int64_t>(random.below(n)); };
  Case made;
  const std::uint64_t span = 1 + random.below(60);
  const std::uint64_t tenants = 1 + random.below(3);
  const std::uint64_t most_gpus = 1 + random.below(12);
  const std::size_t job_count = random.below(40);
  for (std::size_t i = 0; i < job_count; ++i) {
    const std::int64_t submit = below(span);
    const std::int64_t start = submit + below(3) * below(20);
    QueuedJob one = job(1 + static_cast<std::int32_t>(random.below(most_gpus)), submit, start,
                        start + below(25), TenantId(static_cast<std::uint32_t>(below(tenants))));
    if (random.below(8) == 0) one.start = Instant::never();  // It left the line at its end.
    if (random.below(8) == 0) one.end = Instant::never();
    made.jobs.push_back(one);
  }
  const std::size_t point_count = random.below(40);
  const std::uint64_t most_free = 1 + random.below(10);
  for (std::size_t i = 0; i < point_count; ++i) {
    made.free.push_back({at(below(span + 60)), static_cast<std::int32_t>(random.below(most_free))});
  }
  std::stable_sort(made.free.begin(), made.free.end(),
                   [](const FreePoint& a, const FreePoint& b) { return a.at < b.at; });
  made.last = Instant::micros(200);
  return made;
}

TEST(OvertakingProperty, AgreesWithTheDefinitionWordByWord) {
  std::array<std::uint64_t, 3> seen = {};
  for (std::uint64_t seed = 0; seed < 1500; ++seed) {
    SCOPED_TRACE(testing::Message() << "reproduce with seed " << seed);
    Random random(seed);
    const Case made = random_case(random);
    const OvertakingResult quick = find_overtaking(made.jobs, made.free);
    const OvertakingResult slow = naive(made.jobs, made.free, made.last);
    ASSERT_EQ(quick.jobs, slow.jobs);
    ASSERT_EQ(quick.starts, slow.starts);
    ASSERT_EQ(quick.total, slow.total);
    ASSERT_EQ(quick.by_size, slow.by_size);
    for (const Overtaking one : quick.jobs) ++seen[static_cast<std::size_t>(one)];
  }
  for (const std::uint64_t count : seen) EXPECT_GT(count, 1000U) << "the cases show too little";
}

// ---- one edge at a time: a job of 4 waits from 0 to 50, one of 1 submitted at 5 starts at 10

TEST(Overtaking, OfNothingIsNothing) {
  const OvertakingResult result = find_overtaking({}, {});
  EXPECT_TRUE(result.jobs.empty());
  EXPECT_EQ(result.starts, 0U);
  EXPECT_EQ(result.total, OvertakingCount{});
}

TEST(Overtaking, IsHarmfulIfTheGpusTakenWereAllThatWasMissing) {
  const std::vector<QueuedJob> jobs = {job(4, 0, 50, 90), job(1, 5, 10, 60)};
  EXPECT_EQ(last_of(jobs, {{at(0), 3}}), kHarmful) << "exactly";
  EXPECT_EQ(last_of(jobs, {{at(0), 2}}), kHarmless) << "one short";
  EXPECT_EQ(last_of(jobs, {{at(0), 9}}), kHarmful) << "more than enough";
  EXPECT_EQ(last_of(jobs, {}), kHarmless) << "nothing known";
}

TEST(Overtaking, CountsWhatIsFreeFromTheStartUntilTheOvertakenStarts) {
  const std::vector<QueuedJob> jobs = {job(4, 0, 50, 90), job(1, 5, 10, 60)};
  EXPECT_EQ(last_of(jobs, {{at(0), 3}, {at(10), 0}}), kHarmless) << "before the start";
  EXPECT_EQ(last_of(jobs, {{at(0), 3}, {at(11), 0}}), kHarmful) << "at the start";
  EXPECT_EQ(last_of(jobs, {{at(0), 0}, {at(49), 3}}), kHarmful) << "at the last moment";
  EXPECT_EQ(last_of(jobs, {{at(0), 0}, {at(50), 3}}), kHarmless) << "too late";
  EXPECT_EQ(last_of(jobs, {{at(30), 3}, {at(31), 0}}), kHarmful) << "nothing known before 30";
}

TEST(Overtaking, TheLastOfSeveralPointsAtOneInstantCounts) {
  const std::vector<QueuedJob> jobs = {job(4, 0, 50, 90), job(1, 5, 10, 60)};
  EXPECT_EQ(last_of(jobs, {{at(0), 0}, {at(20), 3}, {at(20), 2}}), kHarmless);
  EXPECT_EQ(last_of(jobs, {{at(0), 0}, {at(20), 2}, {at(20), 3}}), kHarmful);
  EXPECT_EQ(last_of(jobs, {{at(10), 3}, {at(10), 2}}), kHarmless);
}

TEST(Overtaking, DoesNoHarmOnceItHasEnded) {
  const std::vector<QueuedJob> jobs = {job(4, 0, 50, 90), job(1, 5, 10, 20)};
  EXPECT_EQ(last_of(jobs, {{at(0), 0}, {at(19), 3}}), kHarmful);
  EXPECT_EQ(last_of(jobs, {{at(0), 0}, {at(20), 3}}), kHarmless);
  EXPECT_EQ(last_of({job(4, 0, 50, 90), job(1, 5, 10, 10)}, {{at(0), 3}}), kHarmless)
      << "held for no time at all";
}

TEST(Overtaking, NeedsAnOlderJob) {
  EXPECT_EQ(last_of({job(4, 5, 50, 90), job(1, 5, 10, 60)}, {{at(0), 3}}), kInOrder)
      << "submitted at the same instant";
  const std::vector<QueuedJob> younger = {job(1, 5, 10, 60), job(4, 6, 50, 90)};
  EXPECT_EQ(find_overtaking(younger, {}).total.overtaking, 0U);
  const std::vector<QueuedJob> behind_reference = {job(4, 4, 50, 90), job(4, 5, 50, 90),
                                                   job(1, 5, 10, 60)};
  EXPECT_EQ(last_of(behind_reference, {{at(0), 3}}), kHarmful) << "older than both submitted at 5";
}

TEST(Overtaking, NeedsALargerJob) {
  EXPECT_EQ(last_of({job(4, 0, 50, 90), job(4, 5, 10, 60)}, {{at(0), 3}}), kInOrder);
  EXPECT_EQ(last_of({job(4, 0, 50, 90), job(5, 5, 10, 60)}, {{at(0), 3}}), kInOrder);
  EXPECT_EQ(last_of({job(4, 0, 50, 90), job(3, 5, 10, 60)}, {{at(0), 3}}), kHarmful);
}

TEST(Overtaking, NeedsAJobOfTheSameTenant) {
  EXPECT_EQ(last_of({job(4, 0, 50, 90, kTheirs), job(1, 5, 10, 60)}, {{at(0), 3}}), kInOrder);
  EXPECT_EQ(
      last_of({job(4, 0, 50, 90), job(4, 0, 50, 90, kTheirs), job(1, 5, 10, 60, kTheirs)}, {}),
      kHarmless);
}

TEST(Overtaking, NeedsAJobThatStillWaits) {
  EXPECT_EQ(last_of({job(4, 0, 10, 90), job(1, 5, 10, 60)}, {{at(0), 3}}), kInOrder)
      << "they start together";
  EXPECT_EQ(last_of({job(4, 0, 11, 90), job(1, 5, 10, 60)}, {{at(0), 3}}), kHarmful);
  EXPECT_EQ(last_of({job(4, 0, 2, 3), job(1, 5, 10, 60)}, {{at(0), 3}}), kInOrder) << "gone";
}

TEST(Overtaking, OneThatNeverStartsWaitsToTheEndOfTheRun) {
  const QueuedJob waits = job(4, 0, kNever, kNever);
  EXPECT_EQ(last_of({waits, job(1, 5, 10, 60)}, {{at(0), 0}, {at(59), 3}}), kHarmful);
  EXPECT_EQ(last_of({waits, job(1, 5, 10, 60)}, {{at(0), 0}, {at(60), 3}}), kHarmless);
  EXPECT_EQ(last_of({waits, job(1, 5, 10, kNever)}, {{at(0), 0}, {at(1'000'000), 3}}), kHarmful);
  EXPECT_EQ(find_overtaking(std::vector{waits}, {}).starts, 0U);
}

TEST(Overtaking, OneThatLeavesTheLineIsOvertakenUntilThen) {
  const QueuedJob cancelled = job(4, 0, kNever, 30);
  EXPECT_EQ(last_of({cancelled, job(1, 5, 10, 60)}, {{at(0), 0}, {at(29), 3}}), kHarmful);
  EXPECT_EQ(last_of({cancelled, job(1, 5, 10, 60)}, {{at(0), 0}, {at(30), 3}}), kHarmless);
  EXPECT_EQ(last_of({cancelled, job(1, 5, 30, 60)}, {{at(0), 3}}), kInOrder);
  EXPECT_EQ(last_of({job(4, 0, kNever, 0), job(1, 5, 10, 60)}, {{at(0), 3}}), kInOrder)
      << "rejected";
}

TEST(Overtaking, TheFirstInLineDecides) {
  const QueuedJob first = job(8, 0, 50, 90);
  const QueuedJob second = job(2, 1, 50, 90);
  EXPECT_EQ(last_of({first, second, job(1, 5, 10, 60)}, {{at(0), 3}}), kHarmless)
      << "it harms the second only";
  const QueuedJob reference = job(4, 0, 20, 90);
  EXPECT_EQ(last_of({first, reference, job(1, 5, 10, 60)}, {{at(0), 3}}), kHarmless);
  EXPECT_EQ(last_of({reference, first, job(1, 5, 10, 60)}, {{at(0), 3}}), kHarmful);
  EXPECT_EQ(last_of({first, second, job(1, 5, 10, 60)}, {{at(0), 7}}), kHarmful);
}

TEST(Overtaking, OnesGpusAreWeighedAloneNotWithThoseOfOthers) {
  const QueuedJob small = job(1, 5, 10, 60);
  const std::vector<QueuedJob> jobs = {job(4, 0, 50, 90), small, small, small, small};
  EXPECT_EQ(find_overtaking(jobs, std::vector<FreePoint>{{at(0), 2}}).total,
            (OvertakingCount{4, 0}));
}

TEST(Overtaking, IsCountedByTheSizeOfTheOvertaken) {
  std::vector<QueuedJob> jobs;
  std::uint32_t tenant = 0;
  for (const std::int32_t gpus : {2, 4, 5, 8, 9, 128}) {
    jobs.push_back(job(gpus, 0, 50, 90, TenantId(tenant++)));
  }
  for (std::uint32_t i = 0; i < tenant; ++i) jobs.push_back(job(1, 5, 10, 60, TenantId(i)));
  const OvertakingResult result = find_overtaking(jobs, std::vector<FreePoint>{{at(0), 4}});
  EXPECT_EQ(result.starts, 12U);
  EXPECT_EQ(result.total, (OvertakingCount{6, 3}));
  EXPECT_EQ(result.by_size[0], (OvertakingCount{2, 2}));
  EXPECT_EQ(result.by_size[1], (OvertakingCount{2, 1}));
  EXPECT_EQ(result.by_size[2], (OvertakingCount{2, 0}));
}

TEST(OvertakingDeathTest, StopsAtWhatIsOutOfOrder) {
  const std::vector<FreePoint> points = {{at(5), 1}, {at(4), 1}};
  EXPECT_DEATH(find_overtaking({}, points), "broken invariant");
  EXPECT_DEATH(find_overtaking(std::vector{job(0, 0, 1, 2)}, {}), "broken invariant");
}

}  // namespace
}  // namespace muster
