#pragma once

// The data of the drawings in an HTML page, in compact form. web/src/report/data.ts reads it. Only
// page_html.cc uses it.

#include <string>

#include "study/page/page.h"

namespace muster {

// JSON on one line, {"plots": [...], "gantts": [...]}, in page order. Contains no "<", so it is
// safe in a script element.
std::string html_data(const Page& page);

}  // namespace muster
