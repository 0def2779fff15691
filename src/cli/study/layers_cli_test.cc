// `muster layers`: a model in, figures and one sentence of advice out; and into a profile.

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>

#include "cli/common/testing.h"
#include "study/layers/models.h"
#include "workload/input/profiles_file.h"

namespace muster {
namespace {

class LayersCli : public ScratchTest {
 protected:
  // A model of the program's own as an exporter would write it.
  std::string csv_of(const std::string& name, const std::vector<Layer>& layers) const {
    std::string text = "name,type,parameter_bytes,output_bytes,macs\n";
    for (const Layer& layer : layers) {
      text +=
          fmt::format("{},{},{},{},{}\n", layer.name, layer.type, layer.parameter_bytes(),
                      layer.may_cut_behind ? std::to_string(layer.output_bytes) : "", layer.macs);
    }
    return file(name, text);
  }

  // The last line, which is the advice.
  static std::string advice(const std::string& out) {
    return out.substr(out.rfind('\n', out.size() - 2) + 1);
  }
};

// F of the sources, to the printed digit: there with the tensors that Tiresias lists, and ResNet50
// whole.
TEST_F(LayersCli, FiguresOfTheSources) {
  struct Figure {
    const char* words;
    const char* whole;
    const char* cut;
  };
  constexpr Figure kFigures[] = {
      {"vgg16 --listed", "526.8 MiB per step", "55.2 + 3.1 = 58.3 MiB with the cut"},
      {"alexnet --listed", "235.8 MiB per step", "12.2 + 1.1 = 13.3 MiB with the cut"},
      {"resnet50", "97.7 MiB per step", "89.9 + 0.25 = 90.1 MiB with the cut"},
  };
  constexpr const char* kLess[] = {": 9.0x less", ": 17.7x less", ": 1.08x less"};
  for (std::size_t i = 0; i < std::size(kFigures); ++i) {
    const Output got = muster(std::string("layers ") + kFigures[i].words);
    EXPECT_EQ(got.status, kExitDone) << got.err;
    EXPECT_TRUE(has(got.out, kFigures[i].whole)) << got.out;
    EXPECT_TRUE(has(got.out, kFigures[i].cut)) << got.out;
    EXPECT_TRUE(has(got.out, kLess[i])) << got.out;
  }
}

TEST_F(LayersCli, AdvisesInOneSentence) {
  const Output vgg = muster("layers vgg16");
  EXPECT_TRUE(has(vgg.out, "8.9x less\n            9.0x less with only tensors above 1 MiB, as"))
      << vgg.out;
  EXPECT_TRUE(has(vgg.out,
                  "skew        g1 3.47, 6.8 standard errors from normal; one layer "
                  "dominates: skewed\n"))
      << vgg.out;
  EXPECT_TRUE(has(vgg.out, "cut         after conv5_3: 13 on the workers, 3 on the parameter"))
      << vgg.out;
  EXPECT_TRUE(has(vgg.out, "step        1.26 s data parallel, 142 ms with the cut")) << vgg.out;
  EXPECT_TRUE(has(vgg.out, "\n            138 ms data parallel with an all-reduce instead of a"))
      << vgg.out;
  EXPECT_TRUE(advice(vgg.out).starts_with("Keep fc6, fc7 and fc8 of vgg16 only on the parameter"))
      << vgg.out;
  const Output resnet = muster("layers ResNet-50");
  EXPECT_TRUE(has(resnet.out, "cut         none advised; for comparison, a cut after conv5_3/3\n"));
  EXPECT_TRUE(has(resnet.out, "and 44 smaller")) << resnet.out;
  EXPECT_TRUE(advice(resnet.out).starts_with("Leave resnet50 data parallel: no layer dominates"))
      << resnet.out;
}

TEST_F(LayersCli, SetupMatters) {
  const auto step = [](const std::string& options) {
    return Json::parse(muster("layers vgg16 --json" + options).out)["data_parallel_step_s"]
        .get<double>();
  };
  const double usual = step("");
  EXPECT_NEAR(step(" --workers 16"), 2 * usual, 1e-9);
  EXPECT_NEAR(step(" --link 28Gb/s"), 2 * usual, 1e-9);
  EXPECT_NEAR(step(" --link 3.5GB/s"), 2 * usual, 1e-9);
  EXPECT_NEAR(step(" --link 3500MB/s"), 2 * usual, 1e-9);
  const Json slow = Json::parse(muster("layers vgg16 --json --compute 1G").out);
  EXPECT_EQ(slow["cut_advised"], false);
  EXPECT_EQ(slow["skewed"], true);
  EXPECT_TRUE(has(muster("layers vgg16 --compute 1G").out, "it is skewed, but no cut makes"));
  const Json one = Json::parse(muster("layers vgg16 --json --workers 1").out);
  EXPECT_EQ(one["all_reduce_step_s"], 0);
  // Two thirds of the parameters travel twice, in each direction of each link.
  const Json fast = Json::parse(muster("layers vgg16 --json --workers 3 --link 100GB/s").out);
  EXPECT_NEAR(fast["all_reduce_step_s"], 4.0 / 3 * fast["data_parallel_bytes"].get<double>() / 1e11,
              1e-12);
  const Json batch = Json::parse(muster("layers vgg16 --json --batch 64").out);
  EXPECT_EQ(batch["cut_activation_bytes"], 64 * 4 * 25088);
}

TEST_F(LayersCli, ReadsTablesAsItsOwnModels) {
  const std::string table = csv_of("mine.csv", vgg16());
  const Json own = Json::parse(muster("layers --json " + table).out);
  Json built_in = Json::parse(muster("layers --json vgg16").out);
  EXPECT_EQ(own["model"], "mine");
  EXPECT_EQ(own["layers"], built_in["layers"]);
  EXPECT_EQ(own["times_less"], built_in["times_less"]);
  EXPECT_EQ(own["layers"].size(), 16u);
  // What --json prints of the layers is a table again.
  const std::string json =
      file("again.json", Json({{"model", "x"}, {"layers", own["layers"]}}).dump());
  EXPECT_EQ(Json::parse(muster("layers --json " + json).out)["cut_behind"], "conv5_3");
}

TEST_F(LayersCli, MissingColumnIsOneSentenceWithTheFallback) {
  const std::string table =
      file("t.csv", "name,type,parameter_bytes,mac,output_bytes\na,b,1,2,3\n");
  const std::string profiles = file("p.yaml", "profiles:\n  - name: a\n    skew: 0.1\n");
  expect_refused(muster("layers " + table + " --profile " + profiles),
                 "t.csv:1: macs: column missing from the header: "
                 "'name,type,parameter_bytes,mac,output_bytes'; is 'mac' this column?; no "
                 "change: the model stays data parallel");
  EXPECT_EQ(slurp(profiles), "profiles:\n  - name: a\n    skew: 0.1\n");
}

TEST_F(LayersCli, RefusesBadWords) {
  expect_refused(muster("layers vgg1"), "unknown model 'vgg1'; did you mean 'vgg11'?");
  expect_refused(muster("layers " + path("no.csv")), "no.csv: no such file");
  expect_refusals("layers vgg16 ",
                  {
                      {"--workers 0", "--workers: not between 1 and 1000000: '0'"},
                      {"--batch x", "--batch: not a whole number: 'x'"},
                      {"--link 56", "--link: must be a bandwidth such as 56Gb/s or 7GB/s: '56'"},
                      {"--link -1Gb/s", "--link: must be a bandwidth"},
                      {"--compute fast",
                       "--compute: must be multiply-adds per second such as 3T or 500G: 'fast'"},
                      {"--name x", "--name"},
                  });
  expect_refused(muster("layers --all vgg16"), "--all: compares the built-in models");
  expect_refused(muster("layers --profile " + path("p.yaml")), "--profile: requires MODEL");
  expect_refused(muster("layers vgg16 --profile " + file("bad.yaml", "profiles: 3")),
                 "bad.yaml:1: profiles: not a list: '3'; the file is unchanged");
  expect_refused(muster("layers vgg16 --profile " + path("p.yaml") + " --name a,b"),
                 "a name has only letters");
  EXPECT_FALSE(fs::exists(path("p.yaml")));
}

TEST_F(LayersCli, ListsWhatIsBuiltIn) {
  const Output list = muster("layers");
  const Output table = muster("layers --all");
  for (const LayeredModel& model : kLayeredModels) {
    EXPECT_TRUE(has(list.out, "  " + std::string(model.name) + " ")) << list.out;
    EXPECT_TRUE(has(table.out, "\n" + std::string(model.name) + " ")) << table.out;
  }
  EXPECT_TRUE(has(table.out, "17.7x  yes")) << table.out;
  EXPECT_TRUE(has(table.out, "1.08x  no")) << table.out;
  EXPECT_EQ(Json::parse(muster("layers --all --json").out).size(), std::size(kLayeredModels));
  EXPECT_TRUE(has(muster("layers --help").out, "Example"));
}

// RALP's cluster (systems.md F and H9): 58% of the time on average and up to 92%, and the order of
// the families.
TEST_F(LayersCli, CommunicationIsAsOnTheClusterOfRalp) {
  const Json got = Json::parse(muster("layers --all --communication --json").out);
  EXPECT_EQ(got["workers"], 32);
  EXPECT_EQ(got["nodes"], 8);
  EXPECT_NEAR(got["servers_share_mean"], 0.58, 0.02);
  EXPECT_NEAR(got["servers_share_max"], 0.92, 0.02);
  EXPECT_LT(got["ring_share_max"], 0.5);
  std::map<std::string, double> least, most;
  for (const Json& row : got["models"]) {
    std::string family = row["model"];
    family.erase(std::find_if(family.begin(), family.end(), isdigit), family.end());
    const double share = row["servers_share"];
    least[family] = std::min(least.try_emplace(family, 1).first->second, share);
    most[family] = std::max(most[family], share);
  }
  EXPECT_GT(least["vgg"], most["alexnet"]);
  EXPECT_GT(least["alexnet"], most["resnet"]);
  const auto mean = [&](const std::string& family) {
    double sum = 0;
    int count = 0;
    for (const Json& row : got["models"]) {
      if (!row["model"].get<std::string>().starts_with(family)) continue;
      sum += row["servers_share"].get<double>();
      ++count;
    }
    return sum / count;
  };
  EXPECT_GT(mean("resnet"), mean("inception"));
}

TEST_F(LayersCli, CommunicationDependsOnTheSetup) {
  const auto share = [&](const std::string& options, const char* key = "servers_share") {
    const Json got = Json::parse(muster("layers vgg16 --communication --json" + options).out);
    EXPECT_EQ(got["models"].size(), 1u);
    return got["models"][0][key].get<double>();
  };
  EXPECT_GT(share(" --link 10Gb/s"), share(""));
  EXPECT_LT(share(" --batch 256"), share(""));
  EXPECT_GT(share(" --compute 6T"), share(""));
  EXPECT_LT(share(" --nodes 1"), 0.2);
  EXPECT_EQ(share(" --nodes 1 --gpus 1"), 0);
  EXPECT_GT(share(" --servers 1"), share(""));
  EXPECT_EQ(share(" --servers 1", "ring_share"), share("", "ring_share"));
  EXPECT_EQ(share(" --batch 32"), share("")) << "the usual batch of VGG";
  EXPECT_NEAR(share("", "compute_s"), 3 * 32 * 15.47e9 / 3e12, 1e-3);

  const Output table = muster("layers --all --communication");
  EXPECT_EQ(table.status, kExitDone) << table.err;
  for (const LayeredModel& model : kLayeredModels) {
    EXPECT_TRUE(has(table.out, "\n" + std::string(model.name) + " ")) << table.out;
  }
  EXPECT_TRUE(has(table.out, "\nmean ")) << table.out;
  EXPECT_TRUE(has(table.out, "\nmax ")) << table.out;
  EXPECT_TRUE(has(table.out, "with 32 workers on 8 nodes, 32 parameter servers or one ring"));
  expect_refused(muster("layers vgg16 --nodes 2"), "--nodes requires --communication");
  expect_refused(muster("layers vgg16 --communication --workers 2"), "--workers");
  expect_refused(muster("layers vgg16 --communication --gpus 0"), "--gpus: not between 1 and 1000");
  expect_refused(muster("layers vgg16 --communication --profile " + path("p.yaml")),
                 "--profile: cannot be combined with --communication");
}

TEST_F(LayersCli, BuiltInProfilesHaveTheSameSizes) {
  const ProfileTable profiles = builtin_profiles();
  const Json got = Json::parse(muster("layers --all --communication --json").out);
  const Json advice = Json::parse(muster("layers --all --json").out);
  for (std::size_t i = 0; i < got["models"].size(); ++i) {
    const Json& row = got["models"][i];
    const Profile& profile = profiles[profiles.find(row["model"].get<std::string>())];
    ASSERT_EQ(row["model"], profile.name());
    EXPECT_EQ(profile.skew(), advice[i]["profile_skew"]) << profile.name();
    if (profile.name() == "alexnet") continue;  // One of the ten with usual spread costs.
    ASSERT_TRUE(profile.exchange().has_value()) << profile.name();
    constexpr double kTenthMib = 0.1 * 1024 * 1024;
    EXPECT_NEAR(profile.exchange()->parameter_bytes, row["parameter_bytes"], kTenthMib)
        << profile.name();
    EXPECT_NEAR(profile.exchange()->compute_seconds, row["compute_s"], 0.001) << profile.name();
  }
}

TEST_F(LayersCli, LongNamesAreCut) {
  std::vector<Layer> layers = vgg16();
  for (Layer& layer : layers) layer.name = std::string(150, 'x') + layer.name;
  const Output got = muster("layers " + csv_of("long.csv", layers));
  std::istringstream lines(got.out.substr(0, got.out.find("\n\n")));
  for (std::string line; std::getline(lines, line);) {
    EXPECT_FALSE(has(line, std::string(60, 'x'))) << line;
  }
  EXPECT_TRUE(has(got.out, "x…")) << got.out;
}

TEST_F(LayersCli, WritesTheSkewIntoAProfile) {
  const std::string profiles =
      file("p.yaml", "# ours\nprofiles:\n  - name: mine  # a remark\n    gpu_use: 0.5\n");
  fs::permissions(profiles, fs::perms::owner_read | fs::perms::owner_write);
  const Output got = muster("layers vgg16 --profile " + profiles + " --name mine");
  EXPECT_EQ(got.status, kExitDone) << got.err;
  EXPECT_TRUE(has(got.out, "profile     skew 0.743 written to 'mine' of " + profiles)) << got.out;
  EXPECT_EQ(slurp(profiles),
            "# ours\nprofiles:\n  - name: mine  # a remark\n    skew: 0.743\n    gpu_use: 0.5\n");
  EXPECT_EQ(fs::status(profiles).permissions(), fs::perms::owner_read | fs::perms::owner_write);
  const Json json = Json::parse(muster("layers resnet50 --json --profile " + profiles).out);
  EXPECT_EQ(json["profile"]["name"], "resnet50");
  EXPECT_TRUE(slurp(profiles).ends_with("  - name: resnet50\n    skew: 0.092\n"));
  EXPECT_EQ(std::distance(fs::directory_iterator(dir_), {}), 1) << "no temporary file is left";

  const Output nowhere = muster("layers vgg16 --profile " + path("none/p.yaml"));
  EXPECT_EQ(nowhere.status, kExitFailed);
  EXPECT_TRUE(has(nowhere.err, "none/p.yaml")) << nowhere.err;
}

// Two servers of 4 GPUs, 3 of each taken for long: a job of 2 GPUs could have one on each. Only a
// model that is skewed waits to be together.
TEST_F(LayersCli, PlacementHeedsTheSkewWritten) {
  const std::string jobs = file("jobs.csv",
                                "job_id,submit_s,gpus,duration_s,model\n"
                                "1,0,3,5000,\n2,0,3,5000,\n3,60,2,100,mine\n");
  const auto wait_with = [&](const std::string& model) {
    const std::string profiles = path(model + ".yaml");
    const Output wrote = muster("layers " + model + " --profile " + profiles + " --name mine");
    EXPECT_EQ(wrote.status, kExitDone) << wrote.err;
    const Output got = muster("sim --cluster 2x4 --policy fifo --placement skew --json --trace " +
                              jobs + " --profiles " + profiles);
    EXPECT_EQ(got.status, kExitDone) << got.err;
    return Json::parse(got.out)["wait_p99_s"].get<double>();
  };
  EXPECT_EQ(wait_with("resnet50"), 0);
  EXPECT_EQ(wait_with("vgg16"), 4940);
}

}  // namespace
}  // namespace muster
