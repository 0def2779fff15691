#pragma once

// Gzipped files of the dashboard, which the build creates from web/ (see Embed.cmake). Only for
// dash.cc.

#include <string_view>

namespace muster {

std::string_view dash_index_gz();
std::string_view dash_script_gz();
std::string_view dash_style_gz();
std::string_view dash_icon_gz();

}  // namespace muster
