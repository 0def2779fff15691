#pragma once

// Writes a page for a terminal: the findings, the missing data and the tables. Plots and Gantt
// charts are omitted; the tables of their sections contain the numbers.

#include <string>

#include "base/terminal/terminal.h"
#include "study/page/page.h"

namespace muster {

// Sentences are wrapped to `width` columns; tables and commands are not wrapped. All text is made
// safe to print (see printable()). Lines have no trailing spaces.
std::string page_text(const Page& page, int width, ColorMode colors);

}  // namespace muster
