#pragma once

// The style and the script of HTML pages, which the build makes from web/src/report (see
// Embed.cmake). For html.cc only.

#include <string_view>

namespace muster {

std::string_view page_style();
std::string_view page_script();

// The Content-Security-Policy that allows just these two, by their SHA-256.
std::string_view page_policy();

}  // namespace muster
