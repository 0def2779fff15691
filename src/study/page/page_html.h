#pragma once

// Writes a page for a browser: one standalone file. Its policy forbids all requests and allows only
// its own style and script, by their hashes. Texts and tables work without the script. The script
// draws plots and Gantt charts, sorts tables and saves CSV.

#include <string>

#include "study/page/page.h"

namespace muster {

// The same page gives the same bytes. Texts are escaped (see printable()) and never become markup
// or script. Numbers of plots and Gantt charts are rounded to seven digits, times to nine.
std::string page_html(const Page& page);

}  // namespace muster
