#pragma once

// A page for a browser: one file that stands on its own. It fetches nothing and may not: its policy
// allows only its own style and script, by their hashes. Words and tables are there without the
// script; the script draws plots and Gantt charts, sorts tables and saves CSV.

#include <string>

#include "study/page/page.h"

namespace muster {

// The same page gives the same bytes. Texts are shown as printable() makes them, whatever they
// hold: none of them is ever taken for markup or script. Numbers of plots and Gantt charts are
// rounded to seven figures, points in time to nine.
std::string page_html(const Page& page);

}  // namespace muster
