#pragma once

// A document already read, as plain lines that are read back without a YAML parser. For what is
// built into the program: reading the zoo's YAML anew took half of every start.
//
//   one item a line, children after their parent:  kind line children<TAB>key<TAB>text

#include <string>
#include <string_view>

#include "base/file/document.h"

namespace muster {

// The build calls this, through embed_main.cc.
std::string to_lines(const Item& root);

// Only for what to_lines() wrote: it CHECKs instead of explaining.
Item from_lines(std::string_view lines);

}  // namespace muster
