#include "study/page/page_markdown.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(PageMarkdown, WritesTablesImagesAndCommands) {
  Page page;
  page.title = "Results";
  page.facts = {"2 claims"};
  page.commands = {"muster sim --policy fifo"};
  Section section;
  section.key = "one";
  section.title = "One";
  section.findings = {"It is so."};
  section.tables = {{"t", "Table", {"claim", "Muster"}, {{"a|b", Number{1.5, 1}}, {"c", {}}}}};
  Plot plot;
  plot.key = "load";
  plot.title = "Load";
  section.plots = {plot};
  page.sections = {section};
  EXPECT_EQ(page_markdown(page, "img", "Generated.\n"),
            "# Results\n\nGenerated.\n\n2 claims.\n\n## One\n\n- It is so.\n\n### Table\n\n"
            "| claim | Muster |\n|---|---:|\n| a\\|b | 1.5 |\n| c |  |\n\n![Load](img/load.svg)\n"
            "\n## Commands\n\n```\nmuster sim --policy fifo\n```\n");
  EXPECT_EQ(page_markdown(page, "", "").find("![Load]"), std::string::npos);
}

}  // namespace
}  // namespace muster
