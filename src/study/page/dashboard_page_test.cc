#include "study/page/dashboard_page.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "study/page/page_json.h"
#include "study/page/test_page.h"

namespace muster {
namespace {

using Json = nlohmann::json;

TEST(BrowserPage, HasEveryKeyAndNoChartsOfGpus) {
  const Json page = Json::parse(browser_page(small_page()));
  ASSERT_GE(page["sections"].size(), 1u);
  for (const Json& section : page["sections"]) {
    EXPECT_TRUE(section["missing"].is_string());
    EXPECT_FALSE(section.contains("gantts"));
    for (const Json& plot : section["plots"]) EXPECT_TRUE(plot["scale"].is_string());
  }
  EXPECT_EQ(page["sections"][0]["tables"][0]["decimals"][2][2], 2);
  EXPECT_EQ(page, Json::parse(browser_page(page_json(small_page())).value()));
}

TEST(BrowserPage, RefusesWhatIsNone) {
  for (const char* wrong :
       {"", "[]", "{}", R"({"title":"x"})", R"({"title":"x","sections":[1]})",
        R"({"title":"x","sections":[{"title":"y"}]})",
        R"({"title":"x","sections":[{"title":"y","findings":[],"tables":[{"columns":["a"],)"
        R"("rows":[[]]}],"plots":[]}]})",
        R"({"title":"x","sections":[{"title":"y","findings":[],"tables":[],"plots":[{}]}]})"}) {
    EXPECT_FALSE(browser_page(std::string_view(wrong)).ok()) << wrong;
  }
}

// A file may contain anything; the data that the page's script reads has the right types.
TEST(BrowserPage, RefusesWrongTypesAndDepths) {
  const Json good = Json::parse(browser_page(small_page()));
  ASSERT_TRUE(browser_page(good.dump()).ok());
  const auto refused = [&](const char* where, Json value) {
    Json page = good;
    page[Json::json_pointer(where)] = std::move(value);
    return !browser_page(page.dump()).ok();
  };
  const std::string table = "/sections/0/tables/0";
  EXPECT_TRUE(refused((table + "/columns/0").c_str(), 1));
  EXPECT_TRUE(refused((table + "/rows/0/0").c_str(), Json::object()));
  EXPECT_TRUE(refused((table + "/decimals").c_str(), 3));
  EXPECT_TRUE(refused((table + "/decimals/0").c_str(), 21));
  EXPECT_TRUE(refused((table + "/decimals/0").c_str(), Json::object()));
  EXPECT_TRUE(refused("/sections/0/findings", Json::parse("[{}]")));
  const std::string deep(200'000, '[');
  EXPECT_FALSE(browser_page(R"({"title":"x","sections":[],"facts":)" + deep +
                            std::string(200'000, ']') + "}")
                   .ok());
}

}  // namespace
}  // namespace muster
