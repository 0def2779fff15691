#pragma once

// Escapes text for HTML, XML and SVG.

#include <string>
#include <string_view>

namespace muster {

// Safe between tags and in quoted attributes. Also applies printable().
std::string markup_escaped(std::string_view text);

}  // namespace muster
