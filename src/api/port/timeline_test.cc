#include "api/port/timeline.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace muster {
namespace {

using Json = nlohmann::json;

Instant at(double seconds) { return Instant::micros(static_cast<std::int64_t>(seconds * 1e6)); }

LeaseTimeline two_gpus() {
  LeaseTimeline timeline;
  timeline.whole = {at(0), at(1000)};
  timeline.gpus = 2;
  timeline.nodes = {{"s1", 2}};
  timeline.tenants = {"", "vision"};
  timeline.causes = {"none", "order"};
  timeline.ends = {"finished", "stopped"};
  timeline.jobs = {{"a", "resnet", "ann", 1, 0, 1}, {"b", "<b>\"\\", "bob", 0, 1, 2}};
  timeline.bars = {{1, 1, 0, at(500), at(1000)},
                   {0, 0, 1, at(0.0004), at(99.9996)},
                   {0, 1, 0, at(500), at(1000)}};
  timeline.load = {{at(0), 1, 0}, {at(99.9996), 0, 1}, {at(500), 2, 0}, {at(1000), 0, 0}};
  sort_bars(timeline);
  return timeline;
}

Json shown(const LeaseTimeline& timeline, TimeWindow window, std::size_t most = 100) {
  return Json::parse(timeline_json(timeline, window, most));
}

TEST(Timeline, HasColumnsInOrder) {
  const Json all = shown(two_gpus(), {at(0), at(1000)});
  EXPECT_EQ(all["unit"], "run");
  EXPECT_EQ(all["to"], 1000);
  EXPECT_EQ(all["servers"], Json::parse(R"([{"name":"s1","gpus":2}])"));
  EXPECT_EQ(all["bars"]["row"], Json::parse("[0,0,1]"));
  EXPECT_EQ(all["bars"]["job"], Json::parse("[0,1,1]"));
  EXPECT_EQ(all["bars"]["begin"], Json::parse("[0,500,500]"));
  EXPECT_EQ(all["bars"]["length"], Json::parse("[100,500,500]"));
  EXPECT_EQ(all["bars"]["end"], Json::parse("[1,0,0]"));
  EXPECT_EQ(all["jobs"]["id"], Json::parse(R"(["a","b"])"));
  EXPECT_EQ(all["jobs"]["name"][1], "<b>\"\\");
  EXPECT_EQ(all["jobs"]["tenant"], Json::parse("[1,0]"));
  EXPECT_EQ(all["load"]["busy"], Json::parse("[1,0,2,0]"));
  EXPECT_EQ(all["load"]["waiting"], Json::parse("[0,1,0,0]"));
  EXPECT_EQ(all["thinned"], "");
}

TEST(Timeline, OfAWindowHasWhatTouchesItAndItsJobs) {
  const Json part = shown(two_gpus(), {at(600), at(601)});
  EXPECT_EQ(part["from"], 0) << "the full range stays";
  EXPECT_EQ(part["bars"]["job"], Json::parse("[0,0]"));
  EXPECT_EQ(part["jobs"]["id"], Json::parse(R"(["b"])"));
  EXPECT_EQ(part["load"]["t"], Json::parse("[500]")) << "what held when it began";
  EXPECT_EQ(shown(two_gpus(), {at(99.999), at(100)})["bars"]["length"][0], 100) << "milliseconds";
}

TEST(Timeline, DrawsShortBarsAsOne) {
  LeaseTimeline timeline;
  timeline.whole = {at(0), at(4000)};
  timeline.ends = {"finished"};
  timeline.causes = {"none"};
  timeline.tenants = {""};
  timeline.nodes = {{"s", 1}};
  for (std::uint32_t i = 0; i < 4000; ++i) {  // Each 0.1 s long, every tenth 0.2 s.
    timeline.jobs.push_back({std::to_string(i), "", "", 0, 0, 1});
    timeline.bars.push_back({0, i, 0, at(i * 0.25), at(i * 0.25 + (i % 10 == 3 ? 0.2 : 0.1))});
    timeline.load.push_back({at(i * 0.25), i % 2 == 0 ? 1.0 : 0.0, 7});
  }
  timeline.bars.push_back({0, 0, 0, at(2000), at(4000)});
  sort_bars(timeline);
  const Json all = shown(timeline, timeline.whole, 1'500);
  EXPECT_EQ(all["bars"]["row"].size(), 1001u);  // Four to a second, which is a pixel.
  EXPECT_EQ(all["bars"]["begin"][1], 1);
  EXPECT_EQ(all["bars"]["length"][1000], 2000);
  EXPECT_EQ(all["jobs"]["id"][0], "3") << "the longest of the first four";
  EXPECT_NE(all["thinned"].get<std::string>().find("4,001 bars: bars shorter than 1 s"),
            std::string::npos)
      << all["thinned"];
  EXPECT_EQ(shown(timeline, timeline.whole, 300)["bars"]["row"].size(), 251u);
  EXPECT_EQ(shown(timeline, {at(0), at(10)}, 300)["thinned"], "") << "few in that window";

  EXPECT_EQ(all["load"]["t"].size(), kMaxLoadPoints);
  EXPECT_EQ(all["load"]["busy"][10], 0.5);
  EXPECT_EQ(all["load"]["waiting"][10], 7);
}

TEST(Timeline, MayHaveNothingInIt) {
  LeaseTimeline timeline;
  timeline.missing = "no data";
  const Json all = shown(timeline, {at(0), at(0)});
  EXPECT_TRUE(all["bars"]["row"].empty());
  EXPECT_EQ(all["thinned"], "no data");
}

}  // namespace
}  // namespace muster
