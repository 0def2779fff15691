#include "live/query/cluster_queries.h"

#include <nlohmann/json.hpp>

#include "base/types/version.h"
#include "live/config/settings.h"
#include "live/views/answers.h"
#include "live/views/fleet_view.h"
#include "live/views/metrics_text.h"
#include "live/views/view_units.h"

namespace muster {

namespace {

using nlohmann::json;

}  // namespace

Answer ClusterQueries::me(const Caller& caller) const {
  return json_answer(
      {{"mode", "live"},
       {"user", caller.user},
       {"operator", caller.is_operator},
       {"version", kMusterVersion},
       {"now", unix_s(context_.clock, context_.clock.now())},
       {"scheduler", scheduler_words(context_.roster->settings())},
       {"cluster", cluster_words(context_.roster->settings().topology)},
       {"last_event", context_.notes.last()},
       {"screens", {"fleet", "queue", "job", "tenants", "timeline", "compare", "nodes"}}});
}

Answer ClusterQueries::fleet(const Caller& caller, const ForecastScore& forecasts) const {
  const std::shared_ptr<const UseSample> use = use_();
  json view = fleet_view(*context_.roster, {caller, context_.nodes, use.get()}, context_.clock);
  view["forecasts"] = {{"checked", forecasts.checked},     {"inside_50", forecasts.inside[0]},
                       {"inside_80", forecasts.inside[1]}, {"inside_95", forecasts.inside[2]},
                       {"before", forecasts.before},       {"after", forecasts.after}};
  return json_answer(view);
}

Answer ClusterQueries::profiles(const Caller& caller) const {
  json list = json::array();
  for (const LearnedProfile& each : context_.profiles) {
    if (may_see(caller, each.user)) list.push_back(profile_view(each));
  }
  return json_answer({{"profiles", std::move(list)}});
}

Answer ClusterQueries::nodes(const Caller& caller) const {
  json view = nodes_view(*context_.roster, context_.nodes, context_.clock,
                         caller.is_operator ? "" : caller.user);
  for (json& node : view["nodes"]) {
    const std::deque<EventRow>* known = context_.notes.of_node(node["name"].get<std::string>());
    if (known == nullptr) continue;
    for (const EventRow& event : *known) {
      const bool full = caller.is_operator && !event.full.empty();
      node["recent"].push_back(json::parse(full ? event.full : event.json, nullptr, false));
    }
  }
  return json_answer(view);
}

Answer ClusterQueries::tenants() const { return json_answer(tenants_view(*context_.roster)); }

Answer ClusterQueries::health() const {
  if (is_blocked()) {
    return json_answer(
        {{"ok", false}, {"error", "cannot write to disk: " + context_.status.blocked}}, 503);
  }
  return json_answer({{"ok", true}, {"digest", context_.roster->digest()}});
}

Answer ClusterQueries::metrics(const ForecastScore& forecasts) const {
  Answer answer;
  answer.body = metrics_text(*context_.roster, {context_.status.submitted, context_.status.ended,
                                                is_blocked(), forecasts});
  return answer;
}

}  // namespace muster
