#pragma once

// Finds the shared data (public traces, measured profiles), which is not part of the repository.
// Tests that need a missing file must be skipped visibly:
//
//   const auto path = data_file("philly_full.csv");
//   if (!path) GTEST_SKIP() << "philly_full.csv not found; set MUSTER_DATA";

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace muster {

// Searches $MUSTER_DATA if it is set, otherwise ../shared/data next to the source tree.
inline std::optional<std::string> data_file(std::string_view name) {
  namespace fs = std::filesystem;
  const char* const given = std::getenv("MUSTER_DATA");
  const fs::path folder =
      given != nullptr ? fs::path(given)
                       : fs::path(__FILE__).parent_path().parent_path() / ".." / "shared" / "data";
  std::error_code status;
  const fs::path path = folder / name;
  if (!fs::is_regular_file(path, status)) return std::nullopt;
  return path.string();
}

}  // namespace muster
