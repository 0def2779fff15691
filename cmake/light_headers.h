#pragma once

// Precompiled library headers for LIGHT folders and tests (MUSTER_FROM_NOTHING). Each file must
// still include the headers that it uses, because other builds do not precompile headers.

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

// Instantiated once, in light_headers.cc.
extern template class nlohmann::basic_json<>;
