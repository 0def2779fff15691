#pragma once

// Writes a page for the dashboard: like page_json.h, but on one line, with all keys always present,
// and without Gantt charts, which the dashboard shows elsewhere.

#include <string>
#include <string_view>

#include "base/types/result.h"
#include "study/page/page.h"

namespace muster {

std::string browser_page(const Page& page);

// Converts the output of page_json(). Rejects any other text, with a one-line error without file
// name.
Result<std::string> browser_page(std::string_view page_json);

}  // namespace muster
