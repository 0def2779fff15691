#include "live/config/learned_profiles.h"

#include <gtest/gtest.h>

#include "engine/model/profile_key.h"
#include "live/config/settings.h"
#include "live/config/site.h"

namespace muster {
namespace {

LearnedProfile example(const std::string& key) {
  LearnedProfile learned;
  learned.user = "ann";
  learned.name = "train";
  learned.measured.name = key;
  learned.measured.curve.add({500, 41, 0.02});
  learned.measured.curve.add({1000, 41, 0.01});
  learned.measured.reach = 0;
  learned.unix_s = 1'700'000'000;
  learned.time = Duration::seconds(12);
  return learned;
}

// With tune, on four GPUs beside two CPUs.
std::string settings_here() {
  ServeFile file;
  file.scheduler.mechanism = "tune";
  NodeFacts machine;
  machine.host = "here";
  machine.cpus = 2;
  machine.mem_mib = 8192;
  machine.gpus.resize(4);
  return settings_text(file, nodes_of(file, machine)).value();
}

TEST(LearnedProfile, IsTheSameWhenReadBack) {
  LearnedProfile learned = example("ann/train/1");
  learned.measured.data = DataFacts{1000, 2, 300, 5000, 100};
  learned.measured.skew = 0.5;
  const Result<LearnedProfile> again = read_learned_profiles(learned_profile_json(learned));
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_EQ(learned_profile_json(again.value()), learned_profile_json(learned));
  EXPECT_EQ(again.value().measured.data->base_mem_mib, 300);
}

TEST(LearnedProfile, JobsOfOneNameAndCommandAreAlike) {
  JobRequest request;
  request.name = "train";
  request.command = {"python", "a.py"};
  const std::string key = profile_key("ann", request);
  request.array = ArrayRange{0, 9};
  EXPECT_EQ(profile_key("ann", request), key);
  EXPECT_NE(profile_key("bob", request), key);
  request.command = {"python a.py"};
  EXPECT_NE(profile_key("ann", request), key);
}

TEST(LearnedProfile, NonsenseIsRefusedInOneLine) {
  const std::string good = learned_profile_json(example("k"));
  for (const auto& [from, to] : std::initializer_list<std::pair<const char*, const char*>>{
           {"[500,41.0,0.02]", "[0,40.0,0.02]"},
           {"[500,41.0,0.02]", "[500,-1,0.02]"},
           {"[500,41.0,0.02]", "[500,1e99,0.02]"},
           {"[500,41.0,0.02]", "[500]"},
           {"[500,41.0,0.02]", "\"x\""},
           {"\"gpus\":1", "\"gpus\":0"},
           {"\"gpus\":1", "\"gpus\":99999999"},
           {"\"key\":\"k\"", "\"key\":\"\""},
           {"\"points\":", "\"pionts\":"},
           {"{", "["}}) {
    std::string bad = good;
    const std::size_t at = bad.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    bad.replace(at, std::string(from).size(), to);
    const Result<LearnedProfile> read = read_learned_profiles(bad);
    ASSERT_FALSE(read.ok()) << bad;
    EXPECT_EQ(read.error().message.find('\n'), std::string::npos);
  }
}

TEST(LearnedProfile, TheOldestIsForgotten) {
  std::vector<LearnedProfile> all;
  for (std::size_t i = 0; i < 100 + 5; ++i) learn(all, example(std::to_string(i)));
  EXPECT_EQ(all.size(), 100U);  // Limit per user.
  EXPECT_EQ(find_learned(all, "0"), nullptr);
  EXPECT_NE(find_learned(all, "5"), nullptr);
  learn(all, example("5"));
  EXPECT_EQ(all.size(), 100U);
  EXPECT_EQ(all.back().measured.name, "5");
  for (std::size_t i = 0; i < 2 * kMaxLearnedProfiles; ++i) {
    LearnedProfile other = example("b" + std::to_string(i));
    other.user = "user" + std::to_string(i / 90);
    learn(all, std::move(other));
  }
  EXPECT_EQ(all.size(), kMaxLearnedProfiles);
}

TEST(LearnedProfile, SettingsCarryIt) {
  const std::string plain = settings_here();
  EXPECT_TRUE(learned_profiles_in(plain).value().empty());
  const std::vector<LearnedProfile> all = {example("ann/train/1")};
  const std::string with = with_learned(plain, all);
  ASSERT_EQ(learned_profiles_in(with).value().size(), 1U);
  EXPECT_EQ(with_learned(with, {}), plain);
  const Result<RosterSettings> settings = roster_settings(with);
  ASSERT_TRUE(settings.ok()) << settings.error().message;
  EXPECT_TRUE(settings.value().uses_profiles);
  const ProfileTable& table = settings.value().profiles;
  const Profile& profile = table[table.find("ann/train/1")];
  // At its share here it is as fast as an unknown job, so that the unit of work stays the same.
  const Resources share = settings.value().topology.node(NodeId(0)).per_gpu();
  EXPECT_NEAR(profile.speed(share), table[ProfileTable::kUnknown].speed(share), 1e-9);
  EXPECT_LE(profile.ideal().cpu_milli, 525);
  EXPECT_FALSE(profile.memory_known());
}

// A learned profile changes the resources of running jobs, not their nodes.
TEST(LearnedProfile, JobsThatRunAreResized) {
  const std::string plain = settings_here();
  SubmitInput submit;
  submit.id = 1;
  submit.user = "ann";
  submit.request.name = "train";
  submit.request.command = {"true"};
  Roster before(roster_settings(plain).value());
  SubmitInput other = submit;
  other.id = 2;
  other.request.name = "another";
  before.step(Instant::micros(1), std::vector<Input>{submit, other});
  ASSERT_EQ(before.orders().size(), 2U);
  before.step(Instant::micros(2),
              std::vector<Input>{LeaseUpInput{1, 1, "cgroup-v1"}, LeaseUpInput{2, 1, "cgroup-v1"}});
  EXPECT_EQ(total_of(before.find(1)->lease->placement).cpu_milli, 500);
  const std::vector<LearnedProfile> all = {example(profile_key("ann", submit.request))};
  LearnedProfile light = all[0];
  light.measured.curve.add({100, 41, 0.02});
  const std::string with = with_learned(plain, std::vector<LearnedProfile>{light});
  Roster after(roster_settings(with).value());
  const Result<std::vector<Order>> unkept = after.restore(before.state());
  ASSERT_TRUE(unkept.ok()) << unkept.error().message;
  EXPECT_TRUE(unkept.value().empty());
  ASSERT_EQ(after.orders().size(), 1U);
  EXPECT_EQ(after.orders()[0].kind, Order::Kind::kResize);
  EXPECT_LE(total_of(after.orders()[0].placement).cpu_milli, 105);
  EXPECT_EQ(total_of(after.orders()[0].placement).mem_mib,
            total_of(before.find(1)->lease->placement).mem_mib);
  EXPECT_EQ(after.find(1)->lease->placement, after.orders()[0].placement);
}

}  // namespace
}  // namespace muster
