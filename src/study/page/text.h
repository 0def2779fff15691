#pragma once

// A page for a terminal: what was found, what the input does not tell, and the tables. Plots and
// Gantt charts are not drawn; a section that has them has their numbers in its tables.

#include <string>

#include "base/terminal/terminal.h"
#include "study/page/page.h"

namespace muster {

// Sentences are wrapped to `width` columns; tables and commands are as wide as they need. Every
// text is made safe to print (see printable()); lines end without blanks.
std::string page_text(const Page& page, int width, Ink ink);

}  // namespace muster
