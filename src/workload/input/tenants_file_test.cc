#include "workload/input/tenants_file.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "base/types/random.h"
#include "base/types/testing.h"
#include "workload/input/testing.h"

namespace muster {
namespace {

constexpr std::string_view kSmallTenants = R"(tenants:
  share: weight
  reclaim_at: 0.85
  list:
    - name: vision
      quota: 64
      weight: 2.5
    - name: detection
      parent: vision
      quota: 16
    - {name: guests}
)";

const std::filesystem::path kRoot = std::filesystem::path(__FILE__).parent_path() / "../../..";

// Returns the tenants as YAML, or the error.
std::string outcome(const Result<TenantTree>& tree) {
  return tree.ok() ? tenants_yaml(tree.value()) : tree.error().message;
}
std::string parsed(std::string_view text) { return outcome(parse_tenants(text, "t.yaml")); }

TEST(TenantsFile, ReadsEveryKey) {
  const Result<TenantTree> tenants = parse_tenants(kSmallTenants, "t.yaml");
  ASSERT_TRUE(tenants.ok()) << tenants.error().message;
  const TenantTree& tree = tenants.value();
  EXPECT_EQ(tree.sharing(), Sharing::kWeight);
  EXPECT_EQ(tree.reclaim_permille(), 850);
  ASSERT_EQ(tree.size(), 3U);
  EXPECT_EQ(tree[TenantId(0)].name, "vision");
  EXPECT_EQ(tree[TenantId(0)].quota, 64);
  EXPECT_EQ(tree[TenantId(0)].weight_milli, 2500);
  EXPECT_EQ(tree[TenantId(0)].parent, std::nullopt);
  EXPECT_EQ(tree[TenantId(1)].name, "detection");
  EXPECT_EQ(tree[TenantId(1)].quota, 16);
  EXPECT_EQ(tree[TenantId(1)].weight_milli, 1000);
  EXPECT_EQ(tree[TenantId(1)].parent, TenantId(0));
  EXPECT_EQ(tree[TenantId(2)].name, "guests");
  EXPECT_EQ(tree[TenantId(2)].quota, 0);
  EXPECT_FALSE(tree[TenantId(2)].quota_stated);
}

TEST(TenantsFile, FillsInWhatIsLeftOut) {
  EXPECT_EQ(parsed("tenants: {list: [{name: a, quota: 3}]}"),
            "tenants:\n  share: quota\n  reclaim_at: 0.9\n  list:\n    - {name: a, quota: 3}\n");
}

TEST(TenantsFile, ReadsJson) {
  EXPECT_EQ(parsed(R"({"tenants": {"share": "fair", "list": [{"name": "a", "weight": 0.5}]}})"),
            "tenants:\n  share: fair\n  reclaim_at: 0.9\n  list:\n    - {name: a, weight: 0.5}\n");
}

TEST(TenantsFile, ReadsTheDocumentedExample) {
  const std::string example = documented("tenants:");
  EXPECT_EQ(parsed(example), example);
}

TEST(TenantsFile, ReadsFilesOfItsOwnAndOfClusters) {
  const std::string path = testing::TempDir() + "muster_tenants_file_test.yaml";
  std::ofstream(path) << kSmallTenants;
  EXPECT_EQ(outcome(read_tenants(path)), parsed(kSmallTenants));
  std::ofstream(path) << replaced(kSmallTenants, "quota: 16", "quota: 65");
  EXPECT_EQ(outcome(read_tenants(path)),
            path + ":10: quota: tenant 'detection': 65 GPUs, more than the 64 of 'vision'");
  std::filesystem::remove(path);
  EXPECT_EQ(outcome(read_tenants((kRoot / "examples/clusters/three-teams.yaml").string())),
            documented("tenants:"));
}

TEST(TenantsFile, WhatIsWrittenReadsBackTheSame) {
  EXPECT_EQ(parsed(parsed(kSmallTenants)), parsed(kSmallTenants));
  TenantList list;
  list.rules = {Sharing::kFair, 1};
  // Names that YAML reads as something else without quotes.
  for (const char* name : {"null", "Null", "NULL", "true", "a:", ":a", "-", "--", "---", "...",
                           "+1", "0x10", "1e3", "a/b", "1:2", "_", "/", "NaN"}) {
    list.tenants.emplace_back();
    list.tenants.back().name = name;
    list.tenants.back().weight_milli = static_cast<std::int32_t>(list.tenants.size() * 333);
    if (list.tenants.size() > 1) list.tenants.back().parent = list.tenants.front().name;
  }
  list.tenants[0].quota = 7;
  list.tenants[1].quota = 0;
  const Result<TenantTree> tree = TenantTree::build(list);
  ASSERT_TRUE(tree.ok()) << tree.error().message;
  const Result<TenantTree> again = parse_tenants(tenants_yaml(tree.value()), "t.yaml");
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_EQ(again.value().sharing(), Sharing::kFair);
  EXPECT_EQ(again.value().reclaim_permille(), 1);
  ASSERT_EQ(again.value().size(), list.tenants.size());
  for (std::size_t i = 0; i < list.tenants.size(); ++i) {
    const Tenant& before = tree.value()[TenantId(i)];
    const Tenant& after = again.value()[TenantId(i)];
    EXPECT_EQ(after.name, before.name);
    EXPECT_EQ(after.parent, before.parent);
    EXPECT_EQ(after.quota, before.quota);
    EXPECT_EQ(after.quota_stated, before.quota_stated);
    EXPECT_EQ(after.weight_milli, before.weight_milli);
  }
}

TEST(TenantsFile, InferredQuotasReadBackTheSame) {
  const TenantDemand demand[] = {{"vc 'b'", 3}, {"", 5}};
  const Result<TenantTree> tree = infer_quotas(demand, 8);
  ASSERT_TRUE(tree.ok());
  const std::string text = tenants_yaml(tree.value());
  EXPECT_NE(text.find("{name: 'vc ''b''', quota: 3}"), std::string::npos) << text;
  EXPECT_EQ(parsed(text),
            "t.yaml:5: name: a name has only letters, digits and . _ - + : /: 'vc 'b''");
  const std::string renamed = replaced(text, "'vc ''b'''", "vc");
  EXPECT_EQ(parsed(renamed), renamed);
}

TEST(TenantsFile, RefusesBadInputInOneLine) {
  expect_edits(
      kSmallTenants, parsed,
      {
          {"tenants: -> tenant:", "t.yaml:1: unknown key: 'tenant'; did you mean 'tenants'?"},
          {"share: -> shares:", "t.yaml:2: tenants: unknown key: 'shares'; did you mean 'share'?"},
          {"share: weight -> share: wieght",
           "t.yaml:2: share: unknown: 'wieght'; did you mean 'weight'?"},
          {"share: weight -> share: equally",
           "t.yaml:2: share: unknown: 'equally'; one of: quota, weight, fair"},
          {"share: weight -> share: [weight]", "t.yaml:2: share: not a name: a list"},
          {"reclaim_at: 0.85 -> reclaim_at: 90", "t.yaml:3: reclaim_at: not between 0 and 1: '90'"},
          {"reclaim_at: 0.85 -> reclaim_at: 90%", "t.yaml:3: reclaim_at: not a number: '90%'"},
          {"  list: ->   lists:", "t.yaml:4: tenants: unknown key: 'lists'; did you mean 'list'?"},
          {"name: detection -> nmae: detection",
           "t.yaml:8: list: unknown key: 'nmae'; did you mean 'name'?"},
          {"name: detection -> weight: 1", "t.yaml:8: list: missing key: 'name'"},
          {"name: detection -> name: [a]", "t.yaml:8: name: not a name: a list"},
          {"name: detection -> name: a b",
           "t.yaml:8: name: a name has only letters, digits and . _ - + : /: 'a b'"},
          {"name: detection -> name: vision",
           "t.yaml:8: name: tenant named twice: 'vision'; first on line 5"},
          {"parent: vision -> parent: visoin",
           "t.yaml:9: parent: unknown tenant: 'visoin'; did you mean 'vision'?"},
          {"parent: vision -> parent: ''", "t.yaml:9: parent: empty name"},
          {"parent: vision -> parent: detection",
           "t.yaml:9: parent: tenant 'detection': is its own ancestor: detection -> detection"},
          {"weight: 2.5 -> parent: detection",
           "t.yaml:7: parent: tenant 'vision': is its own ancestor: vision -> detection -> vision"},
          {"quota: 16 -> quota: 65",
           "t.yaml:10: quota: tenant 'detection': 65 GPUs, more than the 64 of 'vision'"},
          {"quota: 16 -> quota: 1.5", "t.yaml:10: quota: not a whole number: '1.5'"},
          {"quota: 16 -> quota: -1", "t.yaml:10: quota: not between 0 and 6400000: '-1'"},
          {"quota: 16 -> quota: 6400001", "t.yaml:10: quota: not between 0 and 6400000: '6400001'"},
          {"quota: 16 -> quota:", "t.yaml:10: quota: not a number: nothing"},
          {"weight: 2.5 -> weight: 0", "t.yaml:7: weight: not between 0.001 and 1000: '0'"},
          {"weight: 2.5 -> weight: 1001", "t.yaml:7: weight: not between 0.001 and 1000: '1001'"},
          {"weight: 2.5 -> weight: heavy", "t.yaml:7: weight: not a number: 'heavy'"},
          {"{name: guests} -> guests",
           "t.yaml:11: list: not a map of name, parent, quota, weight, users, groups, admins: "
           "'guests'"},
      });
  EXPECT_EQ(parsed("tenants:"), "t.yaml:1: tenants: not a map of share, reclaim_at, list: nothing");
  EXPECT_EQ(parsed("tenants: {share: fair}"), "t.yaml:1: tenants: missing key: 'list'");
  EXPECT_EQ(parsed("tenants: {list: []}"), "t.yaml:1: list: empty list");
  EXPECT_EQ(parsed("servers: [{gpus: 1}]"), "t.yaml:1: missing key: 'tenants'");
  EXPECT_EQ(
      parsed("\ntenants: {list: [{name: a}]}"),
      "t.yaml:2: tenants: shared by quota, but no tenant has a quota; set quotas, or share by "
      "weight or fair");
}

TEST(TenantsFile, BoundsAreReachedButNotPassed) {
  const Result<TenantTree> tree = parse_tenants(
      "tenants: {reclaim_at: 1, list: [{name: a, quota: 6400000, weight: 1000},"
      " {name: b, quota: 0, weight: 0.001}]}",
      "t.yaml");
  ASSERT_TRUE(tree.ok()) << tree.error().message;
  EXPECT_EQ(tree.value().reclaim_permille(), 1000);
  EXPECT_EQ(tree.value()[TenantId(0)].weight_milli, kMaxWeightMilli);
  EXPECT_EQ(tree.value()[TenantId(1)].weight_milli, 1);
  std::string many = "tenants:\n  list:\n";
  for (int i = 0; i < 10'001; ++i) many += "    - {name: t" + std::to_string(i) + ", quota: 1}\n";
  EXPECT_EQ(parsed(many), "t.yaml:10003: tenants: more than 10000");
}

TEST(TenantsInline, EqualsTheFile) {
  EXPECT_EQ(outcome(read_tenants("a=64,b=32")),
            parsed("tenants: {list: [{name: a, quota: 64}, {name: b, quota: 32}]}"));
  EXPECT_EQ(outcome(read_tenants("share=weight, a = 64:2.5 ,org/b=0,reclaim=0.75")),
            parsed("tenants: {share: weight, reclaim_at: 0.75,"
                   " list: [{name: a, quota: 64, weight: 2.5}, {name: org/b, quota: 0}]}"));
  EXPECT_EQ(read_tenants("a=1,share=fair").value().sharing(), Sharing::kFair);
}

TEST(TenantsInline, TellsAMissingFileFromBadWords) {
  EXPECT_EQ(outcome(read_tenants("t.yaml")), "t.yaml: no such file");
  EXPECT_EQ(outcome(read_tenants("a=1.yml")), "a=1.yml: no such file");
  EXPECT_EQ(outcome(read_tenants("dir/t")), "dir/t: no such file");
  EXPECT_EQ(outcome(read_tenants("/tmp")), "/tmp: is a directory");
  for (const std::string text : {"vision", ""}) {
    EXPECT_EQ(outcome(read_tenants(text)),
              "--tenants '" + text +
                  "': not a file, and not NAME=GPUS such as a=64,b=32 or a=64,b=32,share=fair");
  }
}

TEST(TenantsInline, RefusesBadInputInOneLine) {
  const auto why = [](const std::string& text) {
    const std::string message = outcome(read_tenants(text));
    const std::string begins = "--tenants '" + text + "': ";
    EXPECT_TRUE(message.starts_with(begins)) << message;
    return message.substr(begins.size());
  };
  expect_texts(why,
               {
                   {"a=1,", "neither NAME=GPUS nor an option: ''"},
                   {"a=1,share", "neither NAME=GPUS nor an option: 'share'"},
                   {"a=1,a=2", "name: tenant named twice: 'a'"},
                   {"=1", "name: empty name"},
                   {"a b=1", "name: a name has only letters, digits and . _ - + : /: 'a b'"},
                   {"a=", "quota: not a whole number: ''"},
                   {"a=lots", "quota: not a whole number: 'lots'"},
                   {"a=1=2", "quota: not a whole number: '1=2'"},
                   {"a=-1", "quota: not between 0 and 6400000: '-1'"},
                   {"a=1:0", "weight: not between 0.001 and 1000: '0'"},
                   {"a=1:", "weight: not a number: ''"},
                   {"a=0",
                    "tenants: shared by quota, but no tenant has a quota; set quotas, or share by "
                    "weight or fair"},
                   {"a=1,share=fiar", "share: unknown: 'fiar'; did you mean 'fair'?"},
                   {"a=1,shar=fair", "unknown option: 'shar'; did you mean 'share'?"},
                   {"a=1,reclaim_at=0.9", "unknown option: 'reclaim_at'; did you mean 'reclaim'?"},
                   {"a=1,reclaim=90", "reclaim: not between 0 and 1: '90'"},
                   {"a=1,share=fair,share=quota", "share: given twice"},
                   {"a=1,reclaim=1,reclaim=0", "reclaim: given twice"},
                   {"share=fair", "no tenant; write NAME=GPUS"},
               });
  // With a number, even a name that looks like an option is a tenant.
  EXPECT_TRUE(read_tenants("shard=3").ok());
}

TEST(TenantsInline, QuotasMustFitTheCluster) {
  const Result<TenantTree> tree = read_tenants("a=64,b=96");
  ASSERT_TRUE(tree.ok()) << tree.error().message;
  EXPECT_FALSE(tree.value().check(160).has_value());
  EXPECT_EQ(tree.value().check(128)->message,
            "--tenants 'a=64,b=96': quota: tenant 'b': 96 GPUs, more than the 64 left of the "
            "cluster's 128");
}

TEST(TenantsFile, SurvivesDamagedText) {
  constexpr std::string_view kSpice = "[]{}:,-?&*!|>'\"%@#=\n \t0.e~";
  constexpr std::string_view kInline = "vision=64:2,language=32,share=fair,reclaim=0.9";
  Random random(7);
  int accepted = 0;
  for (int round = 0; round < 4000; ++round) {
    const bool from_file = round % 2 == 0;
    const std::string_view whole = from_file ? kSmallTenants : kInline;
    const std::string text = damaged(std::string(whole), random, 2, kSpice);
    const Result<TenantTree> tree =
        from_file ? parse_tenants(text, "t.yaml") : parse_inline_tenants(text);
    if (tree.ok()) {
      ++accepted;
      continue;
    }
    const std::string& message = tree.error().message;
    EXPECT_EQ(message.rfind(from_file ? "t.yaml:" : "--tenants '", 0), 0U) << message;
    EXPECT_EQ(message.find('\n'), std::string::npos) << "round " << round;
    EXPECT_EQ(message.find(":0:"), std::string::npos) << message;
  }
  EXPECT_GT(accepted, 40);
  EXPECT_LT(accepted, 3500);
}

}  // namespace
}  // namespace muster
