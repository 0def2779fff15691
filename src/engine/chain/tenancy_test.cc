#include "engine/chain/tenancy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "base/types/random.h"

namespace muster {
namespace {

struct Line {
  const char* name;
  std::int64_t quota = 0;
  std::int32_t weight_milli = 1000;
  const char* parent = "";
};

TenantTree tree_of(const std::vector<Line>& lines, Sharing sharing,
                   std::int32_t reclaim_permille = 900) {
  TenantList list;
  list.rules = {sharing, reclaim_permille};
  for (const Line& line : lines) {
    TenantSpec spec;
    spec.name = line.name;
    spec.parent = line.parent;
    if (sharing == Sharing::kQuota) spec.quota = line.quota;
    spec.weight_milli = line.weight_milli;
    list.tenants.push_back(spec);
  }
  Result<TenantTree> tree = TenantTree::build(list);
  EXPECT_TRUE(tree.ok()) << tree.error().message;
  return std::move(tree).value();
}

// Tenants by name, users by number.
class Cast {
 public:
  Cast(const std::vector<Line>& lines, Sharing sharing, std::int32_t gpus,
       std::int32_t reclaim_permille = 900)
      : tree_(tree_of(lines, sharing, reclaim_permille)), tenancy_(tree_, gpus) {}
  Cast(const Cast&) = delete;
  Cast& operator=(const Cast&) = delete;

  struct Claim {
    const char* name;
    std::int32_t used;
    std::int32_t wanted;
  };
  // A plan with this usage and these requests.
  void plan(std::initializer_list<Claim> claims) {
    tenancy_.begin();
    for (const Claim& claim : claims) {
      tenancy_.charge(id(claim.name), UserId(0), claim.used);
      tenancy_.want(id(claim.name), claim.wanted);
    }
    tenancy_.share_out();
  }

  TenantId id(const char* name) const { return *tree_.find(name); }
  bool within(const char* name, std::int32_t gpus) const { return tenancy_.within(id(name), gpus); }
  int turns(const char* a, const char* b) const {
    return tenancy_.compare_turns(id(a), UserId(0), id(b), UserId(0));
  }
  // "4 3 1": the entitlement of every tenant, in list order.
  std::string parts() const {
    std::string text;
    for (std::size_t i = 0; i < tree_.size(); ++i) {
      text += (i > 0 ? " " : "") + std::to_string(tenancy_.part(TenantId(i)));
    }
    return text;
  }
  Tenancy& tenancy() { return tenancy_; }
  const Tenancy& tenancy() const { return tenancy_; }
  const TenantTree& tree() const { return tree_; }

 private:
  TenantTree tree_;
  Tenancy tenancy_;
};

TEST(Tenancy, ByQuotaAPartIsTheQuotaWhoeverHoldsOrWants) {
  Cast cast({{"a", 5}, {"b", 3}, {"c", 0}}, Sharing::kQuota, 10);
  EXPECT_EQ(cast.parts(), "5 3 0") << "from the start: a job may be submitted before a plan";
  cast.plan({{"a", 0, 0}, {"b", 8, 20}, {"c", 2, 9}});
  EXPECT_EQ(cast.parts(), "5 3 0");
}

TEST(Tenancy, ByWeightThoseThatWantDivideEverything) {
  const std::vector<Line> lines = {{"a", 0, 1000}, {"b", 0, 3000}, {"c", 0, 500}};
  Cast all(lines, Sharing::kWeight, 18);
  all.plan({{"a", 18, 0}, {"b", 0, 18}, {"c", 0, 18}});
  EXPECT_EQ(all.parts(), "4 12 2");
  Cast two(lines, Sharing::kWeight, 18);
  two.plan({{"a", 0, 0}, {"b", 9, 9}, {"c", 9, 9}});
  EXPECT_EQ(two.parts(), "0 16 2") << "18 * 6 / 7 is 15.4, and the odd one goes to the first";
}

TEST(Tenancy, FairIsEvenWhateverTheWeights) {
  Cast cast({{"a", 0, 1000}, {"b", 0, 9000}, {"c"}}, Sharing::kFair, 12);
  cast.plan({{"a", 12, 0}, {"b", 0, 12}, {"c", 0, 12}});
  EXPECT_EQ(cast.parts(), "4 4 4");
}

TEST(Tenancy, WhatSomeLeaveGoesToTheOthersUntilNobodyIsLeft) {
  Cast cast({{"a"}, {"b"}, {"c"}, {"d"}}, Sharing::kFair, 16);
  // Four each. a leaves three, so five each. b leaves one, so the others get five and a half.
  cast.plan({{"a", 1, 0}, {"b", 2, 2}, {"c", 16, 0}, {"d", 0, 16}});
  EXPECT_EQ(cast.parts(), "1 4 6 5");
  Cast modest({{"a"}, {"b"}}, Sharing::kFair, 16);
  modest.plan({{"a", 1, 0}, {"b", 2, 2}});
  EXPECT_EQ(modest.parts(), "1 4") << "no tenant is entitled to GPUs without demand";
}

TEST(Tenancy, WantsLastFromPlanToPlanAndWhatIsHeldDoesNot) {
  Cast cast({{"a"}, {"b"}}, Sharing::kFair, 8);
  cast.plan({{"a", 3, 1}, {"b", 5, 3}});
  EXPECT_EQ(cast.tenancy().used(cast.id("b")), 5);
  EXPECT_EQ(cast.parts(), "4 4");
  cast.plan({});
  EXPECT_EQ(cast.tenancy().used(cast.id("b")), 0);
  EXPECT_EQ(cast.parts(), "1 3");
  cast.tenancy().want(cast.id("b"), -3);
  cast.plan({});
  EXPECT_EQ(cast.parts(), "1 0");
}

// Water-filling level: vessels are as wide as the weights and as high as the demands.
std::vector<double> water_filling(const std::vector<double>& width,
                                  const std::vector<double>& demand, double water) {
  const auto poured = [&](double level) {
    std::vector<double> parts(width.size());
    for (std::size_t i = 0; i < width.size(); ++i) parts[i] = std::min(demand[i], level * width[i]);
    return parts;
  };
  double low = 0;
  double high = 1e9;
  for (int i = 0; i < 200; ++i) {
    const double level = (low + high) / 2;
    double sum = 0;
    for (const double part : poured(level)) sum += part;
    (sum < water ? low : high) = level;
  }
  return poured(low);
}

// Compares with the reference in real numbers, rounded to whole GPUs. Satisfied tenants have their
// full demand. The others have their share rounded down, and the first of them in the list get the
// remainder.
void expect_poured(const Cast& cast, const std::vector<TenantId>& beside,
                   const std::vector<std::int64_t>& demand, std::int64_t gpus) {
  std::vector<double> width;
  std::vector<double> wanted;
  std::int64_t demands = 0;
  for (const TenantId id : beside) {
    const bool by_weight = cast.tree().sharing() == Sharing::kWeight;
    width.push_back(by_weight ? cast.tree()[id].weight_milli : 1);
    wanted.push_back(static_cast<double>(demand[id.index()]));
    demands += demand[id.index()];
  }
  const std::vector<double> real = water_filling(width, wanted, static_cast<double>(gpus));
  std::int64_t sum = 0;
  bool odd_ones_over = false;
  for (std::size_t i = 0; i < beside.size(); ++i) {
    const std::int64_t part = cast.tenancy().part(beside[i]);
    SCOPED_TRACE(cast.tree()[beside[i]].name + ": " + std::to_string(part) + " of " +
                 std::to_string(real[i]));
    sum += part;
    ASSERT_LE(part, demand[beside[i].index()]) << "more than its usage and requests";
    if (std::abs(real[i] - wanted[i]) < 1e-6) {
      ASSERT_EQ(part, demand[beside[i].index()]);
      continue;
    }
    const auto down = static_cast<std::int64_t>(std::floor(real[i] + 1e-6));
    ASSERT_TRUE(part == down || part == down + 1);
    ASSERT_FALSE(odd_ones_over && part == down + 1) << "the remainder does not go to the first";
    odd_ones_over |= part == down;
  }
  ASSERT_EQ(sum, std::min(gpus, demands)) << "a GPU lost or invented";
}

TEST(Tenancy, DividesAsANaiveTwinPoursWater) {
  const std::vector<Line> demand_class = {{"a"},
                                          {"b"},
                                          {"c"},
                                          {"d"},
                                          {"e"},
                                          {"a1", 0, 1000, "a"},
                                          {"a2", 0, 1000, "a"},
                                          {"a3", 0, 1000, "a"},
                                          {"b1", 0, 1000, "b"},
                                          {"b2", 0, 1000, "b"}};
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    SCOPED_TRACE(testing::Message() << "reproduce with seed " << seed);
    Random random(seed);
    const auto draw = [&](std::uint64_t bound) {
      return static_cast<std::int32_t>(random.below(bound));
    };
    std::vector<Line> lines = demand_class;
    for (Line& line : lines) line.weight_milli = 1 + draw(4000);
    const Sharing sharing = seed % 2 == 0 ? Sharing::kWeight : Sharing::kFair;
    const std::int32_t gpus = 1 + draw(200);
    Cast cast(lines, sharing, gpus);
    std::vector<std::int64_t> demand(lines.size());
    cast.tenancy().begin();
    for (std::size_t i = 2; i < lines.size(); ++i) {  // a and b have the sum of their children.
      const std::int32_t used = draw(3) == 0 ? 0 : draw(60);
      const std::int32_t wanted = draw(3) == 0 ? 0 : draw(60);
      cast.tenancy().charge(TenantId(i), UserId(0), used);
      cast.tenancy().want(TenantId(i), wanted);
      demand[i] += used + wanted;
      if (cast.tree()[TenantId(i)].parent) {
        demand[cast.tree()[TenantId(i)].parent->index()] += used + wanted;
      }
    }
    cast.tenancy().share_out();
    ASSERT_NO_FATAL_FAILURE(expect_poured(cast, cast.tree().top(), demand, gpus));
    for (const TenantId parent : {TenantId(0), TenantId(1)}) {
      ASSERT_NO_FATAL_FAILURE(
          expect_poured(cast, cast.tree()[parent].children, demand, cast.tenancy().part(parent)));
    }
  }
}

TEST(Tenancy, AJobIsWithinIfItsTenantHoldsNoMoreThanItsPartWithIt) {
  Cast cast({{"lab", 6}, {"vision", 4, 1000, "lab"}, {"speech", 2, 1000, "lab"}, {"other", 4}},
            Sharing::kQuota, 10);
  cast.plan({{"vision", 1, 0}});
  EXPECT_TRUE(cast.within("vision", 3));
  EXPECT_FALSE(cast.within("vision", 4));
  EXPECT_TRUE(cast.within("speech", 2));
  EXPECT_FALSE(cast.within("speech", 3)) << "the lab has that many left, but speech does not";
  EXPECT_TRUE(cast.within("lab", 5)) << "a job of the lab itself";
  EXPECT_FALSE(cast.within("lab", 6));
  cast.plan({{"vision", 4, 0}, {"speech", 2, 0}, {"other", 4, 0}});
  EXPECT_TRUE(cast.within("vision", 0));
  EXPECT_FALSE(cast.within("vision", 1));
}

TEST(Tenancy, WhatIsLentInsideALabIsStillItsOwners) {
  Cast cast({{"lab", 6}, {"vision", 4, 1000, "lab"}, {"speech", 2, 1000, "lab"}, {"other", 4}},
            Sharing::kQuota, 10);
  cast.plan({{"vision", 6, 0}});
  EXPECT_EQ(cast.tenancy().used(cast.id("lab")), 6);
  EXPECT_TRUE(cast.within("speech", 2)) << "vision has borrowed them, and loans can be reclaimed";
  EXPECT_FALSE(cast.within("vision", 0)) << "it exceeds its entitlement";
}

TEST(Tenancy, KnowsHowFarAwayItWouldHaveToBorrow) {
  Cast cast({{"lab", 6}, {"vision", 4, 1000, "lab"}, {"speech", 2, 1000, "lab"}, {"other", 2}},
            Sharing::kQuota, 8);
  const auto distance = [&](const char* name, std::int32_t gpus) {
    return cast.tenancy().distance(cast.id(name), gpus);
  };
  EXPECT_EQ(cast.tenancy().farthest(), 2U);
  cast.plan({{"vision", 3, 0}});
  EXPECT_EQ(distance("vision", 1), 0U);
  EXPECT_EQ(distance("vision", 3), 1U) << "its lab is entitled to them";
  EXPECT_EQ(distance("vision", 4), 2U) << "its lab is not entitled to them either";
  EXPECT_EQ(distance("other", 2), 0U);
  EXPECT_EQ(distance("other", 3), 2U) << "it has no parent";
}

TEST(Tenancy, WhoHasTheBetterRightIsDecidedWhereTheTreeParts) {
  Cast cast({{"lab", 6}, {"vision", 4, 1000, "lab"}, {"speech", 2, 1000, "lab"}, {"other", 2}},
            Sharing::kQuota, 8);
  const auto outranks = [&](const char* a, std::size_t far_a, const char* b, std::size_t far_b) {
    return cast.tenancy().outranks(cast.id(a), far_a, cast.id(b), far_b);
  };
  EXPECT_TRUE(outranks("speech", 0, "vision", 1)) << "its own against what a sibling borrows of it";
  EXPECT_TRUE(outranks("speech", 0, "vision", 2));
  EXPECT_FALSE(outranks("speech", 0, "vision", 0));
  EXPECT_FALSE(outranks("speech", 1, "vision", 1)) << "both borrow of the lab";
  EXPECT_FALSE(outranks("speech", 1, "vision", 2)) << "neither owns anything there";
  EXPECT_TRUE(outranks("vision", 1, "other", 2))
      << "the lab is entitled to it, for any of its tenants";
  EXPECT_FALSE(outranks("vision", 2, "other", 2));
  EXPECT_FALSE(outranks("other", 0, "vision", 1)) << "the lab is within its entitlement";
  EXPECT_TRUE(outranks("other", 0, "vision", 2));
  EXPECT_TRUE(outranks("vision", 0, "vision", 1)) << "inside a tenant, own before borrowed";
  EXPECT_FALSE(outranks("vision", 0, "vision", 0));
}

TEST(Tenancy, ChargesGoUpTheTreeAndComeBack) {
  Cast cast({{"lab", 8}, {"vision", 8, 1000, "lab"}}, Sharing::kQuota, 8);
  cast.tenancy().begin();
  cast.tenancy().charge(cast.id("vision"), UserId(1), 6);
  cast.tenancy().charge(cast.id("lab"), UserId(1), 2);
  EXPECT_EQ(cast.tenancy().used(cast.id("vision")), 6);
  EXPECT_EQ(cast.tenancy().used(cast.id("lab")), 8);
  cast.tenancy().charge(cast.id("vision"), UserId(1), -6);
  EXPECT_EQ(cast.tenancy().used(cast.id("vision")), 0);
  EXPECT_EQ(cast.tenancy().used(cast.id("lab")), 2);
}

TEST(Tenancy, ByQuotaAllTurnsAreLevel) {
  Cast cast({{"a", 4}, {"b", 4}}, Sharing::kQuota, 8);
  cast.plan({{"a", 7, 1}, {"b", 0, 1}});
  EXPECT_EQ(cast.turns("a", "b"), 0) << "the policy decides";
}

TEST(Tenancy, TheTurnIsWhoseHoldsLeastForItsWeight) {
  Cast cast({{"a", 0, 1000}, {"b", 0, 3000}}, Sharing::kWeight, 16);
  cast.plan({{"a", 2, 1}, {"b", 5, 1}});
  EXPECT_GT(cast.turns("a", "b"), 0) << "2 to 1 against 5 to 3";
  EXPECT_LT(cast.turns("b", "a"), 0);
  cast.plan({{"a", 2, 1}, {"b", 6, 1}});
  EXPECT_EQ(cast.turns("a", "b"), 0);
  cast.plan({{"a", 2, 1}, {"b", 7, 1}});
  EXPECT_LT(cast.turns("a", "b"), 0);
}

TEST(Tenancy, TurnsAreComparedWhereTheTreeParts) {
  Cast cast({{"lab", 0}, {"vision", 0, 1000, "lab"}, {"speech", 0, 1000, "lab"}, {"other"}},
            Sharing::kFair, 16);
  cast.plan({{"vision", 4, 1}, {"speech", 1, 1}, {"other", 3, 1}});
  EXPECT_LT(cast.turns("other", "speech"), 0) << "the lab holds five, the others three";
  EXPECT_LT(cast.turns("other", "vision"), 0);
  EXPECT_LT(cast.turns("speech", "vision"), 0);
  EXPECT_GT(cast.turns("vision", "speech"), 0);
  EXPECT_EQ(cast.turns("vision", "lab"), 0) << "one is above the other";
}

TEST(Tenancy, FairIsToUsersInsideATenantToo) {
  Cast cast({{"a"}, {"b"}}, Sharing::kFair, 16);
  EXPECT_TRUE(cast.tenancy().by_user());
  const auto turns = [&](const char* a, int user_a, const char* b, int user_b) {
    return cast.tenancy().compare_turns(cast.id(a), UserId(user_a), cast.id(b), UserId(user_b));
  };
  cast.tenancy().begin();
  cast.tenancy().charge(cast.id("a"), UserId(1), 3);
  cast.tenancy().charge(cast.id("a"), UserId(2), 2);
  cast.tenancy().charge(cast.id("b"), UserId(1), 5);
  EXPECT_GT(turns("a", 1, "a", 2), 0);
  EXPECT_LT(turns("a", 2, "a", 1), 0);
  EXPECT_LT(turns("a", 3, "a", 2), 0) << "a user without GPUs is first";
  EXPECT_EQ(turns("a", 1, "b", 2), 0) << "tenants come first, and they are equal";
  cast.tenancy().charge(cast.id("a"), UserId(1), -2);
  EXPECT_LT(turns("a", 1, "a", 2), 0);
  EXPECT_LT(turns("a", 2, "b", 2), 0) << "a now holds less, for any of its users";
  cast.tenancy().begin();
  EXPECT_EQ(turns("a", 1, "a", 2), 0) << "a new plan";
}

TEST(Tenancy, ByWeightUsersAreAllAlike) {
  Cast cast({{"a"}}, Sharing::kWeight, 16);
  EXPECT_FALSE(cast.tenancy().by_user());
  cast.tenancy().begin();
  cast.tenancy().charge(cast.id("a"), UserId(1), 3);
  EXPECT_EQ(cast.tenancy().compare_turns(cast.id("a"), UserId(1), cast.id("a"), UserId(2)), 0);
}

// Returns the minimum number of GPUs in use at which lent GPUs may be reclaimed.
std::int32_t busy_enough(std::int32_t gpus, std::int32_t permille) {
  Cast cast({{"a", 1}}, Sharing::kQuota, gpus, permille);
  std::int32_t busy = 0;
  while (!cast.tenancy().may_reclaim(gpus - busy)) ++busy;
  for (std::int32_t more = busy; more <= gpus; ++more) {
    EXPECT_TRUE(cast.tenancy().may_reclaim(gpus - more)) << more << " of " << gpus;
  }
  return busy;
}

TEST(Tenancy, ReclaimsFromNinetyPerCentOnExactly) {
  EXPECT_EQ(busy_enough(10, 900), 9);
  EXPECT_EQ(busy_enough(20, 900), 18);
  EXPECT_EQ(busy_enough(19, 900), 18) << "17.1 rounded up";
  EXPECT_EQ(busy_enough(11, 900), 10) << "9.9 rounded up";
  EXPECT_EQ(busy_enough(1, 900), 1);
  EXPECT_EQ(busy_enough(640, 900), 576);
  EXPECT_EQ(busy_enough(10, 0), 0);
  EXPECT_EQ(busy_enough(10, 1000), 10);
  EXPECT_EQ(busy_enough(1000, 905), 905);
}

}  // namespace
}  // namespace muster
