#include "exec/slurm/slurm_node_watch.h"

#include <algorithm>

namespace muster {

void SlurmNodeWatch::set_switches(std::vector<std::pair<std::string, std::string>> switches) {
  switches_ = std::move(switches);
}

void SlurmNodeWatch::take_nodes(const SlurmSettings& settings, const std::vector<SlurmNode>& nodes,
                                JobsByNode ours, std::set<std::string> with_external_jobs) {
  const Result<std::vector<SlurmNode>> within = within_reservation(settings, nodes, reservation_);
  nodes_ = within.ok() ? within.value() : std::vector<SlurmNode>();
  Result<SlurmNodeSet> found = within.ok() ? nodes_from(settings, nodes_, switches_, enforces_)
                                           : Result<SlurmNodeSet>(within.error());
  trouble_ = found.ok() ? "" : found.error().message;
  if (found.ok()) {
    addresses_ = std::move(found.value().addresses);
    if (found.value().nodes != facts_) {
      // Removed nodes become unusable. Our jobs may still run there.
      for (const NodeDescription& old : facts_) {
        if (addresses_.contains(old.name)) continue;
        NodeUpdate gone;
        gone.name = old.name;
        gone.usable = false;
        gone.why = "no longer in " + partition_words(settings);
        fresh_news_.push_back(std::move(gone));
      }
      facts_ = std::move(found.value().nodes);
      changed_ = facts_;
      news_.clear();  // Reports all nodes again.
    }
  }
  before_.ours = std::move(ours);
  before_.with_external_jobs = std::move(with_external_jobs);
  before_.fresh = true;
}

bool SlurmNodeWatch::judge_external_jobs(const JobsByNode& ours,
                                         const std::map<std::string, SlurmLease>& leases) {
  if (!std::exchange(before_.fresh, false)) return false;
  std::map<SlurmId, const SlurmGroup*> groups;
  for (const auto& [name, lease] : leases) {
    for (const SlurmGroup& group : lease.groups) groups[group.id] = &group;
  }
  for (const SlurmNode& node : nodes_) {
    NodeUpdate taken;
    if (before_.with_external_jobs.contains(node.name)) {
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

const SlurmNode* SlurmNodeWatch::find_node(const std::string& name) const {
  const auto node = std::find_if(nodes_.begin(), nodes_.end(),
                                 [&](const SlurmNode& each) { return each.name == name; });
  return node == nodes_.end() ? nullptr : &*node;
}

bool SlurmNodeWatch::answers(const std::string& name) const {
  return find_node(name) == nullptr || reaches(name);
}

// False for an unknown node, because its state is unknown.
bool SlurmNodeWatch::reaches(const std::string& name) const {
  const SlurmNode* node = find_node(name);
  return node != nullptr && node->responding() && !node->state.starts_with("down") &&
         node->flags.find("down") == std::string::npos;
}

void SlurmNodeWatch::update(const SlurmSettings& settings, const std::string& trouble) {
  for (const NodeDescription& known : facts_) {
    const SlurmNode* node = find_node(known.name);
    NodeUpdate news = taken_[known.name];
    news.name = known.name;
    news.usable = trouble.empty();
    news.why = trouble;
    if (trouble.empty() && node == nullptr) {
      if (nodes_.empty()) continue;  // There was no sinfo yet.
      news.usable = false;
      news.why = "no longer in " + partition_words(settings);
    } else if (trouble.empty() && !node->usable(!settings.reservation.empty())) {
      news.usable = false;
      news.why = "Slurm reports: " + node->why_not();
    }
    const auto told = news_.find(known.name);
    if (told != news_.end() && told->second == news) continue;
    news_[known.name] = news;
    fresh_news_.push_back(std::move(news));
  }
}

}  // namespace muster
