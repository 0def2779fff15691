// Progress reports of jobs and the forecasts made from them.

#include "live/lease/progress.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "base/os/testing.h"
#include "base/types/random.h"

namespace muster {
namespace {

using nlohmann::json;

class ProgressTest : public testing::Test {
 protected:
  ProgressTest() { reader_.emplace(LeaseFiles(home_)); }

  // The job writes the line in this lease. The reader polls it at the given run time.
  ProgressReader::News say(double ran, const std::string& text, std::uint32_t lease = 1) {
    const std::string folder = home_ + "/j1.e" + std::to_string(lease);
    std::filesystem::create_directories(folder);
    std::ofstream(folder + "/progress.jsonl", std::ios::app) << text;
    return reader_->look(1, lease, Duration::micros(static_cast<std::int64_t>(ran * 1e6)));
  }
  std::string words(double ran) {
    const JobSeries* series = reader_->series(1);
    if (series == nullptr) return "nothing";
    const auto now = Duration::micros(static_cast<std::int64_t>(ran * 1e6));
    return remaining_json(series->predict(now))["words"].get<std::string>();
  }
  static std::string line(double step, double total) {
    return json({{"step", step}, {"total", total}}).dump() + "\n";
  }

  const Folder folder_;
  const std::string home_ = folder_.path();
  std::optional<ProgressReader> reader_;
};

TEST_F(ProgressTest, SaysHowMuchIsLeftByItsSteps) {
  EXPECT_EQ(words(0), "nothing");
  EXPECT_TRUE(say(0, line(0, 10'000)).any);
  EXPECT_EQ(words(1), "no forecast: the job has reported too few steps yet");
  for (int i = 1; i <= 42; ++i) say(i * 100, line(i * 100, 10'000));
  EXPECT_EQ(words(4200),
            "about 1 h 37 min (1 h 35 min to 1 h 39 min), based on steps: 4,200 of 10,000");
  EXPECT_EQ(words(4800),
            "about 1 h 27 min (1 h 25 min to 1 h 29 min), based on steps: 4,200 of 10,000");
  EXPECT_EQ(words(90'000), "about 10 min (9 min to 10 min), based on steps: 4,200 of 10,000")
      << "never nearly nothing: it may be stuck";
  EXPECT_FALSE(reader_->look(1, 1, Duration()).any) << "nothing new";
  reader_->forget(1);
  EXPECT_EQ(words(0), "nothing");
}

TEST_F(ProgressTest, SaysHowMuchIsLeftByItsLoss) {
  std::string text;
  for (int epoch = 0; epoch <= 14; ++epoch) {
    const json said = {{"epoch", epoch}, {"loss", 5.0 / (epoch + 5) + 0.3}};
    say(epoch * 60, said.dump() + "\n");
  }
  // Both ends of the range read the same, so there is no range.
  EXPECT_EQ(words(14 * 60),
            "about 15 min, based on its loss, which converges after about 29 epochs");
  const json left = remaining_json(reader_->series(1)->predict(Duration::seconds(14 * 60)));
  EXPECT_EQ(left["by"], "loss");
  EXPECT_NEAR(left["seconds"].get<double>(), 900, 1);
}

TEST_F(ProgressTest, ALossOfLongAgoIsReadFromABacklogAndItsPaceIsNot) {
  std::string text;
  for (int epoch = 0; epoch <= 14; ++epoch) {
    text += json({{"epoch", epoch}, {"loss", 5.0 / (epoch + 5) + 0.3}}).dump() + "\n";
  }
  say(14 * 60, text);
  EXPECT_EQ(words(14 * 60), "no forecast: the job has reported too few epochs yet");
  for (int epoch = 15; epoch <= 18; ++epoch) {
    say(epoch * 60, json({{"epoch", epoch}, {"loss", 5.0 / (epoch + 5) + 0.3}}).dump() + "\n");
  }
  EXPECT_EQ(words(18 * 60).substr(0, 12), "about 11 min");
}

TEST_F(ProgressTest, GoesOnInAnotherLeaseFromACheckpoint) {
  for (int i = 0; i <= 10; ++i) say(i * 10, line(i * 10, 1000));
  for (int i = 5; i <= 20; ++i) say(500 + i * 10, line(i * 10, 1000), 2);
  EXPECT_EQ(words(700).substr(0, 12), "about 13 min");
}

TEST_F(ProgressTest, OfAPreRunNothingIsKept) {
  say(0, line(1, 10));
  reader_->forget(1);
  reader_->look(1, 1, std::nullopt);
  EXPECT_EQ(words(0), "nothing");
  ASSERT_NE(reader_->find(1), nullptr);
  EXPECT_EQ(reader_->find(1)->total, 10);
}

TEST_F(ProgressTest, TellsWhatACacheHolds) {
  say(0, R"({"step":1,"cache":{"hits":61,"misses":39,"held_bytes":4e9,"dataset_bytes":1e10}})"
         "\n");
  const Progress* said = reader_->find(1);
  ASSERT_TRUE(said != nullptr && said->cache);
  EXPECT_EQ(said->cache->hits, 61);
  EXPECT_EQ(said->cache->dataset_bytes, 1e10);
  EXPECT_EQ(said->cache->budget_bytes, 0);
}

TEST_F(ProgressTest, CountsTheReportsThatItDrops) {
  say(0, line(0, 1e6));
  EXPECT_EQ(reader_->find(1)->dropped_lines, 0);
  std::string text;
  for (int i = 1; i <= 5000; ++i) text += line(i, 1e6);
  say(1, text);
  const double dropped = reader_->find(1)->dropped_lines;
  EXPECT_GE(dropped, 4800);
  EXPECT_LT(dropped, 5000);
  EXPECT_EQ(reader_->find(1)->step, 5000);
  say(2, "{\"step\":5001,\"dropped\":7}\n");
  say(3, "{\"step\":5002,\"dropped\":-1}\n");
  EXPECT_EQ(reader_->find(1)->dropped_lines, dropped + 7);
  EXPECT_EQ(reader_->find(1)->skipped_bytes, 0);
}

TEST_F(ProgressTest, NonsenseIsPassedOver) {
  for (const char* text :
       {"x\n", "[1]\n", "{\"step\":\"1\"}\n", "{\"total\":-5}\n", "{\"total\":0,\"step\":-1}\n",
        "{\"step\":1e999}\n", "{\"cache\":[1]}\n", "{\"cache\":{\"hits\":-1}}\n",
        "{\"cache\":{\"hits\":1e300}}\n", "{\"loss\":-1e308,\"epoch\":-3}\n",
        "{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":1}}}}}\n"}) {
    say(0, text);
  }
  const Progress* said = reader_->find(1);
  ASSERT_NE(said, nullptr);
  EXPECT_FALSE(said->total || said->cache);
  EXPECT_EQ(words(1).substr(0, 12), "no forecast:");
  say(5, line(1e300, 1e300));
  EXPECT_EQ(words(5), "no forecast: the job has reported invalid numbers");
}

TEST_F(ProgressTest, ASaveIsTold) {
  const std::string saved = "{\"saved\":true}\n";
  EXPECT_TRUE(say(1, saved).saved);
  EXPECT_FALSE(say(2, line(1, 10)).saved);
  EXPECT_TRUE(say(3, line(2, 10) + saved + line(3, 10)).saved);
  EXPECT_TRUE(say(4, saved, 2).saved);
}

TEST_F(ProgressTest, ASaveOfBeforeARestartIsNotOneOfNow) {
  const std::string saved = "{\"saved\":true}\n";
  say(1, saved + line(1, 10));
  const auto restart = [this] {
    reader_.emplace(LeaseFiles(home_));
    reader_->adopt(1, 1);
  };
  restart();
  const ProgressReader::News first = say(2, "");
  EXPECT_TRUE(first.any) << "its position may be reported again";
  EXPECT_FALSE(first.saved);
  EXPECT_TRUE(say(3, saved).saved) << "only the first look";
  restart();
  EXPECT_FALSE(say(4, "{\"saved\":").saved);
  EXPECT_TRUE(say(5, "true}\n").saved) << "it was not finished then";
  restart();
  EXPECT_TRUE(say(6, saved, 2).saved) << "another lease is all new";
}

TEST_F(ProgressTest, ASpeedThatCannotBeIsNoSpeed) {
  say(1, line(0, 10));
  say(1.5, line(1, 10));
  ASSERT_TRUE(reader_->series(1)->latest(1));
  EXPECT_EQ(reader_->series(1)->latest(1)->rate, 2);
  say(1.75, line(1.79e308, 10));
  EXPECT_FALSE(reader_->series(1)->latest(1)) << "infinitely many steps per second";
  say(2, line(3, 10));
  EXPECT_TRUE(reader_->series(1)->latest(1));
  say(3, "{\"step\":4,\"epoch\":1,\"loss\":-1e13}\n");
  EXPECT_FALSE(reader_->series(1)->latest(1));
}

TEST(JobSeries, HowLongAJobRunsItKeepsFew) {
  Thinned<int> few;
  for (int i = 0; i < 100'000; ++i) {
    few.add(i);
    ASSERT_LE(few.points().size(), Thinned<int>::kMax);
    ASSERT_EQ(few.points().front(), 0);
    ASSERT_EQ(few.points().back(), i);
  }
  EXPECT_GE(few.points().size(), Thinned<int>::kMax / 2);
  for (std::size_t i = 2; i + 1 < few.points().size(); ++i) {
    EXPECT_EQ(few.points()[i] - few.points()[i - 1], few.points()[1]) << "evenly";
  }
}

// Seconds left, and the band about them.
Remaining about(double seconds, double to_each_side) {
  Remaining left;
  left.seconds = seconds;
  left.low = seconds - to_each_side;
  left.high = seconds + to_each_side;
  return left;
}

TEST(IsNotable, WhatIsMoreThanATenthAndMoreThanNoise) {
  const Duration soon = Duration::seconds(10);
  EXPECT_TRUE(is_notable(about(1000, 20), 1150, soon));
  EXPECT_TRUE(is_notable(about(1150, 20), 1000, soon));
  EXPECT_FALSE(is_notable(about(1000, 20), 1090, soon)) << "less than a tenth";
  EXPECT_FALSE(is_notable(about(1000, 400), 1150, soon)) << "it does not know better";
  EXPECT_TRUE(is_notable(about(1000, 400), 1450, soon));
  EXPECT_FALSE(is_notable(about(1, 0), 1.9, soon)) << "a second is nothing";
  EXPECT_TRUE(is_notable(about(10'000, 20'000), 2'400, soon)) << "uncertain, but another job";
  EXPECT_TRUE(is_notable(about(2'400, 5'000), 10'000, soon));
}

TEST(IsNotable, AfterAWhileWhatIsMoreThanNoise) {
  const Duration late = Duration::seconds(300);
  EXPECT_TRUE(is_notable(about(1000, 20), 1090, late));
  EXPECT_FALSE(is_notable(about(1000, 20), 1015, late));
  EXPECT_FALSE(is_notable(about(1000, 400), 1390, late));
  EXPECT_TRUE(is_notable(about(1000, 400), 1410, late));
  EXPECT_FALSE(is_notable(about(1, 0), 1.9, late));
}

// Two long jobs whose forecasts differ by less than they are uncertain by would change places each
// time either says something.
TEST(IsNotable, SeldomOfALongJobWithAnUnevenPace) {
  Random random(5);
  JobSeries series;
  double ran = 0;
  double told = -1;
  double told_at = 0;
  int notable = 0;
  for (int i = 0; i <= 400; ++i) {
    series.add(ran, 1, 100.0 * i, {}, 40'000.0);
    const auto now = Duration::micros(static_cast<std::int64_t>(ran * 1e6));
    if (const Result<Remaining> left = series.predict(now); left.ok() && i < 300) {
      const auto since = Duration::micros(static_cast<std::int64_t>((ran - told_at) * 1e6));
      if (told < 0 || is_notable(left.value(), std::max(0.0, told - since.in_seconds()), since)) {
        ++notable;
        told = left.value().seconds;
        told_at = ran;
      }
    }
    ran += 60 + static_cast<double>(random.below(240));  // Minutes for a hundred steps.
  }
  EXPECT_LE(notable, 20) << "out of 300, all of which are noise or older than five minutes";
}

TEST(TimeWords, AreRough) {
  EXPECT_EQ(time_words(0.4), "0 s");
  EXPECT_EQ(time_words(99), "99 s");
  EXPECT_EQ(time_words(100), "2 min");
  EXPECT_EQ(time_words(3599), "1 h 00 min");
  EXPECT_EQ(time_words(4800), "1 h 20 min");
  EXPECT_EQ(time_words(86'400 + 7200), "1 day 2 h");
  EXPECT_EQ(time_words(300'000), "3 days 11 h");
}

}  // namespace
}  // namespace muster
