#pragma once

// The style and the script of an HTML page, as the build found them in page.css and the .js files
// of this folder (see embed.cmake). html.h puts them into the page.

#include <string_view>
#include <vector>

namespace muster {

// In pieces, to be written one after the other.
const std::vector<std::string_view>& page_style();
const std::vector<std::string_view>& page_script();

// Of the whole text, in hexadecimal digits.
std::string_view page_style_sha256();
std::string_view page_script_sha256();

}  // namespace muster
