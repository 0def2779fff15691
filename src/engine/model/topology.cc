#include "engine/model/topology.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/text/text.h"

namespace muster {

namespace {

constexpr std::array<std::string_view, 5> kKeys = {"cpus", "mem", "storage", "racks", "gpu"};
constexpr double kMinAmount = 0.001;  // Smaller amounts would round to zero.
constexpr double kMaxAmount = 1e9;

}  // namespace

MaybeError Topology::add_node(std::string name, std::string_view rack, std::string_view gpu_type,
                              Resources capacity) {
  if (capacity.gpus < 1 || capacity.gpus > kMaxGpusPerNode) {
    return Error{
        fmt::format("gpus: {} per node; must be between 1 and {}", capacity.gpus, kMaxGpusPerNode)};
  }
  if (capacity.cpu_milli < 0 || capacity.mem_mib < 0 || capacity.storage_kbps < 0) {
    return Error{"negative amount of CPUs, memory or storage bandwidth"};
  }
  if (capacity.cpu_milli < capacity.gpus || capacity.mem_mib < capacity.gpus) {
    return Error{"less than 0.001 CPUs or 1 MiB of memory per GPU"};
  }
  if (nodes_.size() == kMaxNodes) return Error{fmt::format("more than {} nodes", kMaxNodes)};
  const auto type_at = std::find(gpu_types_.begin(), gpu_types_.end(), gpu_type);
  const auto type = GpuTypeId(static_cast<std::size_t>(type_at - gpu_types_.begin()));
  if (type_at == gpu_types_.end()) gpu_types_.push_back(std::string(gpu_type));
  auto rack_at = rack_ids_.find(rack);
  if (rack_at == rack_ids_.end()) {
    const RackId added = racks_.push_back(std::string(rack));
    rack_at = rack_ids_.emplace(std::string(rack), added).first;
  }
  const RackId rack_id = rack_at->second;
  if (!nodes_.empty()) {
    const Node& first = nodes_[NodeId(0)];
    uniform_ = uniform_ && first.capacity == capacity && first.gpu_type == type;
  }
  gpus_of_type_.resize(gpu_types_.size());
  gpus_of_type_[type] += capacity.gpus;
  total_ += capacity;
  largest_node_gpus_ = std::max(largest_node_gpus_, capacity.gpus);
  nodes_.push_back({std::move(name), rack_id, type, capacity});
  return std::nullopt;
}

namespace {

// Parsed value of `--cluster NODESxGPUS,KEY=VALUE,...`. All amounts are per node.
struct Shorthand {
  std::int64_t nodes = 0;
  std::int64_t gpus = 0;
  double cpus = 0;
  double mem = 0;      // GiB.
  double storage = 0;  // MB per second.
  std::int64_t racks = 1;
  std::string_view gpu_type = "gpu";
};

Result<Shorthand> read_size(std::string_view part) {
  const std::size_t cross = part.find('x');
  const bool begins_with_number = part.find_first_of("0123456789") == 0;
  if (cross == std::string_view::npos || !begins_with_number) {
    return Error{"not a file, and not NODESxGPUS such as 16x8 or 16x8,cpus=24,mem=500,racks=2"};
  }
  const Result<std::int64_t> nodes = parse_int(part.substr(0, cross));
  const Result<std::int64_t> gpus = parse_int(part.substr(cross + 1));
  if (!nodes.ok()) return Error{"nodes: " + nodes.error().message};
  if (!gpus.ok()) return Error{"GPUs per node: " + gpus.error().message};
  if (nodes.value() < 1 || nodes.value() > kMaxNodes) {
    return Error{fmt::format("nodes: {} is not between 1 and {}", nodes.value(), kMaxNodes)};
  }
  if (gpus.value() < 1 || gpus.value() > kMaxGpusPerNode) {
    return Error{
        fmt::format("GPUs per node: {} is not between 1 and {}", gpus.value(), kMaxGpusPerNode)};
  }
  const auto gpus_per_node = static_cast<double>(gpus.value());
  Shorthand size;
  size.nodes = nodes.value();
  size.gpus = gpus.value();
  size.cpus = 3.0 * gpus_per_node;
  size.mem = size.storage = 62.5 * gpus_per_node;
  return size;
}

MaybeError read_value(std::string_view key, std::string_view value, Shorthand& cluster) {
  if (key == "gpu") {
    if (value.empty()) return Error{"gpu: empty name"};
    cluster.gpu_type = value;
    return std::nullopt;
  }
  if (key == "racks") {
    const Result<std::int64_t> count = parse_int(value);
    if (!count.ok()) return Error{"racks: " + count.error().message};
    cluster.racks = count.value();
    if (cluster.racks >= 1 && cluster.racks <= cluster.nodes) return std::nullopt;
    return Error{fmt::format("racks: {} is not between 1 and the number of nodes, {}",
                             cluster.racks, cluster.nodes)};
  }
  const Result<double> amount = parse_number(value);
  if (!amount.ok()) return Error{fmt::format("{}: {}", key, amount.error().message)};
  if (amount.value() < kMinAmount || amount.value() > kMaxAmount) {
    return Error{
        fmt::format("{}: {} is not between {} and {:.0f}", key, value, kMinAmount, kMaxAmount)};
  }
  (key == "cpus" ? cluster.cpus : key == "mem" ? cluster.mem : cluster.storage) = amount.value();
  return std::nullopt;
}

Result<Shorthand> read_shorthand(std::string_view text) {
  const std::vector<std::string_view> parts = split(text, ',');
  Result<Shorthand> cluster = read_size(parts[0]);
  if (!cluster.ok()) return cluster;
  for (std::size_t i = 1; i < parts.size(); ++i) {
    const std::size_t equals = parts[i].find('=');
    const std::string_view key = parts[i].substr(0, equals);
    if (std::find(kKeys.begin(), kKeys.end(), key) == kKeys.end()) {
      return Error{"unknown key " + in_quotes(key) + suggestion(key, kKeys)};
    }
    if (equals == std::string_view::npos) {
      return Error{std::string(key) + ": no value; write KEY=VALUE"};
    }
    for (std::size_t j = 1; j < i; ++j) {
      if (parts[j].substr(0, parts[j].find('=')) == key) {
        return Error{fmt::format("{}: given twice", key)};
      }
    }
    MaybeError refusal = read_value(key, parts[i].substr(equals + 1), cluster.value());
    if (refusal) return std::move(*refusal);
  }
  return cluster;
}

}  // namespace

Result<Topology> parse_cluster_shorthand(std::string_view text) {
  const auto fail = [&](const Error& why) {
    return Error{fmt::format("--cluster {}: {}", in_quotes(text), why.message)};
  };
  const Result<Shorthand> read = read_shorthand(text);
  if (!read.ok()) return fail(read.error());
  const Shorthand& cluster = read.value();
  const Resources capacity = {static_cast<std::int32_t>(cluster.gpus),
                              std::llround(cluster.cpus * 1000), std::llround(cluster.mem * 1024),
                              std::llround(cluster.storage * 1000)};
  Topology topology;
  for (std::int64_t i = 0; i < cluster.nodes; ++i) {
    const std::int64_t rack = i * cluster.racks / cluster.nodes;
    const MaybeError refusal = topology.add_node(fmt::format("s{}", i), fmt::format("r{}", rack),
                                                 cluster.gpu_type, capacity);
    if (refusal) return fail(*refusal);
  }
  return topology;
}

}  // namespace muster
