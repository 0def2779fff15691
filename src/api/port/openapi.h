#pragma once

// The description of the API, openapi.json of this folder, as the build found it.

#include <string_view>

namespace muster {

std::string_view openapi_json();

}  // namespace muster
