#pragma once

// Returns the text of openapi.json, which the build embeds in the program.

#include <string_view>

namespace muster {

std::string_view openapi_json();

}  // namespace muster
