// The Slurm executor's servers: what they have, whether they take jobs, and what others hold there.

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "exec/slurm.h"

namespace muster {

namespace {

constexpr std::int32_t kMostGpus = 64;  // The engine's, of one server.

std::string partition_words(const SlurmSettings& settings) {
  return settings.partition.empty() ? "Slurm's default partition"
                                    : "Slurm's partition " + in_quotes(settings.partition);
}

std::string identity_words() {
  return may_run_as_others() ? "jobs run as whoever submits them"
                             : "jobs run under the manager's account";
}

}  // namespace

Result<SlurmServers> servers_from(const SlurmSettings& settings,
                                  const std::vector<SlurmNode>& nodes,
                                  const std::vector<std::pair<std::string, std::string>>& switches,
                                  bool enforces) {
  if (nodes.empty()) {
    return Error{partition_words(settings) +
                 " is not there, or has no nodes; 'muster doctor' says more"};
  }
  SlurmServers found;
  for (const SlurmNode& node : nodes) {
    if (node.gpus == 0) continue;
    ServerFacts server;
    server.name = node.name;
    server.rack = "rack";
    for (const auto& [name, leaf] : switches) {
      if (name == node.name) server.rack = leaf;
    }
    if (const auto mapped = settings.racks.find(node.name); mapped != settings.racks.end()) {
      server.rack = mapped->second;
    }
    server.gpu_type = node.gpu_type.empty() ? "gpu" : node.gpu_type;
    server.gpus = std::min(node.gpus, kMostGpus);
    server.cpu_milli = node.cpus * 1000;
    server.mem_mib = node.mem_mib;
    server.full_isolation = enforces;
    server.words.push_back("by Slurm; " + identity_words());
    if (!enforces) {
      server.words.push_back(
          "CPU and memory are watched by the shim; Slurm enforces neither without task/cgroup");
    }
    found.addresses[node.name] = node.address.empty() ? node.name : node.address;
    found.servers.push_back(std::move(server));
  }
  if (found.servers.empty()) {
    return Error{partition_words(settings) +
                 " has no server with GPUs: none says Gres=gpu:N in slurm.conf"};
  }
  std::sort(found.servers.begin(), found.servers.end(),
            [](const ServerFacts& a, const ServerFacts& b) { return a.name < b.name; });
  return found;
}

Result<std::vector<SlurmNode>> within_reservation(const SlurmSettings& settings,
                                                  std::vector<SlurmNode> nodes,
                                                  const SlurmWords& words) {
  if (settings.reservation.empty()) return nodes;
  const Result<std::vector<std::string>> names = expand_hosts(word_of(words, "Nodes"));
  if (!names.ok() || names.value().empty()) {
    return Error{"Slurm's reservation " + in_quotes(settings.reservation) +
                 " is not there, or has no nodes"};
  }
  const std::set<std::string> inside(names.value().begin(), names.value().end());
  std::erase_if(nodes, [&](const SlurmNode& node) { return !inside.contains(node.name); });
  return nodes;
}

bool enforces_limits(const SlurmWords& config) {
  return word_of(config, "TaskPlugin").find("cgroup") != std::string_view::npos;
}

Result<std::vector<ServerFacts>> find_slurm_servers(const SlurmSettings& given) {
  Commands commands;
  SlurmSettings settings = given;
  if (settings.partition.empty()) {
    const CommandResult said = commands.run(partition_argv(""), settings.timeout);
    settings.partition = word_of(read_partition(said.ok() ? said.out : ""), "PartitionName");
    if (said.ok() && settings.partition.empty()) {
      return Error{"Slurm has no default partition: say which one is to be used"};
    }
  }
  const CommandResult sinfo = commands.run(sinfo_argv(settings.partition), settings.timeout);
  if (!sinfo.ok()) return Error{"Slurm does not answer: " + sinfo.words};
  Result<std::vector<SlurmNode>> nodes = read_sinfo(sinfo.out);
  if (nodes.ok() && !settings.reservation.empty()) {
    const CommandResult said =
        commands.run(reservation_argv(settings.reservation), settings.timeout);
    nodes = within_reservation(settings, std::move(nodes).value(),
                               said.ok() ? read_reservation(said.out) : SlurmWords());
  }
  if (!nodes.ok()) return nodes.error();
  const CommandResult topology = commands.run(topology_argv(), settings.timeout);
  const CommandResult config = commands.run(config_argv(), settings.timeout);
  Result<SlurmServers> found =
      servers_from(settings, nodes.value(), read_topology(topology.ok() ? topology.out : ""),
                   config.ok() && enforces_limits(read_config(config.out)));
  if (!found.ok()) return found.error();
  return std::move(found.value().servers);
}

void SlurmExecutor::take_nodes(const std::vector<SlurmNode>& nodes) {
  const Result<std::vector<SlurmNode>> within = within_reservation(settings_, nodes, reservation_);
  nodes_ = within.ok() ? within.value() : std::vector<SlurmNode>();
  Result<SlurmServers> found = within.ok() ? servers_from(settings_, nodes_, switches_, enforces_)
                                           : Result<SlurmServers>(within.error());
  site_trouble_ = found.ok() ? "" : found.error().message;
  if (found.ok()) {
    addresses_ = std::move(found.value().addresses);
    if (found.value().servers != facts_) {
      // Those that went are closed while something of ours still runs there.
      for (const ServerFacts& old : facts_) {
        if (addresses_.contains(old.name)) continue;
        ServerNews gone;
        gone.name = old.name;
        gone.usable = false;
        gone.why = "no longer in " + partition_words(settings_);
        fresh_news_.push_back(std::move(gone));
      }
      facts_ = std::move(found.value().servers);
      changed_ = facts_;
      news_.clear();  // All of it is told anew.
    }
  }
  before_.ours = ours_by_node();
  before_.with_strangers = with_strangers_;
  before_.fresh = true;
  tell_servers();
}

// Our jobs that hold something there.
std::map<std::string, std::vector<SlurmId>> SlurmExecutor::ours_by_node() const {
  std::map<std::string, std::vector<SlurmId>> ours;
  for (const auto& [tag, rows] : jobs_) {
    for (const SlurmJob& job : rows) {
      if (job.pending() || job.over()) continue;
      // One that is ending has given back some of it, and nobody knows what.
      const SlurmId id = job.state == "RUNNING" ? job.id : -job.id;
      for (const std::string& node : job.nodes) ours[node].push_back(id);
    }
  }
  for (auto& [node, ids] : ours) std::sort(ids.begin(), ids.end());
  return ours;
}

// What sinfo said is in use, less what is ours: only where ours was the same before and after it.
void SlurmExecutor::judge_strangers() {
  if (!std::exchange(before_.fresh, false)) return;
  const std::map<std::string, std::vector<SlurmId>> after = ours_by_node();
  std::map<SlurmId, const SlurmGroup*> groups;
  for (const auto& [name, lease] : leases_) {
    for (const SlurmGroup& group : lease.groups) groups[group.id] = &group;
  }
  for (const SlurmNode& node : nodes_) {
    ServerNews taken;
    if (before_.with_strangers.contains(node.name)) {
      const auto then = before_.ours.find(node.name);
      const auto now = after.find(node.name);
      const std::vector<SlurmId> none;
      const std::vector<SlurmId>& ids = then == before_.ours.end() ? none : then->second;
      if (ids != (now == after.end() ? none : now->second)) continue;
      const bool known =
          std::all_of(ids.begin(), ids.end(), [&](SlurmId id) { return groups.contains(id); });
      if (!known) continue;
      taken.gpus = node.gpus_used;
      taken.cpu_milli = node.cpus_used * 1000;
      taken.mem_mib = node.mem_mib_used;
      for (const SlurmId id : ids) {
        taken.gpus -= groups[id]->gpus;
        taken.cpu_milli -= groups[id]->cpus * 1000;
        taken.mem_mib -= groups[id]->mem_mib;
      }
      taken.gpus = std::max(taken.gpus, 0);
      taken.cpu_milli = std::max<std::int64_t>(taken.cpu_milli, 0);
      taken.mem_mib = std::max<std::int64_t>(taken.mem_mib, 0);
    }
    taken_[node.name] = taken;
  }
  tell_servers();
}

const SlurmNode* SlurmExecutor::find_node(const std::string& name) const {
  const auto node = std::find_if(nodes_.begin(), nodes_.end(),
                                 [&](const SlurmNode& each) { return each.name == name; });
  return node == nodes_.end() ? nullptr : &*node;
}

bool SlurmExecutor::answers(const std::string& name) const {
  return find_node(name) == nullptr || reaches(name);
}

// One that is no longer ours to see may be anywhere.
bool SlurmExecutor::reaches(const std::string& name) const {
  const SlurmNode* node = find_node(name);
  return node != nullptr && node->responding() && !node->state.starts_with("down") &&
         node->flags.find("down") == std::string::npos;
}

void SlurmExecutor::tell_servers() {
  const std::string bad = trouble();
  for (const ServerFacts& server : facts_) {
    const SlurmNode* node = find_node(server.name);
    ServerNews news = taken_[server.name];
    news.name = server.name;
    news.usable = bad.empty();
    news.why = bad;
    if (bad.empty() && node == nullptr) {
      if (nodes_.empty()) continue;  // Nobody has been asked yet.
      news.usable = false;
      news.why = "no longer in " + partition_words(settings_);
    } else if (bad.empty() && !node->usable(!settings_.reservation.empty())) {
      news.usable = false;
      news.why = "Slurm says " + node->why_not();
    }
    const auto told = news_.find(server.name);
    if (told != news_.end() && told->second == news) continue;
    news_[server.name] = news;
    fresh_news_.push_back(std::move(news));
  }
}

std::vector<ServerNews> SlurmExecutor::servers() { return std::exchange(fresh_news_, {}); }

std::optional<std::vector<ServerFacts>> SlurmExecutor::changed_servers() {
  return std::exchange(changed_, std::nullopt);
}

}  // namespace muster
