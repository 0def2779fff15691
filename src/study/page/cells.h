#pragma once

// Cells of a table as people read them, the same in a terminal and in a browser.

#include <cstddef>
#include <optional>
#include <string>

#include "study/page/page.h"

namespace muster {

// "82,247", "1,234.5", a text as it is (which is not yet safe to show). Nothing for an empty cell
// and for a number that is none (NaN, infinity).
std::optional<std::string> cell_text(const Cell& cell);

// Whether the column has numbers and no texts: it is then aligned to the right.
bool is_numeric(const PageTable& table, std::size_t column);

}  // namespace muster
