// What the dashboard draws, a screen in one or two calls.

#include <nlohmann/json.hpp>

#include "base/version.h"
#include "live/answers.h"
#include "live/fleet.h"
#include "live/manager.h"
#include "live/settings.h"
#include "live/view_units.h"

namespace muster {

namespace {

using nlohmann::json;

constexpr std::size_t kMostRecent = 10;  // Events of one server.

}  // namespace

Answer Manager::me(const Caller& caller) const {
  return said({{"mode", "live"},
               {"user", caller.user},
               {"operator", caller.is_operator},
               {"version", kMusterVersion},
               {"now", unix_s(*clock_, clock_->now())},
               {"scheduler", scheduler_words(roster_->settings())},
               {"cluster", cluster_words(roster_->settings().topology)},
               {"last_event", last_note_},
               {"screens", {"fleet", "queue", "job", "tenants", "timeline", "compare", "nodes"}}});
}

Answer Manager::fleet(const Caller& caller) {
  const std::shared_ptr<const UseSample> use = hands_->use();
  return said(fleet_view(*roster_, {caller, settings_.nodes, use.get()}, *clock_));
}

// The words begin with the server's name.
void Manager::remember_of_nodes(const EventRow& event) {
  const json told = json::parse(event.json, nullptr, false);
  if (!told.is_object() || !told.value("kind", "").starts_with("node-")) return;
  const std::string words = told.value("words", "");
  std::deque<EventRow>& known = of_nodes_[words.substr(0, words.find(' '))];
  known.push_back(event);
  if (known.size() > kMostRecent) known.pop_front();
}

Answer Manager::nodes(const Caller& caller) const {
  json view = nodes_view(*roster_, settings_.nodes, *clock_, caller.is_operator ? "" : caller.user);
  for (json& node : view["nodes"]) {
    const auto known = of_nodes_.find(node["name"].get<std::string>());
    if (known == of_nodes_.end()) continue;
    for (const EventRow& event : known->second) {
      const bool full = caller.is_operator && !event.full.empty();
      node["recent"].push_back(json::parse(full ? event.full : event.json, nullptr, false));
    }
  }
  return said(view);
}

}  // namespace muster
