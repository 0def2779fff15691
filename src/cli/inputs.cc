#include "cli/inputs.h"

#include <optional>
#include <ostream>
#include <utility>

#include "trace/node_list.h"
#include "trace/reader.h"
#include "trace/throughputs_file.h"

namespace muster {

void TraceOptions::add_to(CLI::App& command) {
  command.add_option("--format", format, "its format (default: detected)");
  command.add_option("--throughputs", throughputs,
                     "steps a second, for a trace that gives steps but no run times");
}

Result<Trace> load_trace(const std::string& path, const TraceOptions& options,
                         const ProfileTable& profiles) {
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
