#pragma once

// Shorthand for the columns of a table: Table table({right("ID"), left("NAME")}).

#include <string>
#include <utility>

#include "base/terminal/table.h"

namespace muster {

inline Column left(std::string header) { return {std::move(header), Align::kLeft}; }
inline Column right(std::string header) { return {std::move(header), Align::kRight}; }

}  // namespace muster
