#include "exec/slurm/slurm_server_watch.h"

#include <algorithm>

namespace muster {

void SlurmServerWatch::set_switches(std::vector<std::pair<std::string, std::string>> switches) {
  switches_ = std::move(switches);
}

void SlurmServerWatch::take_nodes(const SlurmSettings& settings,
                                  const std::vector<SlurmNode>& nodes, JobsByNode ours,
                                  std::set<std::string> with_strangers) {
  const Result<std::vector<SlurmNode>> within = within_reservation(settings, nodes, reservation_);
  nodes_ = within.ok() ? within.value() : std::vector<SlurmNode>();
  Result<SlurmServers> found = within.ok() ? servers_from(settings, nodes_, switches_, enforces_)
                                           : Result<SlurmServers>(within.error());
  trouble_ = found.ok() ? "" : found.error().message;
  if (found.ok()) {
    addresses_ = std::move(found.value().addresses);
    if (found.value().servers != facts_) {
      // Those that went are closed while something of ours still runs there.
      for (const ServerFacts& old : facts_) {
        if (addresses_.contains(old.name)) continue;
        ServerNews gone;
        gone.name = old.name;
        gone.usable = false;
        gone.why = "no longer in " + partition_words(settings);
        fresh_news_.push_back(std::move(gone));
      }
      facts_ = std::move(found.value().servers);
      changed_ = facts_;
      news_.clear();  // All of it is told anew.
    }
  }
  before_.ours = std::move(ours);
  before_.with_strangers = std::move(with_strangers);
  before_.fresh = true;
}

bool SlurmServerWatch::judge_strangers(const JobsByNode& ours,
                                       const std::map<std::string, SlurmLease>& leases) {
  if (!std::exchange(before_.fresh, false)) return false;
  std::map<SlurmId, const SlurmGroup*> groups;
  for (const auto& [name, lease] : leases) {
    for (const SlurmGroup& group : lease.groups) groups[group.id] = &group;
  }
  for (const SlurmNode& node : nodes_) {
    ServerNews taken;
    if (before_.with_strangers.contains(node.name)) {
      const auto then = before_.ours.find(node.name);
      const auto now = ours.find(node.name);
      const std::vector<SlurmId> none;
      const std::vector<SlurmId>& ids = then == before_.ours.end() ? none : then->second;
      if (ids != (now == ours.end() ? none : now->second)) continue;
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
  return true;
}

const SlurmNode* SlurmServerWatch::find_node(const std::string& name) const {
  const auto node = std::find_if(nodes_.begin(), nodes_.end(),
                                 [&](const SlurmNode& each) { return each.name == name; });
  return node == nodes_.end() ? nullptr : &*node;
}

bool SlurmServerWatch::answers(const std::string& name) const {
  return find_node(name) == nullptr || reaches(name);
}

// One that is no longer ours to see may be anywhere.
bool SlurmServerWatch::reaches(const std::string& name) const {
  const SlurmNode* node = find_node(name);
  return node != nullptr && node->responding() && !node->state.starts_with("down") &&
         node->flags.find("down") == std::string::npos;
}

void SlurmServerWatch::update(const SlurmSettings& settings, const std::string& trouble) {
  for (const ServerFacts& server : facts_) {
    const SlurmNode* node = find_node(server.name);
    ServerNews news = taken_[server.name];
    news.name = server.name;
    news.usable = trouble.empty();
    news.why = trouble;
    if (trouble.empty() && node == nullptr) {
      if (nodes_.empty()) continue;  // Nobody has been asked yet.
      news.usable = false;
      news.why = "no longer in " + partition_words(settings);
    } else if (trouble.empty() && !node->usable(!settings.reservation.empty())) {
      news.usable = false;
      news.why = "Slurm says " + node->why_not();
    }
    const auto told = news_.find(server.name);
    if (told != news_.end() && told->second == news) continue;
    news_[server.name] = news;
    fresh_news_.push_back(std::move(news));
  }
}

}  // namespace muster
