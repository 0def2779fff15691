#pragma once

// The style and the script of HTML pages, which the build generates from web/src/report (see
// Embed.cmake). Only page_html.cc uses them.

#include <string_view>

namespace muster {

std::string_view page_style();
std::string_view page_script();

// The Content-Security-Policy that allows only these two, by their SHA-256.
std::string_view page_policy();

}  // namespace muster
