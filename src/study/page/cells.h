#pragma once

// Table cells as human-readable text, the same in a terminal and in a browser.

#include <cstddef>
#include <optional>
#include <string>

#include "study/page/page.h"

namespace muster {

// Returns "82,247", "1,234.5" or the text, which the caller must still escape. Returns nullopt for
// an empty cell, NaN and infinity.
std::optional<std::string> cell_text(const Cell& cell);

// Returns true if the column has numbers and no text; such columns are right-aligned.
bool is_numeric(const PageTable& table, std::size_t column);

}  // namespace muster
