#pragma once

// What a job has reported over its life, thinned for a drawing: from the progress files of its
// leases, as far as they are still kept. They are the jobs' own, so nothing in them is trusted, and
// however long they are, only a bounded part is read.

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace muster {

struct ReportFile {
  std::string path;
  double begun = 0;             // Of its lease, in seconds since 1970.
  std::optional<double> ended;  // None: it runs.
};

inline constexpr std::size_t kMostReports = 400;

// {"at": [...], "step": [...], "loss": [...], "rate": [...]}, in the order of the files. When a
// line was written nobody knows whose clock can be trusted: it is reckoned by its place in the file
// between the lease's beginning and the last write.
nlohmann::json report_series(std::span<const ReportFile> files, std::size_t most = kMostReports);

}  // namespace muster
