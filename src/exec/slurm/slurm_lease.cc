#include "exec/slurm/slurm_lease.h"

#include <algorithm>

#include "base/text/text.h"
#include "exec/lease/lease_directory.h"

namespace muster {

namespace {
constexpr std::string_view kMark = "muster:";
constexpr std::int64_t kUsualStop = 480'000'000;   // If the spec has no value.
constexpr std::int64_t kFenceMargin = 30'000'000;  // More than the margin of the last resort.
}  // namespace

std::string slurm_name(const LaunchSpec& first) {
  LaunchSpec whole = first;
  whole.node_rank = 0;
  return lease_name(whole);
}

std::string slurm_node(const LaunchSpec& spec) {
  const auto found = spec.env.find("MUSTER_NODE");
  return found == spec.env.end() ? "" : found->second;
}

std::int64_t fence_wait_us(const LaunchSpec& spec) {
  return (spec.stop_after_ms > 0 ? spec.stop_after_ms * 1000 : kUsualStop) + kFenceMargin;
}

std::string tag_of(std::string_view instance, const std::string& lease, int group) {
  return std::string(kMark) + std::string(instance) + ":" + lease + ":" + std::to_string(group);
}

std::optional<SlurmTag> read_tag(std::string_view instance, std::string_view comment) {
  if (!comment.starts_with(kMark)) return std::nullopt;
  const auto words = split(comment.substr(kMark.size()), ':');
  if (words.size() != 3 || words[0] != instance) return std::nullopt;
  const auto group = parse_int(words[2]);
  if (!is_lease_name(words[1]) || !group.ok() || group.value() < 0) return std::nullopt;
  return SlurmTag{std::string(words[1]), static_cast<int>(group.value())};
}

std::vector<SlurmGroup> groups_of(std::vector<SlurmPart>& parts) {
  std::vector<SlurmGroup> groups;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const LaunchSpec& spec = parts[i].spec;
    SlurmGroup group;
    group.cpus = std::max<std::int64_t>(1, spec.cpu_milli / 1000);
    group.mem_mib = spec.mem_mib;
    group.gpus = static_cast<std::int32_t>(spec.gpus.size());
    auto like = std::find_if(groups.begin(), groups.end(), [&](const SlurmGroup& other) {
      return other.cpus == group.cpus && other.mem_mib == group.mem_mib && other.gpus == group.gpus;
    });
    if (like == groups.end()) like = groups.insert(groups.end(), std::move(group));
    like->parts.push_back(i);
    like->nodes.push_back(parts[i].node);
    parts[i].group = static_cast<int>(like - groups.begin());
  }
  return groups;
}

const SlurmJob* live_row(const std::vector<SlurmJob>& rows) {
  const auto live =
      std::find_if(rows.begin(), rows.end(), [](const SlurmJob& row) { return !row.over(); });
  return live == rows.end() ? nullptr : &*live;
}

}  // namespace muster
