#include "api/port/usage.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace muster {
namespace {

using Json = nlohmann::json;

Instant usage_at(double seconds) {
  return Instant::micros(static_cast<std::int64_t>(seconds * 1e6));
}

UsageTenant tenant(std::string name, std::int64_t quota,
                   std::optional<std::uint32_t> parent = std::nullopt) {
  UsageTenant made;
  made.name = std::move(name);
  made.quota = quota;
  made.parent = parent;
  return made;
}

// a has 4 of 8 GPUs, b 4. b holds 6 for 50 s and 2 after that, a 2 from 50 s on.
UsageFacts two_tenants() {
  UsageFacts facts;
  facts.window = {usage_at(0), usage_at(100)};
  facts.points = 4;
  facts.gpus = 8;
  facts.tenants = {tenant("a", 4), tenant("b", 4)};
  facts.holds = {{1, usage_at(-50), usage_at(50), 4},
                 {1, usage_at(0), usage_at(500), 2},
                 {0, usage_at(50), usage_at(100), 2}};
  facts.work = {{1, usage_at(0), usage_at(500)}, {0, usage_at(30), usage_at(100)}};
  return facts;
}

TEST(Usage, TellsWhatIsUsedBorrowedAndLent) {
  const Json all = Json::parse(usage_json(two_tenants()));
  EXPECT_EQ(all["times"], Json::parse("[0,25,50,75]"));
  const Json& a = all["tenants"][0];
  const Json& b = all["tenants"][1];
  EXPECT_EQ(a["used"], Json::parse("[0,0,2,2]"));
  EXPECT_EQ(b["used"], Json::parse("[6,6,2,2]"));
  EXPECT_EQ(b["borrowed"], Json::parse("[2,2,0,0]"));
  EXPECT_EQ(a["lent"], Json::parse("[2,2,0,0]"));
  EXPECT_EQ(b["lent"], Json::parse("[0,0,0,0]"));
  // At first only b has work; then a has none of what it could use; then both hold alike.
  EXPECT_EQ(all["fairness"], Json::parse("[1,0.5,1,1]"));
}

TEST(Usage, IsMeansOverSteps) {
  UsageFacts facts = two_tenants();
  facts.points = 1;
  const Json all = Json::parse(usage_json(facts));
  EXPECT_EQ(all["tenants"][0]["used"], Json::parse("[1]"));
  EXPECT_EQ(all["tenants"][1]["used"], Json::parse("[4]"));
  EXPECT_EQ(all["tenants"][1]["borrowed"], Json::parse("[1]"));
}

TEST(Usage, WithoutQuotasNothingIsLent) {
  UsageFacts facts = two_tenants();
  for (UsageTenant& one : facts.tenants) one.quota = 0;
  facts.points = 2;
  const Json all = Json::parse(usage_json(facts));
  EXPECT_EQ(all["tenants"][1]["borrowed"], Json::parse("[0,0]"));
  EXPECT_EQ(all["tenants"][0]["lent"], Json::parse("[0,0]"));
  EXPECT_EQ(all["fairness"], Json::parse("[0.5,1]"));
  facts.holds.clear();
  EXPECT_EQ(Json::parse(usage_json(facts))["fairness"], Json::parse("[null,null]"));
}

// As in examples/clusters/three-teams.yaml: 8 of 64 GPUs are outside all quotas.
TEST(Usage, WhatIsNobodysIsNotLent) {
  UsageFacts facts;
  facts.window = {usage_at(0), usage_at(10)};
  facts.points = 1;
  facts.gpus = 64;
  facts.tenants = {tenant("vision", 40), tenant("product", 16), tenant("students", 0)};
  facts.tenants[2].used_now = 8;
  facts.holds = {{2, usage_at(0), usage_at(10), 8}};
  Json all = Json::parse(usage_json(facts))["tenants"];
  EXPECT_EQ(all[2]["borrowed"][0], 8);
  EXPECT_EQ(all[2]["borrowed_now"], 8);
  for (const Json& one : all) {
    EXPECT_EQ(one["lent"][0], 0);
    EXPECT_EQ(one["lent_now"], 0);
  }
  facts.tenants[2].used_now = 36;
  facts.holds[0].gpus = 36;
  all = Json::parse(usage_json(facts))["tenants"];
  EXPECT_EQ(all[0]["lent"][0], 20) << "28 of 56 that stand idle";
  EXPECT_EQ(all[1]["lent_now"], 8);
}

// A tenant whose quota is no longer known may have been within it.
TEST(Usage, WhoseQuotaIsNotKnownHasNotBorrowed) {
  UsageFacts facts = two_tenants();
  facts.points = 1;
  facts.tenants.push_back(tenant("left", 0));
  facts.tenants[2].quota_known = false;
  facts.holds = {{2, usage_at(0), usage_at(100), 3}};
  const Json all = Json::parse(usage_json(facts))["tenants"];
  EXPECT_EQ(all[2]["used"][0], 3);
  EXPECT_EQ(all[2]["borrowed"][0], 0);
  EXPECT_EQ(all[0]["lent"][0], 0);
}

TEST(Usage, SaysWhatIsMissing) {
  UsageFacts facts = two_tenants();
  EXPECT_EQ(Json::parse(usage_json(facts))["missing"], "");
  facts.missing = "what was before";
  EXPECT_EQ(Json::parse(usage_json(facts))["missing"], "what was before");
}

// GPUs that its children lend to each other are not lent by the parent.
TEST(Usage, OfAParentIsThatOfItsChildren) {
  UsageFacts facts;
  facts.window = {usage_at(0), usage_at(10)};
  facts.points = 1;
  facts.tenants = {tenant("x", 2, 1), tenant("dept", 6), tenant("y", 4, 1), tenant("z", 2)};
  facts.tenants[0].used_now = 5;
  facts.tenants[3].used_now = 3;
  facts.holds = {{0, usage_at(0), usage_at(10), 5}, {3, usage_at(0), usage_at(10), 3}};
  facts.holders = {{"x", 7, "", "", 3, usage_at(4), "y"}};
  const Json all = Json::parse(usage_json(facts));
  EXPECT_EQ(all["tenants"][0]["parent"], "dept");
  EXPECT_EQ(all["tenants"][1]["used"][0], 5);
  EXPECT_EQ(all["tenants"][1]["used_now"], 5);
  EXPECT_EQ(all["tenants"][2]["lent"][0], 4);
  EXPECT_EQ(all["tenants"][1]["lent"][0], 1) << "3 of the 4 went to x";
  EXPECT_EQ(all["tenants"][1]["lent_now"], 1);
  EXPECT_EQ(all["tenants"][3]["borrowed_now"], 1);
  EXPECT_EQ(all["holders"], Json::parse(R"([{"tenant":"x","job":7,"gpus":3,"since":4,"of":"y"}])"));
  facts.gpus = 10;  // Two are outside all quotas: half of the borrowed GPUs.
  const Json less = Json::parse(usage_json(facts))["tenants"];
  EXPECT_EQ(less[2]["lent"][0], 2);
  EXPECT_EQ(less[1]["lent_now"], 0.5);
}

}  // namespace
}  // namespace muster
