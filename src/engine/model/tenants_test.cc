#include "engine/model/tenants.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "base/types/random.h"

namespace muster {
namespace {

TenantSpec tenant(std::string name, std::optional<std::int64_t> quota = std::nullopt,
                  std::string parent = "") {
  TenantSpec spec;
  spec.name = std::move(name);
  spec.parent = std::move(parent);
  spec.quota = quota;
  return spec;
}

// Each tenant has three separate lines for name, parent and quota, starting at line 11.
TenantList listed(std::vector<TenantSpec> tenants, Sharing sharing = Sharing::kQuota) {
  TenantList list;
  list.source = "t.yaml";
  list.line = 10;
  list.rules.sharing = sharing;
  list.tenants = std::move(tenants);
  int line = 10;
  for (TenantSpec& spec : list.tenants) {
    spec.name_line = ++line;
    spec.parent_line = ++line;
    spec.quota_line = ++line;
  }
  return list;
}

TenantTree built(std::vector<TenantSpec> tenants, Sharing sharing = Sharing::kQuota) {
  Result<TenantTree> tree = TenantTree::build(listed(std::move(tenants), sharing));
  EXPECT_TRUE(tree.ok()) << tree.error().message;
  return std::move(tree).value();
}

std::string tenant_refusal(std::vector<TenantSpec> tenants, Sharing sharing = Sharing::kQuota) {
  const Result<TenantTree> tree = TenantTree::build(listed(std::move(tenants), sharing));
  return tree.ok() ? "accepted" : tree.error().message;
}

std::string misfit(const TenantTree& tree, std::int64_t gpus) {
  const MaybeError refused = tree.check(gpus);
  return refused ? refused->message : "fits";
}

std::vector<std::string> path(const TenantTree& tree, std::string_view name) {
  std::vector<std::string> names;
  for (const TenantId id : tree.path_to_root(*tree.find(name))) names.push_back(tree[id].name);
  return names;
}

std::int64_t quota(const TenantTree& tree, std::string_view name) {
  return tree[*tree.find(name)].quota;
}

// "a 3, b 1", in order of the ids.
std::string inferred(const std::vector<TenantDemand>& demand, std::int64_t gpus) {
  const Result<TenantTree> tree = infer_quotas(demand, gpus);
  if (!tree.ok()) return tree.error().message;
  std::string text;
  for (std::size_t i = 0; i < tree.value().size(); ++i) {
    const Tenant& one = tree.value()[TenantId(i)];
    text += (i > 0 ? ", " : "") + one.name + " " + std::to_string(one.quota);
  }
  return text;
}

TEST(Tenants, AreNumberedAsListed) {
  const TenantTree tree = built({tenant("b", 1), tenant("a", 2, "c"), tenant("c", 3)});
  ASSERT_EQ(tree.size(), 3U);
  EXPECT_EQ(tree[TenantId(0)].name, "b");
  EXPECT_EQ(tree[TenantId(1)].name, "a");
  EXPECT_EQ(tree.find("c"), TenantId(2));
  EXPECT_EQ(tree.find("d"), std::nullopt);
  EXPECT_EQ(tree.find(""), std::nullopt);
  EXPECT_EQ(tree.top(), (std::vector{TenantId(0), TenantId(2)}));
}

TEST(Tenants, KnowWhoIsAboveAndBelow) {
  // The parent is listed after one child and before the other.
  const TenantTree tree = built({tenant("leaf", 1, "middle"), tenant("top", 9),
                                 tenant("middle", 4, "top"), tenant("other", 2, "middle")});
  EXPECT_EQ(path(tree, "leaf"), (std::vector<std::string>{"leaf", "middle", "top"}));
  EXPECT_EQ(path(tree, "top"), (std::vector<std::string>{"top"}));
  EXPECT_EQ(tree[*tree.find("leaf")].parent, tree.find("middle"));
  EXPECT_EQ(tree[*tree.find("top")].parent, std::nullopt);
  EXPECT_EQ(tree[*tree.find("middle")].children, (std::vector{TenantId(0), TenantId(3)}));
  EXPECT_TRUE(tree.leaf(TenantId(0)));
  EXPECT_FALSE(tree.leaf(TenantId(1)));
  EXPECT_FALSE(tree.leaf(TenantId(2)));
  EXPECT_TRUE(tree.leaf(TenantId(3)));
}

TEST(Tenants, KeepRulesAndWeights) {
  TenantList list = listed({tenant("a", 1), tenant("b")});
  list.tenants[1].weight_milli = 2500;
  EXPECT_EQ(TenantTree::build(list).value().sharing(), Sharing::kQuota);
  EXPECT_EQ(TenantTree::build(list).value().reclaim_permille(), 900);
  list.rules = {Sharing::kFair, 750};
  const Result<TenantTree> tree = TenantTree::build(list);
  ASSERT_TRUE(tree.ok());
  EXPECT_EQ(tree.value().sharing(), Sharing::kFair);
  EXPECT_EQ(tree.value().reclaim_permille(), 750);
  EXPECT_EQ(tree.value()[TenantId(0)].weight_milli, 1000);
  EXPECT_EQ(tree.value()[TenantId(1)].weight_milli, 2500);
}

TEST(Tenants, WaysOfSharingHaveNames) {
  for (const Sharing sharing : {Sharing::kQuota, Sharing::kWeight, Sharing::kFair}) {
    EXPECT_EQ(sharing_called(name_of(sharing)), sharing);
  }
  EXPECT_EQ(name_of(Sharing::kWeight), "weight");
  EXPECT_EQ(sharing_called("Fair"), std::nullopt);
  EXPECT_EQ(sharing_names().size(), 3U);
}

TEST(Tenants, AParentWithoutQuotaHasThatOfItsChildren) {
  const TenantTree tree = built({tenant("leaf", 5, "inner"), tenant("inner", std::nullopt, "outer"),
                                 tenant("beside", 7, "outer"), tenant("outer"), tenant("borrower"),
                                 tenant("stated", 20), tenant("part", 6, "stated")});
  EXPECT_EQ(quota(tree, "inner"), 5);
  EXPECT_EQ(quota(tree, "outer"), 12);
  EXPECT_FALSE(tree[*tree.find("outer")].quota_stated);
  EXPECT_EQ(quota(tree, "borrower"), 0);  // A leaf without one only borrows.
  EXPECT_EQ(quota(tree, "stated"), 20);   // A stated quota stays.
  EXPECT_TRUE(tree[*tree.find("stated")].quota_stated);
}

TEST(Tenants, QuotasMustFitTheCluster) {
  const TenantTree tree = built({tenant("a", 64), tenant("b", 96), tenant("in-b", 90, "b")});
  EXPECT_EQ(misfit(tree, 160), "fits");
  EXPECT_EQ(misfit(tree, 159),
            "t.yaml:16: quota: tenant 'b': 96 GPUs, more than the 95 left of the cluster's 159");
  EXPECT_EQ(misfit(tree, 63), "t.yaml:13: quota: tenant 'a': 64 GPUs, more than the cluster's 63");
  EXPECT_EQ(misfit(built({tenant("a", 4), tenant("b", 1)}), 4),
            "t.yaml:16: quota: tenant 'b': 1 GPU, more than the 0 left of the cluster's 4");
  EXPECT_EQ(
      misfit(built({tenant("p"), tenant("a", 4, "p"), tenant("b", 4, "p")}), 7),
      "t.yaml:13: quota: tenant 'p': 8 GPUs (sum of its children), more than the cluster's 7");
}

TEST(Tenants, SumsOfHugeQuotasDoNotRunOver) {
  std::vector<TenantSpec> tenants = {tenant("p")};
  for (int i = 1; i < 1000; ++i) tenants.push_back(tenant("t" + std::to_string(i), kMaxQuota, "p"));
  EXPECT_EQ(misfit(built(std::move(tenants)), kMaxQuota),
            "t.yaml:13: quota: tenant 'p': 6393600000 GPUs (sum of its children), more than the "
            "cluster's 6400000");
}

TEST(Tenants, QuotasOfChildrenMustFitTheirParent) {
  EXPECT_EQ(tenant_refusal({tenant("p", 10), tenant("a", 6, "p"), tenant("b", 4, "p")}),
            "accepted");
  EXPECT_EQ(tenant_refusal({tenant("p", 10), tenant("a", 6, "p"), tenant("b", 5, "p")}),
            "t.yaml:19: quota: tenant 'b': 5 GPUs, more than the 4 left of the 10 of 'p'");
  EXPECT_EQ(tenant_refusal({tenant("a", 11, "p"), tenant("p", 10)}),
            "t.yaml:13: quota: tenant 'a': 11 GPUs, more than the 10 of 'p'");
  EXPECT_EQ(tenant_refusal(
                {tenant("p", 10), tenant("q", {}, "p"), tenant("a", 6, "q"), tenant("b", 6, "q")}),
            "t.yaml:16: quota: tenant 'q': 12 GPUs (sum of its children), more than the 10 of 'p'");
}

TEST(Tenants, ANameIsGivenOnce) {
  EXPECT_EQ(tenant_refusal({tenant("a", 1), tenant("b", 1), tenant("a", 2)}),
            "t.yaml:17: name: tenant named twice: 'a'; first on line 11");
  TenantList lineless;
  lineless.tenants = {tenant("a", 1), tenant("a", 2)};
  EXPECT_EQ(TenantTree::build(lineless).error().message, "name: tenant named twice: 'a'");
  lineless.source = "--tenants 'a=1,a=2'";
  EXPECT_EQ(TenantTree::build(lineless).error().message,
            "--tenants 'a=1,a=2': name: tenant named twice: 'a'");
}

TEST(Tenants, AParentMustBeListed) {
  EXPECT_EQ(tenant_refusal({tenant("vision", 1), tenant("b", 1, "visoin")}),
            "t.yaml:15: parent: unknown tenant: 'visoin'; did you mean 'vision'?");
  EXPECT_EQ(tenant_refusal({tenant("vision", 1), tenant("bb", 1, "speech")}),
            "t.yaml:15: parent: unknown tenant: 'speech'; one of: vision, bb");
}

TEST(Tenants, NobodyIsAboveItself) {
  EXPECT_EQ(tenant_refusal({tenant("a", 1, "a")}),
            "t.yaml:12: parent: tenant 'a': is its own ancestor: a -> a");
  EXPECT_EQ(tenant_refusal({tenant("a", 1, "b"), tenant("b", 1, "a")}),
            "t.yaml:12: parent: tenant 'a': is its own ancestor: a -> b -> a");
  // The first tenant checked only leads to the cycle and is not reported. The first listed tenant
  // of the cycle is reported, independent of where it is entered.
  EXPECT_EQ(tenant_refusal({tenant("below", 1, "c"), tenant("fine", 1), tenant("a", 1, "b"),
                            tenant("b", 1, "c"), tenant("c", 1, "a")}),
            "t.yaml:18: parent: tenant 'a': is its own ancestor: a -> b -> c -> a");
}

TEST(Tenants, ALongCircleIsCut) {
  const auto circle = [](int length) {
    std::vector<TenantSpec> tenants;
    for (int i = 0; i < length; ++i) {
      tenants.push_back(tenant("t" + std::to_string(i), 1, "t" + std::to_string((i + 1) % length)));
    }
    return tenant_refusal(std::move(tenants));
  };
  const std::string head =
      "t.yaml:12: parent: tenant 't0': is its own ancestor: t0 -> t1 -> t2 -> ";
  EXPECT_EQ(circle(8), head + "t3 -> t4 -> t5 -> t6 -> t7 -> t0");
  EXPECT_EQ(circle(9), head + "t3 -> t4 -> t5 -> t6 -> t7 -> t8 -> ... -> t0");
  EXPECT_EQ(circle(10'000), head + "t3 -> t4 -> t5 -> t6 -> t7 -> t8 -> ... -> t0");
}

TEST(Tenants, LevelsAndNumberAreBounded) {
  std::vector<TenantSpec> chain = {tenant("t1", 1)};
  for (int i = 2; i <= 8; ++i) {
    chain.push_back(tenant("t" + std::to_string(i), 1, "t" + std::to_string(i - 1)));
  }
  EXPECT_EQ(tenant_refusal(chain), "accepted");
  chain.push_back(tenant("t9", 1, "t8"));
  EXPECT_EQ(tenant_refusal(chain), "t.yaml:36: parent: tenant 't9': 9 levels deep; at most 8");

  std::vector<TenantSpec> many;
  for (int i = 0; i < 10'000; ++i) many.push_back(tenant("t" + std::to_string(i), 1));
  EXPECT_EQ(tenant_refusal(many), "accepted");
  many.push_back(tenant("one-more", 1));
  EXPECT_EQ(tenant_refusal(many), "t.yaml:30011: tenants: more than 10000");
}

TEST(Tenants, SharingByQuotaNeedsOne) {
  const std::string message =
      "t.yaml:10: tenants: shared by quota, but no tenant has a quota; set quotas, or share by "
      "weight or "
      "fair";
  EXPECT_EQ(tenant_refusal({tenant("a"), tenant("b", {}, "a")}), message);
  EXPECT_EQ(tenant_refusal({tenant("a", 0)}), message);
  EXPECT_EQ(tenant_refusal({tenant("a"), tenant("b", 1, "a")}), "accepted");
  EXPECT_EQ(tenant_refusal({tenant("a")}, Sharing::kWeight), "accepted");
  EXPECT_EQ(tenant_refusal({tenant("a")}, Sharing::kFair), "accepted");
}

TEST(Tenants, KnowWhoseAJobIs) {
  const TenantTree tree = built({tenant("vision", 1), tenant("language", 1)});
  EXPECT_EQ(tree.tenant_of_job("language").value(), TenantId(1));
  EXPECT_EQ(tree.tenant_of_job("langauge").error().message,
            "unknown tenant: 'langauge'; did you mean 'language'?");
  EXPECT_EQ(tree.tenant_of_job("x\ny").error().message,
            "unknown tenant: 'x\\x0ay'; one of: vision, language");
  EXPECT_EQ(tree.tenant_of_job("").error().message,
            "no tenant given, and there is no tenant named 'default'");
  EXPECT_EQ(built({tenant("a", 1), tenant("default")}).tenant_of_job("").value(), TenantId(1));
}

TEST(InferQuotas, AreInProportionToDemand) {
  EXPECT_EQ(inferred({{"b", 300}, {"a", 100}}, 8), "b 6, a 2");
  // 3.2, 2.4 and 2.4: the GPU left over goes to a remainder of 0.4, the first of the two.
  EXPECT_EQ(inferred({{"a", 40}, {"b", 30}, {"c", 30}}, 8), "a 3, b 3, c 2");
  // 3.6, 2.8 and 1.6: two left over, for the larger remainders, 0.8 and then the first 0.6.
  EXPECT_EQ(inferred({{"c", 16}, {"a", 36}, {"b", 28}}, 8), "c 2, a 3, b 3");
  EXPECT_EQ(inferred({{"a", 36}, {"c", 16}, {"b", 28}}, 8), "a 4, c 1, b 3");
}

TEST(InferQuotas, TiesGoToTheFirst) {
  EXPECT_EQ(inferred({{"c", 5}, {"a", 5}, {"b", 5}}, 4), "c 2, a 1, b 1");
  EXPECT_EQ(inferred({{"c", 5}, {"a", 5}, {"b", 5}}, 5), "c 2, a 2, b 1");
}

TEST(InferQuotas, EverybodyHasOne) {
  // 0.08 and 0 come to 1 each; the others divide the 8 left, 4.85 and 3.15, not the 10.
  EXPECT_EQ(inferred({{"tiny", 1}, {"a", 71}, {"none", 0}, {"b", 46}}, 10),
            "tiny 1, a 5, none 1, b 3");
  // 1.19 of 12 is enough, but b's share of the 9 left after the three small tenants is 0.91.
  EXPECT_EQ(inferred({{"a", 8000}, {"b", 900}, {"x", 70}, {"y", 70}, {"z", 70}}, 12),
            "a 8, b 1, x 1, y 1, z 1");
  EXPECT_EQ(inferred({{"a", 1'000'000}, {"b", 1}, {"c", 1}}, 3), "a 1, b 1, c 1");
  EXPECT_EQ(inferred({{"a", 0}, {"b", 0}, {"c", 0}}, 7), "a 3, b 2, c 2");
}

TEST(InferQuotas, EntriesOfOneNameAreAddedUp) {
  EXPECT_EQ(inferred({{"a", 1}, {"b", 4}, {"a", 5}, {"a", 6}}, 4), "a 3, b 1");
}

TEST(InferQuotas, JobsWithoutTenantAreTheDefaultTenants) {
  EXPECT_EQ(inferred({}, 5), "default 5");
  EXPECT_EQ(inferred({{"", 10}}, 5), "default 5");
  EXPECT_EQ(inferred({{"a", 10}, {"", 10}, {"default", 10}}, 3), "a 1, default 2");
}

TEST(InferQuotas, RefusesMoreTenantsThanGpus) {
  EXPECT_EQ(inferred({{"a", 1}, {"b", 1}}, 1),
            "tenants: 2 tenants but only 1 GPU, too few for a quota of 1 each; set quotas with "
            "--tenants");
  EXPECT_EQ(inferred({{"a", 1}, {"b", 1}, {"c", 1}}, 2),
            "tenants: 3 tenants but only 2 GPUs, too few for a quota of 1 each; set quotas with "
            "--tenants");
}

TEST(InferQuotas, KeepsTheRulesGiven) {
  const std::vector<TenantDemand> demand = {{"a", 1}};
  EXPECT_EQ(infer_quotas(demand, 2).value().sharing(), Sharing::kQuota);
  EXPECT_EQ(infer_quotas(demand, 2, {Sharing::kFair, 500}).value().sharing(), Sharing::kFair);
  EXPECT_EQ(infer_quotas(demand, 2, {Sharing::kFair, 500}).value().reclaim_permille(), 500);
}

TEST(InferQuotas, HeadroomAllowsMoreThanTheCluster) {
  const std::vector<TenantDemand> demand = {{"a", 3}, {"b", 1}};
  TenantRules rules;
  rules.headroom_permille = 1500;
  const TenantTree tree = infer_quotas(demand, 8, rules).value();
  EXPECT_EQ(tree[TenantId(0)].quota, 8) << "9 of the 12, but no more than the cluster has";
  EXPECT_EQ(tree[TenantId(1)].quota, 3);
  EXPECT_FALSE(tree.check(8).has_value());
  EXPECT_EQ(tree.check(7)->message,
            "quota: tenant 'b': 3 GPUs, more than the 2 left of the 10 that the headroom allows");
}

TEST(InferQuotas, HugeDemandDoesNotRunOver) {
  constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(inferred({{"a", kLargest}, {"b", kLargest}, {"a", kLargest}}, kMaxQuota),
            "a 3200000, b 3200000");
}

TEST(InferQuotas, WhateverTheDemandTheySumToTheCluster) {
  Random random(11);
  for (int round = 0; round < 2000; ++round) {
    const std::size_t count = 1 + random.below(12);
    const auto gpus = static_cast<std::int64_t>(count + random.below(60));
    std::vector<std::string> names;
    for (std::size_t i = 0; i < count; ++i) names.push_back("t" + std::to_string(i));
    std::vector<TenantDemand> demand;
    for (const std::string& name : names) {
      demand.push_back({name, static_cast<std::int64_t>(random.below(1ULL << random.below(40)))});
    }
    const Result<TenantTree> tree = infer_quotas(demand, gpus);
    ASSERT_TRUE(tree.ok()) << tree.error().message;
    ASSERT_EQ(tree.value().size(), count);
    EXPECT_FALSE(tree.value().check(gpus).has_value());
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const std::int64_t mine = tree.value()[TenantId(i)].quota;
      sum += mine;
      EXPECT_GE(mine, 1);
      for (std::size_t j = 0; j < count; ++j) {
        // A tenant with more demand never has a smaller quota.
        const bool more = demand[i].gpu_us > demand[j].gpu_us;
        EXPECT_FALSE(more && mine < tree.value()[TenantId(j)].quota) << round;
      }
    }
    EXPECT_EQ(sum, gpus) << round;
  }
}

}  // namespace
}  // namespace muster
