#pragma once

// From paths that somebody named to what a Viewer shows.

#include <cstdint>
#include <string>
#include <vector>

#include "base/types/result.h"
#include "study/compare/viewer.h"

namespace muster {

enum class ViewKind : std::uint8_t {
  kRun,    // A directory of `muster sim --out`.
  kSweep,  // A directory of `muster sweep --out`.
  kPage,   // What `muster analyze --json` printed, or the directory of its --out.
  kOther,  // A file or directory that is none of these: a trace, a log, a manager's home.
};

struct FoundView {
  ViewKind kind = ViewKind::kOther;
  std::string path;
};

// A directory of several runs, sweeps or pages is all of them, by their names. Refuses a path
// where nothing is.
Result<std::vector<FoundView>> find_views(const std::vector<std::string>& paths);

// Anything but kOther. The error names the file.
Refusal open_view(const FoundView& found, Viewer& viewer);

// What it is called: the last part of its path, or all of it where that name is taken.
std::string view_name(const std::string& path, const Viewer& viewer);

}  // namespace muster
