#include "workload/input/service_file.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/file/csv.h"
#include "base/types/random.h"
#include "base/types/testing.h"
#include "base/types/time.h"
#include "tests/campaign.h"
#include "tests/data.h"

namespace muster {
namespace {

std::string refused_samples(std::string_view text) {
  return error_text(parse_service_samples(text, "s.csv"));
}

// Table C2 of the sources, in ends per million GPU-seconds, as printed there.
TEST(Sanity, J2_GittinsTable) {
  const auto path = data_file("tiresias_yarn-gput1000.csv");
  if (!path) GTEST_SKIP() << "tiresias_yarn-gput1000.csv not found; set MUSTER_DATA";
  const Result<ServiceDistribution> jobs = read_service_samples(*path);
  ASSERT_TRUE(jobs.ok()) << jobs.error().message;
  EXPECT_EQ(jobs.value().size(), 1001u);
  struct Row {
    std::int64_t attained_seconds;
    const char* millionths;
  };
  constexpr Row kTable[] = {{0, "297.16"},   {500, "285.41"},  {1000, "236.86"}, {3250, "122.16"},
                            {7200, "49.93"}, {18000, "14.47"}, {100000, "3.44"}};
  const Duration quantum = Duration::seconds(3250);
  for (const Row& row : kTable) {
    const Duration attained = Duration::seconds(row.attained_seconds);
    const GittinsIndex index = jobs.value().index(attained.us(), quantum.us());
    EXPECT_EQ(fmt::format("{:.2f}", 1e6 * index.value()), row.millionths) << row.attained_seconds;
  }
}

TEST(ServiceFile, WithAndWithoutHeader) {
  const std::string_view texts[] = {"duration\n4\n8\n12\n", "4\n8\n12",
                                    "\xef\xbb\xbf"
                                    "duration\r\n4\r\n8\r\n\r\n12\r\n",
                                    "# jobs of May\n\"duration\"\n 4 \n8.0\n1.2e1\n"};
  for (const std::string_view text : texts) {
    const Result<ServiceDistribution> jobs = parse_service_samples(text, "s.csv");
    ASSERT_TRUE(jobs.ok()) << jobs.error().message;
    EXPECT_EQ(jobs.value().size(), 3u);
    const GittinsIndex index = jobs.value().index(4'000'000, 12'000'000);
    EXPECT_EQ(index.finishing, 2);
    EXPECT_EQ(index.service, 12'000'000);
  }
}

TEST(ServiceFile, SaysWhatIsWrong) {
  expect_texts(refused_samples,
               {
                   {"", "s.csv: no service samples"},
                   {"duration\n# none\n", "s.csv: no service samples"},
                   {"durations\n4\n",
                    "s.csv:1: header: unknown column: 'durations'; did you mean 'duration'?"},
                   {"gpus\n4\n", "s.csv:1: header: unknown column: 'gpus'; one of: duration"},
                   {"4\nduration\n", "s.csv:2: duration: not a number: 'duration'"},
                   {"duration\n4\nsoon\n", "s.csv:3: duration: not a number: 'soon'"},
                   {"duration\n4\nnan\n", "s.csv:3: duration: not a number: 'nan'"},
                   {"duration\n4,5\n", "s.csv:2: columns: 2 instead of 1: '4,5'"},
                   {"-4\n", "s.csv:1: duration: negative: '-4'"},
                   {"4\n0\n", "s.csv:2: duration: must be above 0: '0'"},
                   {"1e300\n", "s.csv:1: duration: longer than 100 years: '1e300'"},
                   {"\"4\n", "s.csv:1: quote not closed: '\"4'"},
               });
}

TEST(ServiceFile, HasLimits) {
  EXPECT_TRUE(refused_samples(std::string(kLongestLine + 1, ','))
                  .starts_with("s.csv:1: line longer than 65536 bytes: "));
  std::string text;
  for (std::size_t i = 0; i < kMaxServiceLines; ++i) text += "1\n";
  EXPECT_EQ(refused_samples(text), "accepted");
  EXPECT_EQ(refused_samples(text + "1\n"),
            "s.csv:1000001: too many samples; the maximum is 1000000");
}

TEST(ServiceFile, SurvivesDamage) {
  Random random(9);
  const std::string_view sound = "duration\n121\n860.5\n2227\n";
  for (std::uint64_t round = 0; round < campaign_size(20'000, 20'000); ++round) {
    std::string text(sound);
    for (std::uint64_t i = 0; i <= random.below(3); ++i) {
      text[random.below(text.size())] = static_cast<char>(random.below(256));
    }
    const std::string message = refused_samples(text);
    EXPECT_TRUE(message == "accepted" || message.starts_with("s.csv:")) << message;
  }
}

TEST(ServiceFile, NamesAMissingFile) {
  const Result<ServiceDistribution> jobs = read_service_samples("/no/such/file.csv");
  ASSERT_FALSE(jobs.ok());
  EXPECT_TRUE(jobs.error().message.starts_with("/no/such/file.csv: no such file"));
}

}  // namespace
}  // namespace muster
