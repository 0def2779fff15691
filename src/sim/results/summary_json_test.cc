#include "sim/results/summary_json.h"
#include "base/text/json_string.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace muster {
namespace {

RunRow example() {
  RunRow row;
  row.label = {"srtf", "tune", "consolidate", "oracle", "philly.csv", "16x8", "", {}, 7, "", "",
               "",     ""};
  row.label.round = Duration::seconds(300);
  Summary& s = row.summary;
  s.gpus = 128;
  s.jobs = 1000;
  s.finished = 990;
  s.rejected = 4;
  s.unfinished = 6;
  s.jct = {Duration::micros(12'345'678'901), Duration::seconds(60), Duration::micros(90'500'000),
           Duration::micros(1)};
  s.wait = {Duration::micros(250'000), Duration(), Duration::seconds(2), Duration::seconds(3)};
  WaitingOfSize& few = s.waiting.by_size[1];
  few.jobs = 5;
  few.by_cause = {Duration::seconds(1), Duration::micros(2'500'000), Duration::seconds(3),
                  Duration::seconds(4)};
  few.waited = 3;
  few.over_part_on_arrival = 2;
  s.waiting.by_size[3].jobs = 1;
  s.waiting.by_size[3].by_cause[0] = Duration::seconds(10);
  s.waiting.overtaking.starts = 9;
  s.waiting.overtaking.total = {8, 7};
  s.makespan = Duration::seconds(86400);
  s.preemptions = 11;
  s.migrations = 12;
  s.gpu_time = Duration::seconds(5400);
  s.gpu_utilization = 2.0 / 3;
  s.events = 13;
  s.decisions = 14;
  s.rounds = 15;
  s.wall = Duration::micros(120'000);
  s.digest = "00000000deadbeef";
  return row;
}

constexpr const char* kExample = R"({
  "policy": "srtf",
  "mechanism": "tune",
  "placement": "consolidate",
  "estimates": "oracle",
  "round_s": 300,
  "trace": "philly.csv",
  "cluster": "16x8",
  "seed": 7,
  "gpus": 128,
  "jobs": 1000,
  "finished": 990,
  "rejected": 4,
  "unfinished": 6,
  "partial": false,
  "jct_mean_s": 12345.678901,
  "jct_p50_s": 60,
  "jct_p95_s": 90.5,
  "jct_p99_s": 0.000001,
  "wait_mean_s": 0.25,
  "wait_p50_s": 0,
  "wait_p95_s": 2,
  "wait_p99_s": 3,
  "waiting": [
    {"gpus": "1", "jobs": 0, "waited": 0, "fair_share_on_arrival": 0,
     "fair_share_s": 0, "fragmentation_s": 0, "order_s": 0, "back_off_s": 0},
    {"gpus": "2-4", "jobs": 5, "waited": 3, "fair_share_on_arrival": 2,
     "fair_share_s": 1, "fragmentation_s": 2.5, "order_s": 3, "back_off_s": 4},
    {"gpus": "5-8", "jobs": 0, "waited": 0, "fair_share_on_arrival": 0,
     "fair_share_s": 0, "fragmentation_s": 0, "order_s": 0, "back_off_s": 0},
    {"gpus": ">8", "jobs": 1, "waited": 0, "fair_share_on_arrival": 0,
     "fair_share_s": 10, "fragmentation_s": 0, "order_s": 0, "back_off_s": 0},
    {"gpus": "all", "jobs": 6, "waited": 3, "fair_share_on_arrival": 2,
     "fair_share_s": 11, "fragmentation_s": 2.5, "order_s": 3, "back_off_s": 4}
  ],
  "overtaking": {"starts": 9, "overtook": 8, "harmful": 7},
  "makespan_s": 86400,
  "preemptions": 11,
  "migrations": 12,
  "gpu_hours": 1.5,
  "gpu_utilization": 0.666667,
  "events": 13,
  "decisions": 14,
  "rounds": 15,
  "wall_s": 0.12,
  "digest": "00000000deadbeef"
}
)";

std::string json_string(std::string_view text) {
  std::string out;
  append_json_string(out, text);
  return out;
}

TEST(SummaryJson, IsTheseBytes) {
  const RunRow row = example();
  EXPECT_EQ(summary_json(row.summary, row.label), kExample);
}

TEST(SummaryJson, TellsOfWindowCompatAndInterruption) {
  RunRow row = example();
  row.summary.window = Window{100, 200};
  row.summary.partial = true;
  row.label.compat = "synergy";
  const auto json = nlohmann::json::parse(summary_json(row.summary, row.label));
  EXPECT_EQ(json["window"], nlohmann::json::array({100, 200}));
  EXPECT_EQ(json["partial"], true);
  EXPECT_EQ(json["compat"], "synergy");
}

TEST(SummaryJson, OfNothingIsStillAnObject) {
  const auto json = nlohmann::json::parse(summary_json(Summary(), RunLabel()));
  EXPECT_EQ(json["finished"], 0);
  EXPECT_EQ(json["jct_mean_s"], 0);
  EXPECT_EQ(json["gpu_utilization"], 0);
}

TEST(SummariesJson, IsAListOfTheSameObjects) {
  EXPECT_EQ(summaries_json({}), "[]\n");
  std::vector<RunRow> rows = {example(), example()};
  rows[1].label.policy = "las";
  const std::string text = summaries_json(rows);
  EXPECT_TRUE(text.starts_with("[\n  {\n    \"policy\": \"srtf\",\n")) << text;
  EXPECT_TRUE(text.ends_with("\n    \"digest\": \"00000000deadbeef\"\n  }\n]\n")) << text;
  const auto json = nlohmann::json::parse(text);
  ASSERT_EQ(json.size(), 2u);
  EXPECT_EQ(json[0], nlohmann::json::parse(kExample));
  EXPECT_EQ(json[1]["policy"], "las");
}

TEST(JsonString, EscapesWhatJsonDoesNotAllow) {
  EXPECT_EQ(json_string(""), "\"\"");
  EXPECT_EQ(json_string("a \"b\" \\ c"), R"("a \"b\" \\ c")");
  EXPECT_EQ(json_string("1\n2\t3\x1b\x7f"), R"("1\u000a2\u00093\u001b\u007f")");
  EXPECT_EQ(json_string("grün 日本"), "\"grün 日本\"");
}

TEST(JsonString, MakesAnyBytesParse) {
  EXPECT_EQ(json_string("a\xff"), R"("a\ufffd")");
  EXPECT_EQ(json_string("\xc0\xaf"), R"("\ufffd\ufffd")");            // Overlong '/'.
  EXPECT_EQ(json_string("\xed\xa0\x80"), R"("\ufffd\ufffd\ufffd")");  // Half a surrogate pair.
  EXPECT_EQ(json_string("\xe6\x97"), R"("\ufffd\ufffd")");            // Cut off.
  EXPECT_EQ(json_string("\xf4\x90\x80\x80").size(), 2 + 4 * 6u);      // Beyond U+10FFFF.
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
  EXPECT_TRUE(nlohmann::json::accept(json_string(all)));
  for (int first = 128; first < 256; ++first) {
    for (int second = 0; second < 256; ++second) {
      const std::string pair = {static_cast<char>(first), static_cast<char>(second), '\xbf'};
      ASSERT_TRUE(nlohmann::json::accept(json_string(pair))) << first << ' ' << second;
    }
  }
}

}  // namespace
}  // namespace muster
