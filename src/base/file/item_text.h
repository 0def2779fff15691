#pragma once

// Serializes a parsed document as plain lines that can be read without a YAML parser. Used for data
// built into the program: parsing the YAML of the zoo took half of the startup time.
//
//   one item per line, children after their parent:  kind line children<TAB>key<TAB>text

#include <string>
#include <string_view>

#include "base/file/document.h"

namespace muster {

// Called at build time, by embed_main.cc.
std::string to_lines(const Item& root);

// Reads the output of to_lines(). Aborts (MUSTER_CHECK) on any other input.
Item from_lines(std::string_view lines);

}  // namespace muster
