#pragma once

// Any text, made safe to stand in HTML, XML and SVG.

#include <string>
#include <string_view>

namespace muster {

// For between tags and in quoted attributes: as printable() makes it, and never taken for markup.
std::string markup_escaped(std::string_view text);

}  // namespace muster
