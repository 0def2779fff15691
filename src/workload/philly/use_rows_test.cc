#include "workload/philly/use_rows.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "base/file/digits.h"
#include "base/types/random.h"
#include "tests/campaign.h"

namespace muster {
namespace {

constexpr std::int64_t kNone = UseRows::kMissing;

struct Rows {
  std::vector<std::vector<std::int64_t>> values;
  std::vector<std::string> nodes;
  std::vector<Minute> minutes;
  std::string error;
};

Rows read(const std::string& text) {
  Rows result;
  UseRows rows(ByteSource::of(text, "use"));
  if (const auto header = rows.read_header(); !header.ok()) {
    result.error = header.error().message;
    return result;
  }
  while (true) {
    const Result<bool> there = rows.next();
    if (!there.ok()) result.error = there.error().message;
    if (!there.ok() || !there.value()) return result;
    result.values.push_back(rows.values());
    result.nodes.emplace_back(rows.node());
    result.minutes.push_back(rows.minute());
  }
}

const std::string kTime = "2017-10-03 00:08:00 PDT";

std::vector<std::int64_t> values_of(const std::string& cells) {
  const Rows rows = read("time,machineId,a,b\n" + kTime + ",m29," + cells);
  EXPECT_EQ(rows.error, "") << cells;
  return rows.values.empty() ? std::vector<std::int64_t>() : rows.values[0];
}

using Values = std::vector<std::int64_t>;

TEST(EightDigits, CountsAndAddsUp) {
  const auto count = [](const char* text) { return EightDigits(text).count(); };
  EXPECT_EQ(count("12345678"), 8);
  EXPECT_EQ(count("1234567,"), 7);
  EXPECT_EQ(count(",2345678"), 0);
  EXPECT_EQ(count("12:45678"), 2);
  EXPECT_EQ(count("12/45678"), 2);
  EXPECT_EQ(count("1\xff"
                  "345678"),
            1);
  EXPECT_EQ(EightDigits("12345678").whole(), 12345678u);
  EXPECT_EQ(EightDigits("907.5678").whole(), 907u);
  EXPECT_EQ(EightDigits("0,345678").whole(), 0u);
  EXPECT_EQ(EightDigits("12345678").padded(), 12345678u);
  EXPECT_EQ(EightDigits("5,345678").padded(), 50000000u);
  EXPECT_EQ(EightDigits(",2345678").padded(), 0u);
}

TEST(UseRows, ReadsTheReadmesExamples) {
  const Rows gpus = read(
      "time,machineId,gpu0_util,gpu1_util,gpu2_util\n"
      "2017-10-03 00:08:00 PDT,m29,60.8,99.366666667,100.0,\n"
      "2017-11-27 00:04:00 PST,m30,NA,NA,63.333333333,\r\n");
  EXPECT_EQ(gpus.error, "");
  EXPECT_EQ(gpus.nodes, (std::vector<std::string>{"m29", "m30"}));
  EXPECT_EQ(gpus.values, (std::vector<Values>{{60'800'000, 99'366'666, 100'000'000},
                                              {kNone, kNone, 63'333'333}}));
  EXPECT_EQ(gpus.minutes[0], (1506989280 + 7 * 3600) / 60);
  EXPECT_EQ(gpus.minutes[1], (1511741040 + 8 * 3600) / 60);
  const Rows mem = read(
      "time,machine_id,mem_total,mem_free\n2017-10-03 00:06:00 PDT,m29,528272672.0,2030730.6667\n");
  EXPECT_EQ(mem.values[0], (Values{528'272'672'000'000, 2'030'730'666'700}));
}

TEST(UseRows, KnowsNumbersInManyShapes) {
  EXPECT_EQ(values_of("0,7"), (Values{0, 7'000'000}));
  EXPECT_EQ(values_of("1.5e1, 2 "), (Values{15'000'000, 2'000'000}));
  EXPECT_EQ(values_of(".5,5."), (Values{500'000, 5'000'000}));
  EXPECT_EQ(values_of("NA,"), (Values{kNone, kNone}));
  EXPECT_EQ(values_of(",NA"), (Values{kNone, kNone}));
  EXPECT_EQ(values_of(" NA ,,"), (Values{kNone, kNone}));
  EXPECT_EQ(values_of("-0.5,1e300"), (Values{UseRows::kBeyond, UseRows::kBeyond}));
  EXPECT_EQ(values_of("123456789012,1234567890123"),
            (Values{123'456'789'012'000'000, UseRows::kBeyond}));
  EXPECT_EQ(values_of("0.0000019999999999999999999999,99.9999999"), (Values{1, 99'999'999}));
}

// Compares with the numbers of the standard library, for each length before and after the point.
TEST(UseRows, ReadsRandomNumbers) {
  Random random(3);
  for (std::uint64_t round = 0; round < campaign_size(20'000, 20'000); ++round) {
    const auto digits = [&](std::uint64_t most) {
      std::string text;
      for (std::uint64_t left = random.below(most + 1); left > 0; --left) {
        text += static_cast<char>('0' + random.below(10));
      }
      return text;
    };
    const std::string before = static_cast<char>('0' + random.below(10)) + digits(10);
    const std::string after = digits(14);
    const std::string text = before + (random.below(3) == 0 && after.empty() ? "" : "." + after);
    std::string millionths = (after + "000000").substr(0, 6);
    EXPECT_EQ(values_of(text + ",1")[0], std::stoll(before + millionths)) << text;
  }
}

TEST(UseRows, SaysWhatIsWrong) {
  const std::string header = "time,machineId,a,b\n";
  EXPECT_EQ(read("").error, "use:0: the file is empty");
  EXPECT_EQ(read("time,host,a\n").error,
            "use:1: header: not a Philly utilization file: 'time,host,a'");
  EXPECT_EQ(read("time,machineId\n").error,
            "use:1: header: not a Philly utilization file: 'time,machineId'");
  EXPECT_EQ(read(header + "noon,m1,1,2\n").error,
            "use:2: time: not a time such as 2017-10-03 00:08:00 PDT: 'noon'");
  EXPECT_EQ(read(header + kTime + "\n").error,
            "use:2: columns: too few: '2017-10-03 00:08:00 PDT'");
  EXPECT_EQ(read(header + kTime + ",m1\n").error,
            "use:2: columns: too few: '2017-10-03 00:08:00 PDT,m1'");
  EXPECT_EQ(read(header + kTime + ",m1,1\n").error,
            "use:2: columns: 3 instead of 4: '2017-10-03 00:08:00 PDT,m1,1'");
  EXPECT_EQ(read(header + kTime + ",m1,1,2,3\n").error,
            "use:2: columns: more than in the header: '2017-10-03 00:08:00 PDT,m1,1,2,3'");
  EXPECT_EQ(read(header + kTime + ", ,1,2\n").error, "use:2: machineId: empty: ''");
  EXPECT_EQ(read(header + kTime + ",m1,1,x\n").error, "use:2: b: not a number: 'x'");
  EXPECT_EQ(read(header + kTime + ",m1,1,2\n\n" + kTime + ",m1,1,1-\n").error,
            "use:4: b: not a number: '1-'");
}

// The file ends in the middle of a number, and the buffer contains older bytes after it.
TEST(UseRows, DoesNotReadOnBehindTheEnd) {
  std::string text = "time,machineId,a\n";
  while (text.size() < LineStream::kBlock + 1000) text += kTime + ",m1,99.999999999\n";
  text += kTime + ",m1,1";
  const Rows rows = read(text);
  EXPECT_EQ(rows.error, "");
  EXPECT_EQ(rows.values.back(), Values{1'000'000});
}

}  // namespace
}  // namespace muster
