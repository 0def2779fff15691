#pragma once

// The dashboard's files, gzipped, which the build makes from web/ (see Embed.cmake). For dash.cc
// only.

#include <string_view>

namespace muster {

std::string_view dash_index_gz();
std::string_view dash_script_gz();
std::string_view dash_style_gz();
std::string_view dash_icon_gz();

}  // namespace muster
