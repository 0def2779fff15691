#include "workload/philly/philly_use.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "base/text/text.h"
#include "tests/philly_files.h"
#include "workload/philly/pacific_time.h"
#include "workload/philly/philly_log.h"

namespace muster {
namespace {

const std::string kUseHeader = "time,machineId,gpu0_util,gpu1_util\n";

History use_log_of(const std::string& jobs) {
  return parse_philly_log("[" + jobs + "]", "log").value();
}

std::string use_job(const std::string& start, const std::string& end, const std::string& detail,
                    const std::string& status = "Pass") {
  return R"({"submitted_time":"2017-10-03 00:00:00","status":")" + status +
         R"(","attempts":[{"start_time":"2017-10-03 )" + start + R"(","end_time":"2017-10-03 )" +
         end + R"(","detail":[)" + detail + "]}]}";
}

std::string row(const std::string& minute, const std::string& rest) {
  return "2017-10-03 00:" + minute + ":00 PDT," + rest + "\n";
}

UseStudy study_of(const std::string& rows, History& history) {
  UseStudy study;
  const MaybeError refusal = add_gpu_use(only(ByteSource::of(rows, "use")), history, study);
  EXPECT_FALSE(refusal) << refusal->message;
  return study;
}

TEST(GpuUse, JoinsMinutesWithTheAttemptThatHeldTheGpu) {
  History history =
      use_log_of(use_job("00:02:30", "00:05:00", R"({"ip":"m1","gpus":["gpu0"]})") + "," +
                 use_job("00:04:00", "00:06:01", R"({"ip":"m1","gpus":["gpu1"]})", "Failed"));
  std::string rows = kUseHeader;
  for (int minute = 1; minute <= 7; ++minute) {
    const std::string m = std::to_string(minute);
    rows += row("0" + m, "m1,1" + m + ",2" + m + ".5,");
  }
  const UseStudy study = study_of(rows, history);
  // Minutes 2, 3 and 4 of GPU 0; 4, 5 and 6 of GPU 1.
  EXPECT_FLOAT_EQ(history.jobs[0].gpu_use, 0.13F);
  EXPECT_FLOAT_EQ(history.jobs[1].gpu_use, 0.255F);
  EXPECT_EQ(study.jobs[0].gpu_minutes, 3);
  EXPECT_TRUE(history.knows.use);
  ASSERT_EQ(study.gpus.size(), 2u);
  EXPECT_EQ(study.gpus[0].status, Status::kPassed);
  EXPECT_EQ(study.gpus[0].use.minutes[12], 1u);
  EXPECT_EQ(study.gpus[0].use.minutes[14], 1u);
  EXPECT_DOUBLE_EQ(study.gpus[1].use.mean(), 25.5);
  EXPECT_EQ(study.unheld.count(), 14u - 6);
  EXPECT_EQ(study.first.us() / 60'000'000 + 6, study.last.us() / 60'000'000);
}

TEST(GpuUse, TellsCellsApart) {
  const std::string both = R"({"ip":"m1","gpus":["gpu0","gpu1"]})";
  const std::string half = R"({"ip":"m2","gpus":["gpu1"]})";
  History history = use_log_of(use_job("00:01:00", "00:02:00", both) + "," +
                               use_job("00:02:00", "00:03:00", both + "," + half) + "," +
                               use_job("00:03:00", "00:04:00", half));
  std::string rows = kUseHeader;
  for (const char* const minute : {"01", "02", "03"}) {
    rows += row(minute, "m1,50,50") + row(minute, "m2,50,50");
  }
  const UseStudy study = study_of(rows, history);
  std::vector<std::tuple<int, int, bool, std::uint64_t>> got;
  for (const UseCell& cell : study.gpus) {
    got.emplace_back(cell.gpus, cell.nodes, cell.dedicated, cell.use.count());
  }
  EXPECT_EQ(got, (std::vector<std::tuple<int, int, bool, std::uint64_t>>{
                     {1, 1, false, 1}, {2, 1, true, 2}, {3, 2, false, 3}}));
  EXPECT_EQ(study.where([](const UseCell& cell) { return cell.gpus >= 2; }).count(), 5u);
}

TEST(GpuUse, GivesAContestedGpuToTheLater) {
  const std::string gpu = R"({"ip":"m1","gpus":["gpu0"]})";
  History history = use_log_of(use_job("00:01:00", "00:09:00", gpu) + "," +
                               use_job("00:04:30", "00:06:00", gpu, "Killed"));
  std::string rows = kUseHeader;
  for (int minute = 1; minute <= 9; ++minute) rows += row("0" + std::to_string(minute), "m1,10,NA");
  const UseStudy study = study_of(rows, history);
  EXPECT_EQ(study.jobs[0].gpu_minutes, 3);  // 1, 2, 3.
  EXPECT_EQ(study.jobs[1].gpu_minutes, 2);  // 4, 5.
  EXPECT_EQ(study.unheld.count(), 4u);
  EXPECT_EQ(study.notes.back(),
            "1 time when two attempts held the same GPU: the later one is used");
}

TEST(GpuUse, NotesWhatItDidNotUse) {
  History history = use_log_of(use_job("00:01:00", "00:09:00", R"({"ip":"m1","gpus":["gpu0"]})") +
                               "," + R"({"submitted_time":"2017-10-03 00:00:00","attempts":[{}]})");
  const UseStudy study =
      study_of(kUseHeader + row("01", "m1,NA,101") + row("01", "m9,1,-1"), history);
  EXPECT_EQ(
      study.notes,
      (std::vector<std::string>{
          "1 GPU minute without a value", "2 GPU minutes skipped: utilization not from 0% to 100%",
          "1 row for nodes that are not in the log", "1 attempt ignored: no start or no end"}));
  EXPECT_TRUE(std::isnan(history.jobs[0].gpu_use));
}

TEST(GpuUse, SeesGpusThatNoJobUsed) {
  History history = use_log_of(use_job("00:01:00", "00:09:00", R"({"ip":"m1","gpus":["gpu0"]})"));
  history.nodes.push_back(HistoryNode{"m2", 8, 8, 24});  // Only in the machine list.
  history.nodes.push_back(HistoryNode{"m3", 8, 8, 24});
  study_of(kUseHeader + row("01", "m1,1,1") + row("01", "m2,1,1") + row("01", "m3,NA,NA"), history);
  EXPECT_EQ(history.nodes[0].gpus, 2);
  EXPECT_EQ(history.nodes[1].gpus, 2);
  EXPECT_EQ(history.nodes[2].gpus, 8);
}

TEST(GpuUse, AddsFilesUp) {
  History history = use_log_of(use_job("00:01:00", "00:09:00", R"({"ip":"m1","gpus":["gpu0"]})"));
  UseStudy study;
  const std::string first = kUseHeader + row("01", "m1,10,0");
  const std::string second = kUseHeader + row("02", "m1,30,0");
  std::vector<ByteSource> both = only(ByteSource::of(first, "a"));
  both.push_back(ByteSource::of(second, "b"));
  EXPECT_FALSE(add_gpu_use(std::move(both), history, study));
  EXPECT_FLOAT_EQ(history.jobs[0].gpu_use, 0.2F);
  EXPECT_EQ(study.gpus[0].use.count(), 2u);
  EXPECT_EQ(history.nodes[0].gpus, 2);
}

TEST(GpuUse, RefusesOtherHeaders) {
  History history = use_log_of(use_job("00:01:00", "00:09:00", ""));
  UseStudy study;
  const std::string text = "time,machineId,gpu1_util\n";
  EXPECT_EQ(add_gpu_use(only(ByteSource::of(text, "use")), history, study)->message,
            "use:1: header: expected 'gpu0_util', got 'gpu1_util'");
}

TEST(NodeUse, CountsCpuAndMemory) {
  UseStudy study;
  const std::string cpu = "time,machine_id,cpu_util\n" + row("01", "m1,31.845") +
                          row("02", "m1,NA") + row("03", "m1,0");
  EXPECT_FALSE(add_cpu_use(ByteSource::of(cpu, "cpu"), study));
  EXPECT_EQ(study.cpu.minutes[31], 1u);
  EXPECT_EQ(study.cpu.count(), 2u);
  const std::string mem = "time,machine_id,mem_total,mem_free\n" + row("01", "m1,1000.0,250.0") +
                          row("02", "m1,0.0,0.0") + row("03", "m1,NA,NA") + row("04", "m1,5,0") +
                          row("05", "m1,5,6");
  EXPECT_FALSE(add_mem_use(ByteSource::of(mem, "mem"), study));
  EXPECT_EQ(study.memory.minutes[75], 1u);
  EXPECT_EQ(study.memory.minutes[100], 1u);
  EXPECT_EQ(study.memory.count(), 2u);
  EXPECT_EQ(study.notes,
            (std::vector<std::string>{
                "1 node minute without a value of cpu_util",
                "2 node minutes without a value of mem_total",
                "1 node minute of mem_total skipped: utilization not from 0% to 100%"}));
  EXPECT_EQ(add_cpu_use(ByteSource::of(mem, "mem"), study)->message,
            "mem:1: header: expected time, machine_id, cpu_util");
}

TEST(UseHistogram, HasMeanAndQuantiles) {
  UseHistogram use;
  EXPECT_TRUE(std::isnan(use.mean()));
  EXPECT_TRUE(std::isnan(use.quantile(0.5)));
  for (int i = 0; i < 10; ++i) use.add(i * 10 * kPercent + 500'000);
  EXPECT_DOUBLE_EQ(use.mean(), 45.5);
  EXPECT_DOUBLE_EQ(use.quantile(0), 0);
  EXPECT_DOUBLE_EQ(use.quantile(0.5), 50);
  EXPECT_DOUBLE_EQ(use.quantile(0.89), 80);
  EXPECT_DOUBLE_EQ(use.quantile(1), 100);
}

// Reference implementation of the join: checks each minute and GPU against all attempts.
class NaiveJoin {
 public:
  explicit NaiveJoin(const History& history) {
    for (std::size_t i = 0; i < history.jobs.size(); ++i) {
      for (const Attempt& attempt : history.attempts_of(history.jobs[i])) {
        if (attempt.start == Instant::never() || attempt.end == Instant::never()) continue;
        const std::int64_t start = attempt.start.us() / 60'000'000 * 60;
        for (const HostShare& share : history.hosts_of(attempt)) {
          for (int gpu = 0; gpu < 64; ++gpu) {
            if ((share.gpus >> gpu & 1) == 0) continue;
            held_[{history.nodes[share.node].name, gpu}].push_back(
                {start, attempt.end.us() / 1'000'000, i});
          }
        }
      }
    }
  }

  void add(const std::string& node, int gpu, std::int64_t now, double use) {
    // The attempt that started last; if several started in the same minute, the last in the list.
    const Span* holder = nullptr;
    for (const Span& span : held_[{node, gpu}]) {
      if (span.start > now) continue;
      if (holder == nullptr || span.start >= holder->start) holder = &span;
    }
    if (holder == nullptr || holder->end <= now) {
      ++unheld;
      return;
    }
    auto& [sum, count] = wanted[holder->job];
    sum += use;
    ++count;
  }

  std::map<std::size_t, std::pair<double, int>> wanted;  // By job: sum of use, minutes.
  std::uint64_t unheld = 0;

 private:
  struct Span {
    std::int64_t start;
    std::int64_t end;
    std::size_t job;
  };
  std::map<std::pair<std::string, int>, std::vector<Span>> held_;  // By node and GPU.
};

// Includes the repeated hour on 5 November.
TEST(GpuUse, AgreesWithANaiveTwin) {
  PhillyJobs options;
  options.jobs = 30'000;
  History history = parse_philly_log(written(write_philly_log, options), "log").value();
  PhillyMinutes span;
  span.from = "2017-11-05 00:30:00";
  span.minutes = 150;
  const std::string text = written(write_philly_gpu_use, span);
  NaiveJoin naive(history);
  for (const std::string_view line : split(text, '\n')) {
    const std::vector<std::string_view> cells = split(line, ',');
    const auto time = parse_zoned_time(cells[0]);
    if (!time) continue;
    for (int gpu = 0; gpu < 8; ++gpu) {
      const std::string_view cell = cells[static_cast<std::size_t>(gpu) + 2];
      if (cell == "NA") continue;
      naive.add(std::string(cells[1]), gpu, time->us() / 1'000'000, parse_number(cell).value());
    }
  }
  const UseStudy study = study_of(text, history);
  EXPECT_GT(naive.wanted.size(), 30u);
  EXPECT_EQ(study.unheld.count(), naive.unheld);
  std::size_t joined = 0;
  for (std::size_t i = 0; i < history.jobs.size(); ++i) {
    if (study.jobs[i].gpu_minutes == 0) continue;
    ++joined;
    ASSERT_TRUE(naive.wanted.contains(i)) << i;
    const auto [sum, count] = naive.wanted[i];
    EXPECT_EQ(study.jobs[i].gpu_minutes, count);
    EXPECT_NEAR(history.jobs[i].gpu_use, sum / count / 100, 1e-6);
  }
  EXPECT_EQ(joined, naive.wanted.size());
}

}  // namespace
}  // namespace muster
