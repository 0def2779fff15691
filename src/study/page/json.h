#pragma once

// A page for programs: everything on it, with all digits.

#include <string>

#include "study/page/page.h"

namespace muster {

// One object, indented, ending in a newline. Keys stand in a fixed order, so the same page gives
// the same bytes. Cells have their types, those of no value are null, as are NaN and infinity; bad
// UTF-8 becomes U+FFFD.
std::string page_json(const Page& page);

}  // namespace muster
