#include "study/page/page_html.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string_view>
#include <vector>

#include "study/page/cells.h"
#include "study/page/embedded.h"
#include "study/page/escape.h"
#include "study/page/html_data.h"

namespace muster {

namespace {

constexpr std::size_t kManyColumns = 9;  // More than this do not fit on a sheet of paper.

// Ids of the page itself begin with an underscore, which no key contains.
constexpr std::string_view kNotes = "_notes";
constexpr std::string_view kCommands = "_commands";

class Writer {
 public:
  std::string write(const Page& page) && {
    head(page);
    contents(page);
    put("<main id=\"_main\">\n");
    for (const Section& each : page.sections) section(each);
    remarks(page);
    put("</main>\n</div>\n<div id=\"_tip\"></div>\n");
    put("<script type=\"application/json\" id=\"_data\">{}</script>\n", html_data(page));
    put("<script>{}</script>\n</body>\n</html>\n", page_script());
    return std::move(out_);
  }

 private:
  template <class... Args>
  void put(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<Args>(args)...);
  }

  void list(std::string_view kind, const std::vector<std::string>& texts) {
    if (texts.empty()) return;
    put("<ul class=\"{}\">\n", kind);
    for (const std::string& text : texts) put("<li>{}</li>\n", markup_escaped(text));
    put("</ul>\n");
  }

  void head(const Page& page) {
    const std::string title = markup_escaped(page.title);
    put("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    put("<meta http-equiv=\"Content-Security-Policy\" content=\"{}\">\n", page_policy());
    put("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
    put("<title>{}</title>\n<style>{}</style>\n</head>\n<body>\n", title, page_style());
    put("<a class=\"skip\" href=\"#_main\">Skip to the findings</a>\n");
    put("<header class=\"top\">\n<div>\n<h1>{}</h1>\n", title);
    list("facts", page.facts);
    put("</div>\n<button type=\"button\" class=\"button\" id=\"_theme\">Theme</button>\n"
        "</header>\n");
    put("<noscript><p class=\"missing\">The plots need JavaScript; findings and tables are "
        "complete without it.</p></noscript>\n");
  }

  void contents(const Page& page) {
    put("<div class=\"frame\">\n<nav class=\"toc\" aria-label=\"Contents\">\n<ol>\n");
    const auto entry = [&](std::string_view id, std::string_view title) {
      put("<li><a href=\"#{}\">{}</a></li>\n", id, markup_escaped(title));
    };
    for (const Section& each : page.sections) entry(each.key, each.title);
    if (!page.notes.empty()) entry(kNotes, "Notes");
    if (!page.commands.empty()) entry(kCommands, "Commands");
    put("</ol>\n</nav>\n");
  }

  void begin_card(std::string_view id, std::string_view title) {
    put("<section class=\"card\" id=\"{0}\" aria-labelledby=\"_h-{0}\">\n<h2 id=\"_h-{0}\">{1}"
        "</h2>\n",
        id, markup_escaped(title));
  }

  void section(const Section& section) {
    begin_card(section.key, section.title);
    list("findings", section.findings);
    if (!section.missing.empty()) {
      put("<p class=\"missing\">Missing in the input: {}</p>\n", markup_escaped(section.missing));
    }
    plots(section);
    for (const Gantt& each : section.gantts) {
      begin_figure("gantt", each.key, each.title);
      end_figure(each.thinned);
    }
    for (const PageTable& each : section.tables) table(each);
    put("</section>\n");
  }

  void begin_figure(std::string_view kind, std::string_view key, std::string_view title) {
    put("<figure class=\"{}\">\n<figcaption><span class=\"name\">{}</span>", kind,
        markup_escaped(title));
    save_button(key);
    put("</figcaption>\n<div class=\"draw\"></div>\n");  // The script draws there.
  }

  void end_figure(std::string_view thinned) {
    if (!thinned.empty()) put("<p class=\"thinned\">{}</p>\n", markup_escaped(thinned));
    put("</figure>\n");
  }

  void save_button(std::string_view key) {
    put("<button type=\"button\" class=\"button small save\" data-key=\"{0}\" title="
        "\"Save as {0}.csv\">CSV</button>",
        key);
  }

  // Two narrow plots share a row. Plots over time or with many bars get a full row. So does the
  // last narrow plot if it has no neighbor.
  void plots(const Section& section) {
    if (section.plots.empty()) return;
    constexpr std::size_t kManyBars = 24;
    const auto wants_width = [&](const Plot& plot) {
      const std::size_t bars = plot.categories.size() * plot.series.size();
      return plot.scale == Plot::Scale::kTime || bars > kManyBars;
    };
    const auto wide = std::count_if(section.plots.begin(), section.plots.end(), wants_width);
    auto narrow = static_cast<std::ptrdiff_t>(section.plots.size()) - wide;
    const bool odd = narrow % 2 == 1;
    put("<div class=\"plots\">\n");
    for (const Plot& each : section.plots) {
      const bool alone = !wants_width(each) && --narrow == 0 && odd;
      begin_figure(wants_width(each) || alone ? "plot wide" : "plot", each.key, each.title);
      end_figure(each.thinned);
    }
    put("</div>\n");
  }

  void table(const PageTable& table) {
    put("<div class=\"table\">\n<div class=\"caption\"><h3>{}</h3>", markup_escaped(table.title));
    save_button(table.key);
    put("</div>\n<div class=\"box\" tabindex=\"0\" role=\"region\" aria-label=\"{}\"><table{}>\n"
        "<thead><tr>",
        markup_escaped(table.title.empty() ? table.key : table.title),
        table.columns.size() > kManyColumns ? " class=\"wide\"" : "");
    std::vector<bool> numeric;
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
      numeric.push_back(is_numeric(table, i));
      put("<th scope=\"col\"{}><button type=\"button\">{}</button></th>",
          numeric[i] ? " class=\"num\"" : "", markup_escaped(table.columns[i]));
    }
    put("</tr></thead>\n<tbody>\n");
    for (const auto& row : table.rows) {
      put("<tr>");
      for (std::size_t i = 0; i < row.size(); ++i) cell(row[i], numeric[i]);
      put("</tr>\n");
    }
    put("</tbody>\n</table></div>\n</div>\n");
  }

  // The human-readable text, and all digits for the script.
  void cell(const Cell& cell, bool numeric) {
    out_ += numeric ? "<td class=\"num\"" : "<td";
    const auto text = cell_text(cell);
    if (!text) {
      put(" data-v=\"\"><span class=\"none\">\u2013</span></td>");
      return;
    }
    if (const auto* integer = std::get_if<std::int64_t>(&cell)) put(" data-v=\"{}\"", *integer);
    if (const auto* number = std::get_if<Number>(&cell)) put(" data-v=\"{}\"", number->value);
    put(">{}</td>", markup_escaped(*text));
  }

  void remarks(const Page& page) {
    if (!page.notes.empty()) {
      begin_card(kNotes, "Notes");
      list("notes", page.notes);
      put("</section>\n");
    }
    if (!page.commands.empty()) {
      begin_card(kCommands, "Commands");
      put("<div class=\"commands\"><pre><code>");
      for (const std::string& command : page.commands) put("{}\n", markup_escaped(command));
      put("</code></pre><button type=\"button\" class=\"button small copy\">Copy</button>"
          "</div>\n</section>\n");
    }
  }

  std::string out_;
};

}  // namespace

std::string page_html(const Page& page) {
  check_page(page);
  return Writer().write(page);
}

}  // namespace muster
