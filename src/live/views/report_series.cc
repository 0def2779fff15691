#include "live/views/report_series.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/os/files.h"
#include "exec/lease/progress_cap.h"
#include "exec/machine/progress_file.h"

namespace muster {

namespace {

using nlohmann::json;

constexpr std::int64_t kReadWhole = 256 << 10;  // Files up to this size are read completely.
constexpr std::int64_t kPiece = 4 << 10;        // Bytes read at each point of a longer file.
constexpr std::size_t kMaxFiles = 50;
// Maximum size of a file; the reported size is untrusted.
constexpr std::int64_t kMaxBytes = 1LL << 40;

struct Open {
  Fd file;
  std::int64_t size = 0;
  std::int64_t removed = 0;  // Bytes before the start of the file: see progress_cap.h.
  double begun = 0;
  double last = 0;  // Time of its last write, within the lease.
};

struct Columns {
  json at = json::array();
  json step = json::array();
  json loss = json::array();
  json rate = json::array();
};

std::optional<Open> open_reports(const ReportFile& which) {
  Open open{Fd(::open(which.path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK))};
  struct stat facts {};
  if (!open.file.open() || ::fstat(open.file.get(), &facts) != 0 || !S_ISREG(facts.st_mode) ||
      facts.st_size == 0) {
    return std::nullopt;
  }
  open.size = std::min<std::int64_t>(facts.st_size, kMaxBytes);
  open.removed = progress_removed(open.file.get()).value_or(0);
  open.begun = which.begun;
  open.last =
      static_cast<double>(facts.st_mtim.tv_sec) + static_cast<double>(facts.st_mtim.tv_nsec) / 1e9;
  if (which.ended) open.last = std::min(open.last, *which.ended);
  open.last = std::max(open.last, open.begun);
  return open;
}

std::string read_at(const Open& open, std::int64_t from, std::int64_t bytes) {
  std::string text(static_cast<std::size_t>(std::min(bytes, open.size - from)), '\0');
  const ssize_t got = ::pread(open.file.get(), text.data(), text.size(), from);
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return text;
}

// Returns false if the line has no values to draw.
bool add_line(const Open& open, std::string_view line, std::int64_t end, Columns& into) {
  const json said = progress_object(line);
  if (!said.is_object()) return false;
  const auto step = number_in(said, "step");
  const auto loss = number_in(said, "loss");
  const auto rate = number_in(said, "rate");
  if (!step && !loss && !rate) return false;
  const double part =
      static_cast<double>(open.removed + end) / static_cast<double>(open.removed + open.size);
  into.at.push_back(open.begun + (open.last - open.begun) * std::min(part, 1.0));
  into.step.push_back(step ? json(*step) : json());
  into.loss.push_back(loss ? json(*loss) : json());
  into.rate.push_back(rate ? json(*rate) : json());
  return true;
}

void add_short(const Open& open, std::size_t most, Columns& into) {
  const std::string text = read_at(open, 0, kReadWhole);
  std::vector<std::size_t> ends;  // Ends of lines.
  for (std::size_t at = text.find('\n'); at != text.npos; at = text.find('\n', at + 1)) {
    ends.push_back(at);
  }
  const std::size_t count = std::min(most, ends.size());
  for (std::size_t i = 0; i < count; ++i) {
    // Always the last line, and also the first if count > 1.
    const std::size_t which = count == 1 ? ends.size() - 1 : i * (ends.size() - 1) / (count - 1);
    const std::size_t begin = which == 0 ? 0 : ends[which - 1] + 1;
    add_line(open, std::string_view(text).substr(begin, ends[which] - begin),
             static_cast<std::int64_t>(ends[which]) + 1, into);
  }
}

// Reads `most` places of the file and takes the first complete, useful line at each.
void add_long(const Open& open, std::size_t most, Columns& into) {
  for (std::size_t i = 0; i < most; ++i) {
    const std::int64_t from = (open.size - kPiece) * static_cast<std::int64_t>(i) /
                              static_cast<std::int64_t>(std::max<std::size_t>(most - 1, 1));
    const std::string text = read_at(open, from, kPiece);
    std::size_t begin = from == 0 ? 0 : text.find('\n') + 1;
    for (std::size_t end = text.find('\n', begin); end != text.npos; end = text.find('\n', begin)) {
      const std::string_view line = std::string_view(text).substr(begin, end - begin);
      begin = end + 1;
      if (add_line(open, line, from + static_cast<std::int64_t>(begin), into)) break;
    }
  }
}

}  // namespace

json report_series(std::span<const ReportFile> files, std::size_t most) {
  std::vector<Open> opened;
  std::int64_t total = 0;
  if (files.size() > kMaxFiles) files = files.last(kMaxFiles);
  for (const ReportFile& each : files) {
    auto open = open_reports(each);
    if (!open) continue;
    total += open->size;
    opened.push_back(std::move(*open));
  }
  Columns columns;
  // Every file gets one point in any case.
  const std::size_t rest = most - std::min(most, opened.size());
  for (const Open& open : opened) {
    const double part = static_cast<double>(open.size) / static_cast<double>(total);
    const std::size_t share = 1 + static_cast<std::size_t>(part * static_cast<double>(rest));
    open.size <= kReadWhole ? add_short(open, share, columns) : add_long(open, share, columns);
  }
  return {{"at", std::move(columns.at)},
          {"step", std::move(columns.step)},
          {"loss", std::move(columns.loss)},
          {"rate", std::move(columns.rate)}};
}

}  // namespace muster
