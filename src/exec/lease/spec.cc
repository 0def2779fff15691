#include "exec/lease/spec.h"

#include <algorithm>
#include <cctype>
#include <climits>

#include "base/file/fields.h"
#include "base/text/text.h"

namespace muster {
namespace {

constexpr std::size_t kMaxArguments = 10'000;
constexpr std::size_t kMaxVariables = 10'000;
constexpr int kMaxRanks = 1024;
constexpr std::int64_t kMaxWorld = 1'000'000;
constexpr std::int64_t kMinLog = 4096;
constexpr std::int64_t kMaxLog = std::int64_t{1} << 40;
constexpr int kMaxLogFiles = 100;
constexpr std::size_t kMaxDeviceNodes = 1024;
constexpr std::size_t kMaxDeviceText = 256;

bool has_nul(std::string_view text) { return text.find('\0') != std::string_view::npos; }

bool is_token(std::string_view text) {
  return text.size() >= 16 && text.size() <= 64 &&
         std::all_of(text.begin(), text.end(),
                     [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z'); });
}

bool is_variable(std::string_view name) {
  if (name.empty() || std::isdigit(static_cast<unsigned char>(name[0]))) return false;
  return std::all_of(name.begin(), name.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
  });
}

// Whether the path is absolute and has no ".", ".." or empty component.
bool is_group_path(std::string_view path) {
  if (path.size() < 2 || path[0] != '/' || path.size() > 1024) return false;
  for (const std::string_view part : split(path.substr(1), '/')) {
    if (part.empty() || part == "." || part == ".." || has_nul(part)) return false;
  }
  return true;
}

MaybeError check_command(const LaunchSpec& spec) {
  if (spec.argv.empty() || spec.argv[0].empty())
    return Error{"argv: no command", ErrorCode::kInvalid};
  if (spec.argv.size() > kMaxArguments)
    return Error{"argv: too many arguments", ErrorCode::kInvalid};
  for (const std::string& word : spec.argv) {
    if (has_nul(word)) return Error{"argv: a zero byte in " + in_quotes(word), ErrorCode::kInvalid};
  }
  if (spec.cwd.empty() || spec.cwd[0] != '/' || spec.cwd.size() >= PATH_MAX || has_nul(spec.cwd)) {
    return Error{"cwd: not an absolute path: " + in_quotes(spec.cwd), ErrorCode::kInvalid};
  }
  if (spec.env.size() > kMaxVariables) return Error{"env: too many variables", ErrorCode::kInvalid};
  for (const auto& [name, value] : spec.env) {
    if (!is_variable(name))
      return Error{"env: not a variable name: " + in_quotes(name), ErrorCode::kInvalid};
    if (name.starts_with("MUSTER_") && !name.starts_with("MUSTER_ARRAY_") &&
        name != "MUSTER_NODE" && name != "MUSTER_MANAGER") {
      return Error{"env: " + name + " is reserved for Muster", ErrorCode::kInvalid};
    }
    if (has_nul(value)) return Error{"env: a zero byte in " + name, ErrorCode::kInvalid};
  }
  return std::nullopt;
}

MaybeError check_range(const char* what, std::int64_t value, std::int64_t least,
                       std::int64_t most) {
  if (value >= least && value <= most) return std::nullopt;
  return Error{std::string(what) + ": " + std::to_string(value) + " is not between " +
                   std::to_string(least) + " and " + std::to_string(most),
               ErrorCode::kInvalid};
}

MaybeError check_devices(const LaunchSpec& spec) {
  if (!spec.gpu_filter && !(spec.gpu_nodes.empty() && spec.gpu_uuids.empty()))
    return Error{"gpu_nodes, gpu_uuids: need gpu_filter", ErrorCode::kInvalid};
  if (spec.gpu_nodes.size() > kMaxDeviceNodes)
    return Error{"gpu_nodes: too many nodes", ErrorCode::kInvalid};
  for (const std::string& node : spec.gpu_nodes) {
    if (node.starts_with("/dev/") && node.size() <= kMaxDeviceText && !has_nul(node)) continue;
    return Error{"gpu_nodes: not a path below /dev: " + in_quotes(node), ErrorCode::kInvalid};
  }
  if (!spec.gpu_uuids.empty() && spec.gpu_uuids.size() != spec.gpus.size())
    return Error{"gpu_uuids: must have one entry per GPU", ErrorCode::kInvalid};
  for (const std::string& uuid : spec.gpu_uuids) {
    if (!uuid.empty() && uuid.size() <= kMaxDeviceText && !has_nul(uuid)) continue;
    return Error{"gpu_uuids: not an id: " + in_quotes(uuid), ErrorCode::kInvalid};
  }
  return std::nullopt;
}

MaybeError check_gang(const LaunchSpec& spec) {
  for (const int gpu : spec.gpus) {
    if (auto refusal = check_range("gpus", gpu, 0, 65'535)) return refusal;
  }
  const int ranks = local_ranks(spec);
  if (auto refusal = check_range("ranks", ranks, 1, kMaxRanks)) return refusal;
  if (auto refusal = check_range("world_size", spec.world_size, 1, kMaxWorld)) return refusal;
  if (spec.first_rank > spec.world_size - ranks) {
    return Error{"first_rank: " + std::to_string(spec.first_rank) + " and " +
                     std::to_string(ranks) + " local ranks exceed world_size " +
                     std::to_string(spec.world_size),
                 ErrorCode::kInvalid};
  }
  if (spec.master_addr.empty() || spec.master_addr.size() > 255 || has_nul(spec.master_addr)) {
    return Error{"master_addr: not an address: " + in_quotes(spec.master_addr),
                 ErrorCode::kInvalid};
  }
  return std::nullopt;
}

}  // namespace

const std::string& mark_of(const LaunchSpec& spec) {
  return spec.mark.empty() ? spec.token : spec.mark;
}

int local_ranks(const LaunchSpec& spec) {
  return spec.ranks_per == RanksPer::kNode ? 1 : static_cast<int>(spec.gpus.size());
}

std::string lease_name(const LaunchSpec& spec) {
  return lease_name(spec.job, spec.epoch, spec.node_rank);
}

std::string lease_name(std::int64_t job, std::int64_t epoch, std::int64_t node_rank) {
  std::string name = "j" + std::to_string(job) + ".e" + std::to_string(epoch);
  if (node_rank > 0) name += ".n" + std::to_string(node_rank);
  return name;
}

MaybeError check_spec(const LaunchSpec& spec) {
  if (!is_token(spec.token))
    return Error{"token: must have 16 to 64 characters of [0-9a-z]", ErrorCode::kInvalid};
  if (!is_token(mark_of(spec)))
    return Error{"mark: must have 16 to 64 characters of [0-9a-z]", ErrorCode::kInvalid};
  if (auto refusal = check_command(spec)) return refusal;
  struct Range {
    const char* what;
    std::int64_t value, least, most;
  };
  const Range ranges[] = {
      {"job", spec.job, 0, INT64_MAX},
      {"epoch", spec.epoch, 0, INT64_MAX},
      {"node_rank", spec.node_rank, 0, kMaxWorld},
      {"first_rank", spec.first_rank, 0, kMaxWorld},
      {"master_port", spec.master_port, 1, 65'535},
      {"cpu_milli", spec.cpu_milli, kMinCpuMilli, kMaxCpuMilli},
      {"mem_mib", spec.mem_mib, 1, kMaxMemMib},
      {"grace_ms", spec.grace_ms, 0, kMaxMillis},
      {"time_limit_ms", spec.time_limit_ms, 0, kMaxMillis},
      {"keep_for_ms", spec.keep_for_ms, 0, kMaxMillis},
      {"stop_after_ms", spec.stop_after_ms, 0, kMaxMillis},
      {"log_cap_bytes", spec.log_cap_bytes, kMinLog, kMaxLog},
      {"log_files", spec.log_files, 0, kMaxLogFiles},
  };
  for (const Range& range : ranges) {
    auto refusal = check_range(range.what, range.value, range.least, range.most);
    if (refusal) return refusal;
  }
  if (has_nul(spec.user) || spec.user.size() > 256)
    return Error{"user: not a name", ErrorCode::kInvalid};
  if (auto refusal = check_gang(spec)) return refusal;
  if (auto refusal = check_devices(spec)) return refusal;
  if (!spec.cgroup_parent.empty() && !is_group_path(spec.cgroup_parent)) {
    return Error{
        "cgroup_parent: not an absolute path such as /muster: " + in_quotes(spec.cgroup_parent),
        ErrorCode::kInvalid};
  }
  return std::nullopt;
}

std::string spec_json(const LaunchSpec& spec) {
  nlohmann::ordered_json object = {
      {"version", 1},
      {"job", spec.job},
      {"epoch", spec.epoch},
      {"token", spec.token},
      {"mark", spec.mark},
      {"name", spec.name},
      {"argv", spec.argv},
      {"env", spec.env},
      {"cwd", spec.cwd},
      {"ranks_per", spec.ranks_per == RanksPer::kGpu ? "gpu" : "node"},
      {"gpus", spec.gpus},
      {"node_rank", spec.node_rank},
      {"first_rank", spec.first_rank},
      {"world_size", spec.world_size},
      {"master_addr", spec.master_addr},
      {"master_port", spec.master_port},
      {"cpu_milli", spec.cpu_milli},
      {"mem_mib", spec.mem_mib},
      {"grace_ms", spec.grace_ms},
      {"time_limit_ms", spec.time_limit_ms},
      {"keep_for_ms", spec.keep_for_ms},
      {"stop_after_ms", spec.stop_after_ms},
      {"log_cap_bytes", spec.log_cap_bytes},
      {"log_files", spec.log_files},
      {"user", spec.user},
      {"remote", spec.remote ? 1 : 0},
      {"cgroup_parent", spec.cgroup_parent},
  };
  if (spec.gpu_filter) {
    object["gpu_filter"] = 1;
    object["gpu_nodes"] = spec.gpu_nodes;
    object["gpu_uuids"] = spec.gpu_uuids;
  }
  return object.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

Result<LaunchSpec> read_spec(std::string_view text) {
  auto parsed = Fields::parse(text, kMaxSpecBytes);
  if (!parsed.ok()) return parsed.error();
  Fields& in = parsed.value();
  LaunchSpec spec;
  in.whole("version", 1, 1);
  spec.job = in.whole("job", 0, INT64_MAX);
  spec.epoch = in.whole("epoch", 0, INT64_MAX);
  spec.token = in.text("token");
  spec.mark = in.text("mark", "");
  spec.name = in.text("name", "");
  spec.argv = in.texts("argv");
  spec.env = in.pairs("env");
  spec.cwd = in.text("cwd");
  const std::string per = in.text("ranks_per");
  if (per != "node" && per != "gpu") in.complain("ranks_per: must be 'node' or 'gpu'");
  spec.ranks_per = per == "gpu" ? RanksPer::kGpu : RanksPer::kNode;
  for (const std::int64_t gpu : in.wholes("gpus", 0, 65'535)) {
    spec.gpus.push_back(static_cast<int>(gpu));
  }
  if (in.whole("gpu_filter", 0, 1, 0) == 1) {  // Older records have none of these keys.
    spec.gpu_filter = true;
    spec.gpu_nodes = in.texts("gpu_nodes");
    spec.gpu_uuids = in.texts("gpu_uuids");
  }
  spec.node_rank = static_cast<int>(in.whole("node_rank", 0, kMaxWorld));
  spec.first_rank = static_cast<int>(in.whole("first_rank", 0, kMaxWorld));
  spec.world_size = static_cast<int>(in.whole("world_size", 1, kMaxWorld));
  spec.master_addr = in.text("master_addr");
  spec.master_port = static_cast<int>(in.whole("master_port", 1, 65'535));
  spec.cpu_milli = in.whole("cpu_milli", kMinCpuMilli, kMaxCpuMilli);
  spec.mem_mib = in.whole("mem_mib", 1, kMaxMemMib);
  spec.grace_ms = in.whole("grace_ms", 0, kMaxMillis);
  spec.time_limit_ms = in.whole("time_limit_ms", 0, kMaxMillis);
  spec.keep_for_ms = in.whole("keep_for_ms", 0, kMaxMillis, 0);  // Older records have no such keys.
  spec.stop_after_ms = in.whole("stop_after_ms", 0, kMaxMillis, 0);
  spec.log_cap_bytes = in.whole("log_cap_bytes", kMinLog, kMaxLog);
  spec.log_files = static_cast<int>(in.whole("log_files", 0, kMaxLogFiles));
  spec.user = in.text("user", "");
  spec.remote = in.whole("remote", 0, 1, 0) == 1;
  spec.cgroup_parent = in.text("cgroup_parent");
  if (auto refusal = in.trouble()) return *refusal;
  if (auto refusal = check_spec(spec)) return *refusal;
  return spec;
}

}  // namespace muster
