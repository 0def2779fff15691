#pragma once

// Finds and loads the files that `muster view` shows in a Viewer.

#include <cstdint>
#include <string>
#include <vector>

#include "base/types/result.h"
#include "study/compare/viewer.h"

namespace muster {

enum class ViewKind : std::uint8_t {
  kRun,    // A directory of `muster sim --out`.
  kSweep,  // A directory of `muster sweep --out`.
  kPage,   // Output of `muster analyze --json`, or the directory of its --out.
  kOther,  // Any other file or directory: a trace, a log, a state directory.
};

struct OpenedView {
  ViewKind kind = ViewKind::kOther;
  std::string path;
};

// A directory with several runs, sweeps or pages gives all of them, sorted by name. Returns an
// error if a path does not exist.
Result<std::vector<OpenedView>> find_views(const std::vector<std::string>& paths);

// Loads any kind except kOther. Errors name the file.
MaybeError open_view(const OpenedView& found, Viewer& viewer);

// Returns the display name: the last part of the path, or the whole path if that name is taken.
std::string view_name(const std::string& path, const Viewer& viewer);

}  // namespace muster
