#include "study/page/page_text.h"

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

#include "base/terminal/table.h"
#include "base/text/text.h"
#include "base/text/wording.h"
#include "study/page/cells.h"

namespace muster {

namespace {

constexpr std::string_view kBold = "\x1b[1m";
constexpr std::string_view kNormal = "\x1b[0m";
constexpr int kNarrowest = 30;  // Below this width each line would have only one word.

class TextWriter {
 public:
  TextWriter(int width, ColorMode colors)
      : width_(static_cast<std::size_t>(std::max(width, kNarrowest))), colors_(colors) {}

  void title(std::string_view text, char underline) {
    const std::string safe = printable(text);
    if (colors_ == ColorMode::kColor) {
      out_ += kBold;
      out_ += safe;
      out_ += kNormal;
    } else {
      out_ += safe + "\n" + std::string(display_width(safe), underline);
    }
    out_ += '\n';
  }

  // Wraps words after a lead of spaces or a dash. Further lines are indented by the same width.
  void sentence(std::string_view lead, std::string_view text) {
    const std::string safe = printable(text);
    std::string line(lead);
    bool empty = true;
    for (const std::string_view word : split(safe, ' ')) {
      if (word.empty()) continue;
      if (!empty && display_width(line) + 1 + display_width(word) > width_) {
        out_ += line + "\n";
        line = std::string(lead.size(), ' ');
        empty = true;
      }
      if (!empty) line += ' ';
      line += word;
      empty = false;
    }
    out_ += line + "\n";
  }

  void verbatim(std::string_view text) { out_ += "  " + printable(text) + "\n"; }
  void gap() { out_ += '\n'; }

  void table(const PageTable& table) {
    if (!table.title.empty()) sentence("", table.title + ":");
    std::vector<Column> columns;
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
      columns.push_back({table.columns[i], is_numeric(table, i) ? Align::kRight : Align::kLeft});
    }
    Table aligned(std::move(columns));
    for (const auto& row : table.rows) {
      std::vector<std::string> cells;
      for (const Cell& cell : row) cells.push_back(cell_text(cell).value_or("-"));
      aligned.add_row(std::move(cells));
    }
    out_ += aligned.render(colors_);
  }

  std::string finish() && { return std::move(out_); }

 private:
  std::size_t width_;
  ColorMode colors_;
  std::string out_;
};

void write_section(TextWriter& writer, const Section& section) {
  writer.gap();
  writer.title(section.title, '-');
  for (const std::string& finding : section.findings) writer.sentence("- ", finding);
  if (!section.missing.empty()) {
    writer.sentence("- ", "missing in the input: " + section.missing);
  }
  for (const PageTable& table : section.tables) {
    writer.gap();
    writer.table(table);
  }
}

}  // namespace

std::string page_text(const Page& page, int width, ColorMode colors) {
  check_page(page);
  TextWriter writer(width, colors);
  writer.title(page.title, '=');
  for (const std::string& fact : page.facts) writer.sentence("", fact);
  for (const Section& section : page.sections) write_section(writer, section);
  if (!page.notes.empty()) {
    writer.gap();
    writer.title("Notes", '-');
    for (const std::string& note : page.notes) writer.sentence("- ", note);
  }
  if (!page.commands.empty()) {
    writer.gap();
    writer.title("Commands", '-');
    for (const std::string& command : page.commands) writer.verbatim(command);
  }
  return std::move(writer).finish();
}

}  // namespace muster
