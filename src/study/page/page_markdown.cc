#include "study/page/page_markdown.h"

#include <fmt/format.h>

#include "base/terminal/table.h"
#include "base/text/wording.h"
#include "study/page/cells.h"

namespace muster {

namespace {

// Text of a table cell or a paragraph: no line breaks, and no characters with a meaning in tables
// and HTML.
std::string plain_text(const std::string& text) {
  std::string out;
  for (const char c : printable(text)) {
    if (c == '|' || c == '<' || c == '*' || c == '`') out += '\\';
    out += c;
  }
  return out;
}

void add_table(const PageTable& table, std::string& out) {
  if (!table.title.empty()) out += fmt::format("\n### {}\n", plain_text(table.title));
  std::string head = "|", rule = "|";
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    head += fmt::format(" {} |", plain_text(table.columns[i]));
    rule += is_numeric(table, i) ? "---:|" : "---|";
  }
  out += fmt::format("\n{}\n{}\n", head, rule);
  for (const std::vector<Cell>& row : table.rows) {
    out += '|';
    for (const Cell& cell : row)
      out += fmt::format(" {} |", plain_text(cell_text(cell).value_or("")));
    out += '\n';
  }
}

}  // namespace

std::string page_markdown(const Page& page, const std::string& images, const std::string& before) {
  check_page(page);
  std::string out = fmt::format("# {}\n\n{}\n", plain_text(page.title), before);
  for (const std::string& fact : page.facts) out += fmt::format("{}.\n", plain_text(fact));
  for (const Section& section : page.sections) {
    out += fmt::format("\n## {}\n", plain_text(section.title));
    if (!section.findings.empty()) out += '\n';
    for (const std::string& finding : section.findings) {
      out += fmt::format("- {}\n", plain_text(finding));
    }
    for (const PageTable& table : section.tables) add_table(table, out);
    if (images.empty()) continue;
    for (const Plot& plot : section.plots) {
      out += fmt::format("\n![{}]({}/{}.svg)\n", plain_text(plot.title), images, plot.key);
    }
  }
  if (page.commands.empty()) return out;
  out += "\n## Commands\n\n```\n";
  for (const std::string& command : page.commands) out += printable(command) + '\n';
  return out + "```\n";
}

}  // namespace muster
