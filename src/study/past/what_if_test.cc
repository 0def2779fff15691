#include "study/past/what_if.h"

#include "study/past/testing.h"

namespace muster {
namespace {

using whatif_testing::kBorn;
using whatif_testing::Office;

JobRequest wants(int gpus) {
  JobRequest request;
  request.gpus = gpus;
  return request;
}

const std::function<bool()> kGoOn = [] { return true; };

// A long job takes both GPUs, two short ones come after it.
class Busy : public Office {
 public:
  Busy() : Office("scheduler: {policy: fifo}\n") {
    const LiveId first = submit(0, wants(2));
    const LiveId second = submit(10, wants(1));
    ends(1000, first, LeaseResult::kFinished);
    ends(1100, second, LeaseResult::kFinished);
  }
};

TEST(WhatIf, IsAPageOfThePastUnderOtherParts) {
  const Busy busy;
  WhatIfAsk ask;
  ask.policy = "srtf";
  const Result<Page> page = ask_what_if(busy.database(), ask, kGoOn);
  ASSERT_TRUE(page.ok()) << page.error().message;
  const PageTable& table = page.value().sections.at(0).tables.at(0);
  ASSERT_EQ(table.rows.size(), 3u);
  EXPECT_EQ(std::get<std::string>(table.rows[2][0]), "srtf");
  EXPECT_EQ(std::get<std::int64_t>(table.rows[2][1]), 2);
  EXPECT_EQ(table.columns[2], "gain");
  EXPECT_TRUE(std::holds_alternative<std::monostate>(table.rows[0][2])) << "was not simulated";
  EXPECT_EQ(std::get<Number>(table.rows[1][2]).value, 1);
  EXPECT_GE(std::get<Number>(table.rows[2][2]).value, 1);
  std::vector<std::string> plots;
  for (const Section& section : page.value().sections) {
    for (const Plot& plot : section.plots) {
      plots.push_back(plot.key);
      ASSERT_EQ(plot.series.size(), 3u) << plot.key;
      for (const Series& series : plot.series) EXPECT_FALSE(series.x.empty()) << plot.key;
    }
  }
  EXPECT_EQ(plots, (std::vector<std::string>{"jct-cdf", "wait-cdf", "busy-gpus", "waiting-jobs"}));
}

// A tenant has left since; what the others did can still be asked about.
TEST(WhatIf, LeavesOutTenantsThatAreNoMore) {
  const std::string both =
      "scheduler: {policy: fifo}\n"
      "tenants: {list: [{name: stays, quota: 1}, {name: left, quota: 1}]}\n";
  Office office(both);
  JobRequest request = wants(1);
  request.tenant = "left";
  const LiveId first = office.submit(0, request);
  request.tenant = "stays";
  const LiveId second = office.submit(10, request);
  office.ends(100, first, LeaseResult::kFinished);
  office.ends(110, second, LeaseResult::kFinished);
  office.configure(
      "scheduler: {policy: fifo}\n"
      "tenants: {list: [{name: stays, quota: 2}]}\n");
  office.begin_era();
  WhatIfAsk ask;
  ask.policy = "srtf";
  const Result<Page> page = ask_what_if(office.database(), ask, kGoOn);
  ASSERT_TRUE(page.ok()) << page.error().message;
  EXPECT_EQ(std::get<std::int64_t>(page.value().sections.at(0).tables.at(0).rows.at(2).at(1)), 1);
  bool said = false;
  for (const std::string& note : page.value().notes) {
    said |= note.find("of tenants that no longer exist") != std::string::npos;
  }
  EXPECT_TRUE(said);
}

TEST(WhatIf, SaysWhatItDoesNotKnow) {
  const Busy busy;
  const auto error = [&](const WhatIfAsk& ask, const std::function<bool()>& go_on = kGoOn) {
    const Result<Page> page = ask_what_if(busy.database(), ask, go_on);
    return page.ok() ? std::string() : page.error().message;
  };
  EXPECT_NE(error({"srft", "", "", {}}).find("did you mean 'srtf'"), std::string::npos);
  EXPECT_NE(error({"", "tuna", "", {}}).find("'tune'"), std::string::npos);
  EXPECT_NE(error({}).find("at least one is required"), std::string::npos);
  EXPECT_NE(error({"srtf", "", "", kBorn + 3'600'000'000}).find("no job has run"),
            std::string::npos);
  EXPECT_NE(error({"srtf", "", "", {}}, [] { return false; }).find("stopped"), std::string::npos);
}

// Ticks of a second are shorter than what a stop and a start are taken to cost.
TEST(WhatIf, EndsWhereJobsAreSwappedAtEveryTick) {
  Office office("scheduler: {policy: las, quantum: 1s, min_run: 0s}\n");
  const LiveId first = office.submit(0, wants(2));
  office.ends(1000, first, LeaseResult::kFinished);
  WhatIfAsk ask;
  ask.policy = "fifo";
  const Result<Page> page = ask_what_if(office.database(), ask, kGoOn);
  ASSERT_TRUE(page.ok()) << page.error().message;
  bool told = false;
  for (const std::string& note : page.value().notes) {
    told = told || note.find("a stop costs 0") != std::string::npos;
  }
  EXPECT_TRUE(told);
}

TEST(WhatIf, IsOfTheLatestJobs) {
  const Busy busy;
  const LivePast all = read_live_past(busy.database(), {2, kGoOn}).value();
  EXPECT_EQ(all.history.jobs.size(), 2u);
  const LivePast past = read_live_past(busy.database(), {1, kGoOn}).value();
  ASSERT_EQ(past.history.jobs.size(), 1u);
  EXPECT_EQ(past.history.jobs[0].id, 2u);
  EXPECT_EQ(past.history.jobs[0].leases.size(), 1u);
  EXPECT_EQ(past.history.notes, std::vector<std::string>{"1 job submitted earlier: omitted"});
  EXPECT_FALSE(past.era.differs) << "the replay covers everything";
  EXPECT_EQ(past.era.digest, all.era.digest);
}

TEST(WhatIf, CanBeStoppedWhileItReads) {
  Office office("scheduler: {policy: fifo}\n");
  const LiveId first = office.submit(0, wants(2));
  for (int i = 1; i < 1'100; ++i) office.submit(i, wants(1));
  office.ends(2'000, first, LeaseResult::kFinished);
  int looks = 0;
  const auto stop_at = [&](int which) {
    looks = 0;
    const PastLimits limits{5'000, [&, which] { return ++looks < which; }};
    const Result<LivePast> past = read_live_past(office.database(), limits);
    return past.ok() ? std::string() : past.error().message;
  };
  EXPECT_EQ(stop_at(1), kStoppedEarly);  // Among the rows.
  EXPECT_EQ(looks, 1);
  EXPECT_EQ(stop_at(2), kStoppedEarly);  // Among the entries.
  EXPECT_EQ(looks, 2);
  EXPECT_EQ(stop_at(1'000'000), "");
}

}  // namespace
}  // namespace muster
