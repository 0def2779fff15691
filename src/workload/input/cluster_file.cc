#include "workload/input/cluster_file.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <filesystem>
#include <map>
#include <set>

#include "base/file/document.h"
#include "base/file/item_reader.h"
#include "engine/model/profile.h"
#include "workload/input/tenants_file.h"

namespace muster {

namespace {

constexpr std::array<std::string_view, 2> kTopKeys = {"servers", "tenants"};
constexpr std::array<std::string_view, 9> kGroupKeys = {
    "name", "count", "gpus", "gpu", "cpus", "mem_gb", "storage_mbps", "racks", "rack"};
constexpr Bounds kAmount = {0.001, 1e6};
constexpr std::size_t kMaxGroups = 10'000;

class ClusterReader {
 public:
  explicit ClusterReader(const std::string& file) : file_(file), reader_(file) {}

  Result<ClusterFile> read(const Item& root) {
    reader_.allow_keys(root, kTopKeys);
    const Item& groups = reader_.list(root, "servers");
    if (groups.items.size() > kMaxGroups) {
      reader_.refuse(groups, fmt::format("more than {} groups", kMaxGroups));
    }
    for (const Item& group : groups.items) {
      if (!reader_.failed()) read_group(group);
    }
    if (reader_.failed()) return reader_.error();
    return with_tenants(root.find("tenants"));
  }

 private:
  void read_group(const Item& group);
  Result<ClusterFile> with_tenants(const Item* section);
  std::string new_rack();

  std::string file_;
  ItemReader reader_;
  Topology topology_;
  std::map<std::string, std::int64_t> next_number_;  // By the prefix of node names.
  std::set<std::string> names_;
  std::set<std::string> racks_;
  std::int64_t next_rack_ = 0;
};

std::string ClusterReader::new_rack() {
  while (true) {
    std::string name = fmt::format("r{}", next_rack_++);
    if (racks_.insert(name).second) return name;
  }
}

void ClusterReader::read_group(const Item& group) {
  reader_.allow_keys(group, kGroupKeys);
  const std::string prefix = reader_.name_or(group, "name", "s");
  const std::int64_t count = reader_.whole_or(group, "count", {1, kMaxNodes}, 1);
  const std::int64_t gpus = reader_.whole(reader_.member(group, "gpus"), {1, kMaxGpusPerNode});
  const std::string gpu_type = reader_.name_or(group, "gpu", "gpu");
  // Default resources: the reference share per GPU, as in the shorthand.
  const Resources usual = kReferenceShare * static_cast<std::int32_t>(gpus);
  const auto amount = [&](std::string_view key, std::int64_t unit,
                          std::int64_t fallback) -> std::int64_t {
    if (group.find(key) == nullptr) return fallback;
    return std::llround(reader_.number_or(group, key, kAmount, 0) * static_cast<double>(unit));
  };
  const Resources capacity = {
      static_cast<std::int32_t>(gpus), amount("cpus", 1000, usual.cpu_milli),
      amount("mem_gb", 1024, usual.mem_mib), amount("storage_mbps", 1000, usual.storage_kbps)};
  const std::int64_t racks = reader_.whole_or(group, "racks", {1, static_cast<double>(count)}, 1);
  const Item* shared_rack = group.find("rack");
  std::string rack = shared_rack == nullptr ? "" : reader_.name(*shared_rack);
  if (shared_rack != nullptr && group.find("racks") != nullptr) {
    reader_.refuse(group, "'rack' and 'racks' cannot be combined; use one of them");
  }
  if (shared_rack != nullptr) racks_.insert(rack);
  std::int64_t racks_made = 0;
  for (std::int64_t i = 0; i < count && !reader_.failed(); ++i) {
    if (shared_rack == nullptr && i * racks / count == racks_made) {
      rack = new_rack();
      ++racks_made;
    }
    const std::string name = fmt::format("{}{}", prefix, next_number_[prefix]++);
    if (!names_.insert(name).second) {
      reader_.refuse(group, fmt::format("node named twice: '{}'", name));
    }
    if (const MaybeError refusal = topology_.add_node(name, rack, gpu_type, capacity)) {
      reader_.refuse(group, refusal->message);
    }
  }
}

Result<ClusterFile> ClusterReader::with_tenants(const Item* section) {
  if (section == nullptr) return ClusterFile{std::move(topology_), std::nullopt};
  Result<TenantTree> tenants = read_tenants_section(*section, file_);
  if (!tenants.ok()) return tenants.error();
  if (const MaybeError refusal = tenants.value().check(topology_.total().gpus)) return *refusal;
  return ClusterFile{std::move(topology_), std::move(tenants).value()};
}

Result<Topology> topology_of(Result<ClusterFile> file) {
  if (!file.ok()) return file.error();
  return std::move(file).value().topology;
}

}  // namespace

Result<ClusterFile> read_cluster_file(const std::string& spec) {
  std::error_code status;
  const bool path_like = spec.find('/') != std::string::npos || spec.ends_with(".yaml") ||
                         spec.ends_with(".yml") || spec.ends_with(".json");
  if (!path_like && !std::filesystem::exists(spec, status)) {
    Result<Topology> topology = parse_cluster_shorthand(spec);
    if (!topology.ok()) return topology.error();
    return ClusterFile{std::move(topology).value(), std::nullopt};
  }
  const Result<Item> root = read_document(spec);
  if (!root.ok()) return root.error();
  return ClusterReader(shown_path(spec)).read(root.value());
}

Result<ClusterFile> parse_cluster_file(std::string_view text, const std::string& name) {
  const Result<Item> root = parse_document(text, name);
  if (!root.ok()) return root.error();
  return ClusterReader(name).read(root.value());
}

Result<Topology> read_cluster(const std::string& spec) {
  return topology_of(read_cluster_file(spec));
}

Result<Topology> parse_cluster(std::string_view text, const std::string& name) {
  return topology_of(parse_cluster_file(text, name));
}

}  // namespace muster
