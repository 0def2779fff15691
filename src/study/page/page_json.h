#pragma once

// Writes a page as machine-readable JSON, with all digits.

#include <string>

#include "study/page/page.h"

namespace muster {

// One indented object, ending in a newline. Keys have a fixed order, so the same page gives the
// same bytes. Cells keep their types. Empty cells, NaN and infinity are null. Invalid UTF-8 becomes
// U+FFFD.
std::string page_json(const Page& page);

}  // namespace muster
