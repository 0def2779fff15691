#include "study/page/page_json.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "study/page/test_page.h"

namespace muster {
namespace {

TEST(PageJson, ReadsBackWithTypesAndAllDigits) {
  const std::string text = page_json(small_page());
  EXPECT_EQ(text, page_json(small_page()));
  const auto page = nlohmann::ordered_json::parse(text);
  EXPECT_EQ(page["title"], "A cluster's past");
  std::vector<std::string> keys;
  for (const auto& [key, value] : page.items()) keys.push_back(key);
  EXPECT_EQ(keys, (std::vector<std::string>{"title", "facts", "sections", "notes", "commands"}));
  const auto& waiting = page["sections"][0];
  EXPECT_EQ(waiting["findings"].size(), 2u);
  EXPECT_EQ(waiting["missing"], "why jobs waited.");
  EXPECT_TRUE(page["sections"][1]["missing"].is_null());
  const auto& rows = waiting["tables"][0]["rows"];
  EXPECT_EQ(rows[0], nlohmann::ordered_json::parse(R"(["1", 82247, 1234.567])"));
  EXPECT_EQ(waiting["tables"][0]["decimals"],
            nlohmann::ordered_json::parse("[null, null, [1, 1, 2]]"));
  EXPECT_TRUE(rows[0][1].is_number_integer());
  EXPECT_TRUE(rows[1][2].is_null());  // NaN
  EXPECT_TRUE(rows[2][1].is_null());  // Nothing
  const auto& plot = waiting["plots"][0];
  EXPECT_EQ(plot["kind"], "steps");
  EXPECT_EQ(plot["scale"], "log");
  EXPECT_EQ(plot["series"][0]["y"][1].get<double>(), 1.0 / 3);
  EXPECT_TRUE(plot["series"][1]["y"][1].is_null());
  EXPECT_EQ(waiting["plots"][1]["categories"][1], "order, mostly");
  const auto& gantt = page["sections"][1]["gantts"][0];
  EXPECT_EQ(gantt["bars"][0]["end_s"], 160.5);
  EXPECT_EQ(gantt["labels"][1].get<std::string>().rfind("</script><b>\"a\" & 'b'\x1b[31m\a", 0),
            0u);
}

}  // namespace
}  // namespace muster
