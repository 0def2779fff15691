#pragma once

// What the script of an HTML page draws from, in few bytes. For html.cc only.

#include <string>

#include "page/page.h"

namespace muster {

// JSON in one line, {"plots": [...], "gantts": [...]}, in the order of the page. No "<" is in it,
// so it can stand in a script element.
std::string html_data(const Page& page);

}  // namespace muster
