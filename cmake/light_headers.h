#pragma once

// The headers of libraries that most files of light folders and tests include, for the precompiled
// header of a build from nothing (MUSTER_FROM_NOTHING). A file still includes what it uses: other
// builds do not have this one.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
#include <set>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <variant>
#include <vector>

// Compiled once, in light_headers.cc.
extern template class nlohmann::basic_json<>;
