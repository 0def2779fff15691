// Progress reports of jobs, thinned for a chart.

#include "live/views/report_series.h"
#include "base/os/testing.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <utime.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

namespace muster {
namespace {

using nlohmann::json;

class Reports : public testing::Test {
 protected:
  // Steps 1 to `steps`, in 1000 s, the last at 2000.
  ReportFile file(const std::string& name, int steps, int first = 1) {
    const std::string path = folder_ + "/" + name;
    std::ofstream out(path);
    for (int i = first; i < first + steps; ++i) {
      out << "{\"step\":" << i << ",\"loss\":" << 1.0 / i << "}\n";
    }
    out.close();
    const utimbuf times{2'000, 2'000};
    EXPECT_EQ(::utime(path.c_str(), &times), 0);
    return {path, 1'000, std::nullopt};
  }

  const Folder scratch_;
  const std::string folder_ = scratch_.path();
};

TEST_F(Reports, AreAllThereIfTheyAreFew) {
  const json series = report_series(std::vector{file("a", 3)});
  EXPECT_EQ(series["step"], json({1.0, 2.0, 3.0}));
  EXPECT_EQ(series["loss"][1], 0.5);
  EXPECT_EQ(series["rate"], json({nullptr, nullptr, nullptr}));
  EXPECT_EQ(series["at"][2], 2'000.0);
  EXPECT_GT(series["at"][0], 1'000.0);
}

TEST_F(Reports, AreThinnedOverTheWholeLife) {
  for (const int steps : {5'000, 300'000}) {  // The latter is not read whole.
    const json series = report_series(std::vector{file("a", steps)});
    const auto count = series["step"].size();
    EXPECT_LE(count, kMaxReports);
    EXPECT_GT(count, kMaxReports / 2);
    EXPECT_EQ(series["step"][0], 1.0);
    EXPECT_NEAR(series["step"][count - 1].get<double>(), steps, steps * 0.01);
    EXPECT_NEAR(series["step"][count / 2].get<double>(), steps / 2.0, steps * 0.05);
    EXPECT_NEAR(series["at"][count / 2].get<double>(), 1'500, 60);
    EXPECT_TRUE(std::is_sorted(series["at"].begin(), series["at"].end()));
  }
}

TEST_F(Reports, OfManyLeasesAreNoMoreThanOfOne) {
  std::vector<ReportFile> files = {file("long", 2'000)};
  for (int i = 0; i < 49; ++i) files.push_back(file("short" + std::to_string(i), 1));
  EXPECT_LE(report_series(files)["step"].size(), kMaxReports);
}

TEST_F(Reports, GoOnFromLeaseToLease) {
  ReportFile second = file("b", 10, 11);
  second.begun = 3'000;
  second.ended = 4'000;
  const json series =
      report_series(std::vector{file("a", 10), ReportFile{folder_ + "/gone", 0, {}}, second});
  EXPECT_EQ(series["step"].size(), 20U);
  EXPECT_EQ(series["step"][19], 20.0);
  EXPECT_EQ(series["at"][9], 2'000.0);
  EXPECT_EQ(series["at"][19], 3'000.0) << "a clock that was wrong";
}

TEST_F(Reports, TrustNothing) {
  std::ofstream(folder_ + "/odd")
      << "no json\n{\"step\":\"x\"}\n[1]\n{\"step\":7}\n{\"cache\":{}}\n"
      << std::string(5'000, 'x') << "\n{\"step\":8}";
  const json series = report_series(std::vector{ReportFile{folder_ + "/odd", 0, {}}});
  EXPECT_EQ(series["step"], json({7.0})) << "the last line is not whole yet";
  std::filesystem::create_symlink("/etc/passwd", folder_ + "/link");
  EXPECT_TRUE(report_series(std::vector{ReportFile{folder_ + "/link", 0, {}}})["at"].empty());
  ASSERT_EQ(::mkfifo((folder_ + "/pipe").c_str(), 0600), 0);
  EXPECT_TRUE(report_series(std::vector{ReportFile{folder_ + "/pipe", 0, {}}})["at"].empty());
}

}  // namespace
}  // namespace muster
