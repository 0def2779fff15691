#pragma once

// The data of the drawings in an HTML page, in few bytes; web/src/report/data.ts reads it. For
// html.cc only.

#include <string>

#include "study/page/page.h"

namespace muster {

// JSON in one line, {"plots": [...], "gantts": [...]}, in the order of the page. No "<" is in it,
// so it can stand in a script element.
std::string html_data(const Page& page);

}  // namespace muster
