#pragma once

// A page as the dashboard draws it: like json.h's, with every key always there, on one line, and
// without the charts of GPUs, for which it has a screen of its own.

#include <string>
#include <string_view>

#include "base/types/result.h"
#include "study/page/page.h"

namespace muster {

std::string browser_page(const Page& page);

// The same of what page_json() wrote. Refuses anything else, in one line without the file's name.
Result<std::string> browser_page(std::string_view page_json);

}  // namespace muster
