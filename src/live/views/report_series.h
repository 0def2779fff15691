#pragma once

// The progress reports of a job over its lifetime, thinned for a chart. Read from the progress
// files of its leases that still exist. Jobs write these files, so no content is trusted, and only
// a bounded part is read.

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace muster {

struct ReportFile {
  std::string path;
  double begun = 0;             // Start of its lease, in seconds since 1970.
  std::optional<double> ended;  // None: it is running.
};

inline constexpr std::size_t kMaxReports = 400;

// {"at": [...], "step": [...], "loss": [...], "rate": [...]}, in the order of the files. Times in
// the files are untrusted. So the time of a line is interpolated by its position in the file,
// between the start of the lease and the last write.
nlohmann::json report_series(std::span<const ReportFile> files, std::size_t most = kMaxReports);

}  // namespace muster
