// The scheduler `tiresias` on the traces of its project: the built-in profiles contain the sizes of
// their models, so gangs of skewed models run on the minimum number of nodes.

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <set>
#include <string>

#include "base/text/text.h"
#include "cli/common/testing.h"
#include "tests/data.h"

namespace muster {
namespace {

constexpr int kGpusPerNode = 4;

struct Gangs {
  int skewed = 0;       // Leases of skewed models on more than one GPU.
  int skewed_wide = 0;  // Those on more nodes than the minimum.
  int even_wide = 0;    // The same for other models.
};

class TiresiasTraces : public ScratchTest {
 protected:
  Gangs gangs(const std::string& trace, const std::string& options) const {
    const std::string out = path("out");
    fs::remove_all(out);
    const Output got = muster("sim --cluster 15x4 --scheduler tiresias --trace " + trace +
                              " --out " + out + options);
    EXPECT_EQ(got.status, kExitDone) << got.err;
    EXPECT_FALSE(has(got.err, "without a profile")) << got.err;
    std::map<std::string, bool> skewed;
    for (const auto& row : rows(out + "/jobs.csv")) {
      const std::string& model = row.at(4);
      skewed[row.at(0)] = model.starts_with("vgg") || model == "alexnet";
    }
    struct Lease {
      std::set<std::string> nodes;
      int gpus = 0;
    };
    std::map<std::pair<std::string, std::string>, Lease> leases;  // By job and start.
    for (const auto& row : rows(out + "/leases.csv")) {
      Lease& lease = leases[{row.at(0), row.at(3)}];
      lease.nodes.insert(row.at(1));
      lease.gpus += static_cast<int>(split(row.at(2), ' ').size());
    }
    Gangs found;
    for (const auto& [key, lease] : leases) {
      const bool is_skewed = skewed.at(key.first);
      const int fewest = (lease.gpus + kGpusPerNode - 1) / kGpusPerNode;
      const bool wide = static_cast<int>(lease.nodes.size()) > fewest;
      found.skewed += is_skewed && lease.gpus > 1 ? 1 : 0;
      found.skewed_wide += is_skewed && wide ? 1 : 0;
      found.even_wide += !is_skewed && wide ? 1 : 0;
    }
    return found;
  }

 private:
  static std::vector<std::vector<std::string>> rows(const std::string& file) {
    std::vector<std::vector<std::string>> out;
    std::istringstream lines(slurp(file));
    std::string line;
    std::getline(lines, line);  // The header.
    while (std::getline(lines, line)) {
      auto& row = out.emplace_back();
      for (const std::string_view cell : split(line, ',')) row.emplace_back(cell);
    }
    return out;
  }
};

TEST_F(TiresiasTraces, SixtyJobsKeepSkewedGangsTogether) {
  const auto trace = data_file("tiresias_60_job.csv");
  if (!trace) GTEST_SKIP() << "tiresias_60_job.csv not found; set MUSTER_DATA";
  const Gangs found = gangs(*trace, "");
  EXPECT_GT(found.skewed, 5);
  EXPECT_EQ(found.skewed_wide, 0);
}

TEST_F(TiresiasTraces, CrowdedClusterKeepsSkewedGangsTogether) {
  const auto trace = data_file("baseline_syn480.csv");
  if (!trace) GTEST_SKIP() << "baseline_syn480.csv not found; set MUSTER_DATA";
  const Gangs found = gangs(*trace, "");
  EXPECT_GT(found.skewed, 50);
  EXPECT_EQ(found.skewed_wide, 0);
  EXPECT_GT(found.even_wide, 10) << "other models do not wait";
  EXPECT_GT(gangs(*trace, " --placement consolidate").skewed_wide, 10) << "it makes a difference";
}

}  // namespace
}  // namespace muster
