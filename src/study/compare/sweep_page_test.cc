#include "study/compare/sweep_page.h"

#include <gtest/gtest.h>

#include <string>

namespace muster {
namespace {

const std::string kMeans =
    "cluster,policy,seeds,jct_mean_s,jct_mean_s_low95,jct_mean_s_high95,jct_p50_s,jct_p50_s_low95,"
    "jct_p50_s_high95,jct_p99_s,jct_p99_s_low95,jct_p99_s_high95,wait_mean_s,wait_mean_s_low95,"
    "wait_mean_s_high95,makespan_s,makespan_s_low95,makespan_s_high95,gpu_utilization,"
    "gpu_utilization_low95,gpu_utilization_high95\n"
    "4x8,fifo,2,7200,3600,10800,1,1,1,2,2,2,3,3,3,4,4,4,0.5,0.4,0.6\n"
    "4x8,srtf,2,3600,3000,4000,1,1,1,2,2,2,3,3,3,4,4,4,0.5,0.4,0.6\n";
const std::string kResults = "cluster,policy,seed,jct_mean_s,digest\n4x8,fifo,1,7200,0012\n";

SweepFiles sweep() { return parse_sweep_files(kMeans, kResults, "s").value(); }

TEST(SweepPage, NamesGroupsByWhatDiffers) {
  EXPECT_EQ(group_names(sweep()), (std::vector<std::string>{"fifo", "srtf"}));
  SweepFiles one = sweep();
  one.means.rows.pop_back();
  EXPECT_EQ(group_names(one), std::vector<std::string>{"4x8 fifo"});
}

TEST(SweepPage, MeasuresAgainstTheBaseline) {
  const Page page = sweep_page(sweep(), 0);
  const PageTable& table = page.sections.at(0).tables.at(0);
  EXPECT_EQ(table.columns.at(0), "policy");
  EXPECT_EQ(table.columns.at(5), "gain");
  EXPECT_EQ(std::get<Number>(table.rows[1][5]).value, 2);
  EXPECT_EQ(page.sections[0].findings.at(0), "srtf has the shortest mean completion time: 1.00 h.");
  const Plot& bars = page.sections.at(1).plots.at(0);
  EXPECT_EQ(bars.series.at(0).y, (std::vector<double>{2, 1}));
  EXPECT_EQ(bars.series.at(2).name, "high 95%");
  EXPECT_EQ(bars.series.at(2).y.at(0), 3);
}

// A digest of digits is no number.
TEST(SweepPage, KeepsDigestsAsTheyAre) {
  const Page page = sweep_page(sweep(), 1);
  const PageTable& cells = page.sections.at(2).tables.at(0);
  EXPECT_EQ(std::get<std::string>(cells.rows.at(0).at(4)), "0012");
  EXPECT_EQ(std::get<std::int64_t>(cells.rows.at(0).at(2)), 1);
}

TEST(SweepPage, SaysWhatIsWrong) {
  const auto error = [](const std::string& means, const std::string& results) {
    return parse_sweep_files(means, results, "s").error().message;
  };
  const std::string header = kMeans.substr(0, kMeans.find('\n') + 1);
  EXPECT_EQ(error("", kResults), "s/means.csv:1: the file is empty");
  EXPECT_EQ(error(header, kResults), "s/means.csv:1: nothing after the header");
  EXPECT_EQ(error("policy,seeds\nfifo,1\n", kResults),
            "s/means.csv:1: jct_mean_s: column missing from the header");
  EXPECT_EQ(error(kMeans, "a,b\n1\n"), "s/results.csv:2: columns: 1 where the header has 2: '1'");
  EXPECT_FALSE(holds_sweep("/nowhere"));
}

}  // namespace
}  // namespace muster
