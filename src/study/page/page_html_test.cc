#include "study/page/page_html.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "base/text/wording.h"
#include "study/page/embedded.h"
#include "study/page/test_page.h"

namespace muster {
namespace {

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++found;
  }
  return found;
}

std::string data_of(const std::string& html) {
  const std::string opening = "<script type=\"application/json\" id=\"_data\">";
  const std::size_t from = html.find(opening) + opening.size();
  return html.substr(from, html.find("</script>", from) - from);
}

TEST(PageHtml, StandsOnItsOwn) {
  const std::string html = page_html(small_page());
  EXPECT_EQ(html, page_html(small_page()));
  for (const char* outside : {"https://", "src=", "url(", "@import", "<link", "<iframe"}) {
    EXPECT_FALSE(has(html, outside)) << outside;
  }
  // The names of XML namespaces are not requested.
  EXPECT_EQ(count_of(html, "http://"), count_of(html, "http://www.w3.org/"));
  EXPECT_TRUE(has(html,
                  "http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
                  "style-src 'sha256-"));
  EXPECT_FALSE(has(html, "unsafe"));
}

// Every report has them inside.
TEST(PageHtml, StyleAndScriptAreSmall) {
  EXPECT_LT(page_style().size() + page_script().size(), 125'000u);
}

TEST(PageHtml, HasEverySectionAndFigure) {
  const std::string html = page_html(small_page());
  for (const char* part :
       {"id=\"waiting\"", "href=\"#waiting\"", "id=\"use\"", "href=\"#use\"", "id=\"_notes\"",
        "<title>A cluster&#39;s past</title>", "Missing in the input: why jobs waited.",
        "<li>Large ones wait longest.</li>", "<p class=\"thinned\">Every second point.</p>",
        "<code>muster analyze small.csv\n</code>", "data-v=\"82247\">82,247<",
        "data-v=\"1234.567\">1,234.6<", "<button type=\"button\">wait p50 (min)</button>"}) {
    EXPECT_TRUE(has(html, part)) << part;
  }
  EXPECT_EQ(count_of(html, "<figure class=\"plot"), 2u);
  EXPECT_EQ(count_of(html, "<figure class=\"gantt"), 1u);
  for (const char* key : {"by-size", "wait-cdf", "wait-bars", "gantt"}) {
    EXPECT_EQ(count_of(html, "data-key=\"" + std::string(key) + "\""), 1u) << key;
  }
}

TEST(PageHtml, NoTextIsTakenForMarkup) {
  const std::string html = page_html(small_page());
  EXPECT_EQ(count_of(html, "</script>"), 2u);  // Ours alone: the data's and the script's.
  EXPECT_FALSE(has(html, "<b>"));
  EXPECT_TRUE(has(html, "&lt;/script&gt;&lt;b&gt;&quot;a&quot; &amp; &#39;b&#39;?[31m?"));
  EXPECT_FALSE(has(data_of(html), "<"));
  std::string rest = html;
  while (!rest.empty()) {
    const Utf8Char c = first_utf8_char(rest.substr(0, 4));
    ASSERT_TRUE(c.valid);
    ASSERT_TRUE(c.code >= 0x20 || c.code == '\n');
    const std::size_t plain = rest.find_first_not_of(" \n<>abcdefghijklmnopqrstuvwxyz");
    rest.erase(0, std::max(c.bytes, std::min(plain, rest.size())));
  }
}

TEST(PageHtml, DataIsCompactAndSorted) {
  const auto data = nlohmann::json::parse(data_of(page_html(small_page())));
  const auto& steps = data["plots"][0];
  EXPECT_EQ(steps["series"][0]["x"], nlohmann::json::parse("[1, 2.5, 3333333.33]"));
  EXPECT_EQ(steps["series"][0]["y"], nlohmann::json::parse("[0, 0.3333333, 100]"));
  EXPECT_EQ(steps["series"][1]["x"], 0);  // As that of the first.
  EXPECT_EQ(steps["series"][1]["y"], nlohmann::json::parse("[10, null, 100]"));
  const auto& gantt = data["gantts"][0];
  EXPECT_EQ(gantt["row"], nlohmann::json::parse("[0, 0, 2]"));
  EXPECT_EQ(gantt["begin"], nlohmann::json::parse("[0, 20, 50]"));
  EXPECT_EQ(gantt["length"], nlohmann::json::parse("[10, 10, 10.5]"));
  EXPECT_EQ(gantt["tips"], nlohmann::json::parse(R"(["", "second"])"));
  EXPECT_EQ(gantt["tip"], nlohmann::json::parse("[1, 0, 1]"));
  EXPECT_EQ(gantt["labels"][1], printable(kHostile));
}

TEST(PageHtml, AnEmptyPageIsOneToo) {
  Page page;
  page.title = "Nothing";
  const auto data = nlohmann::json::parse(data_of(page_html(page)));
  EXPECT_TRUE(data["plots"].empty());
  EXPECT_TRUE(data["gantts"].empty());
}

}  // namespace
}  // namespace muster
