#include "cli/common/trace_inputs.h"

#include <array>
#include <filesystem>
#include <optional>
#include <ostream>
#include <system_error>
#include <utility>

#include "base/file/text_file.h"
#include "base/text/text.h"
#include "workload/history/trace_history.h"
#include "workload/input/node_list.h"
#include "workload/input/throughputs_file.h"
#include "workload/philly/philly_log.h"
#include "workload/trace/reader.h"

namespace muster {

namespace {

constexpr std::string_view kLogFormat = "philly-log";
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

}  // namespace

void TraceOptions::add_to(Command command) {
  command.add_option("--format", format,
                     "trace format (default: detected; 'muster trace formats' lists all)");
  command.add_option("--throughputs", throughputs,
                     "file of steps per second, for a trace that has steps but no run times");
}

bool is_log(const std::string& path, const TraceOptions& options) {
  if (!options.format.empty()) return options.format == kLogFormat;
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return false;  // A pipe is read only once.
  Result<ReadableFile> file = ReadableFile::open(path);
  if (!file.ok()) return false;
  std::array<char, 64> head = {};
  const Result<std::size_t> got = file.value().read(head.data(), head.size());
  if (!got.ok()) return false;
  std::string_view text(head.data(), got.value());
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  text = trim(text);
  return text.starts_with('[') || text.starts_with('{');
}

Result<Trace> load_trace(const std::string& path, const TraceOptions& options,
                         const ProfileTable& profiles) {
  if (is_log(path, options)) {
    const Result<History> history = read_philly_log(path);
    if (!history.ok()) return history.error();
    Trace trace = to_trace(history.value());
    if (trace.jobs.empty()) return Error{path + ": no job in this log ran on GPUs"};
    return trace;
  }
  std::optional<ThroughputTable> throughputs;
  if (!options.throughputs.empty()) {
    Result<ThroughputTable> read = read_throughputs(options.throughputs);
    if (!read.ok()) return read.error();
    throughputs = std::move(read).value();
  }
  return read_trace(path, options.format, profiles, throughputs ? &*throughputs : nullptr);
}

Result<ClusterFile> load_cluster(const std::string& spec, std::ostream& notes) {
  if (!spec.ends_with(".csv")) return read_cluster_file(spec);
  Result<NodeList> list = read_node_list(spec);
  if (!list.ok()) return list.error();
  for (const std::string& note : list.value().notes) notes << "note: " << note << '\n';
  return ClusterFile{std::move(list.value().topology), std::nullopt};
}

}  // namespace muster
