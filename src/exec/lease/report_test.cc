#include "exec/lease/report.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(Report, StartedComesBackAsItWasWritten) {
  const StartedFacts facts{.token = "0123456789abcdef",
                           .pid = 77,
                           .process_start = 123456,
                           .boot_id = "b",
                           .at = {1, 2},
                           .isolation = "reduced",
                           .isolation_why = "no \"rights\""};
  const auto read = read_started(started_json(facts));
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_TRUE(read.value() == facts);
}

TEST(Report, ExitComesBackAsItWasWrittenWhateverTheCause) {
  for (int cause = 0; cause <= static_cast<int>(EndCause::kCouldNotStart); ++cause) {
    ExitReport report;
    report.token = "0123456789abcdef";
    report.cause = static_cast<EndCause>(cause);
    report.forced = true;
    report.error_number = 2;
    report.words = "rank 1 \"failed\"\n";
    report.ranks = {{0, 0, 15}, {1, 255, 0}};
    report.start = {10, 20};
    report.end = {30, 40};
    report.user_s = 1.25;
    report.system_s = 0.1;
    report.mem_peak_mib = 5;
    report.read_bytes = 6;
    report.written_bytes = 7;
    report.disk_read_bytes = 8;
    report.disk_written_bytes = 9;
    report.log_lost_bytes = 10;
    report.log_trouble = "No space left on device";
    const auto read = read_exit(exit_json(report));
    ASSERT_TRUE(read.ok()) << read.error().message;
    EXPECT_TRUE(read.value() == report);
  }
}

TEST(Report, SpoiltOnesAreRefused) {
  const std::string text = exit_json(ExitReport{});
  for (std::size_t size = 0; size + 2 < text.size(); ++size) {
    EXPECT_FALSE(read_exit(text.substr(0, size)).ok()) << size;
  }
  std::string other = text;
  other.replace(other.find("finished"), 8, "vanished");
  EXPECT_EQ(read_exit(other).error().message, "cause: unknown value");
}

}  // namespace
}  // namespace muster
