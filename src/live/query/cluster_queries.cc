#include "live/query/cluster_queries.h"

#include <nlohmann/json.hpp>

#include "api/port/permissions.h"
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
  json rights = {{"tenants", json::array()}, {"admin_of", json::array()}};
  if (caller.rights) {
    rights = {{"tenants", caller.rights->tenants}, {"admin_of", caller.rights->admin_of}};
  }
  const AccountMode& account = context_.account;
  json answer({{"mode", "live"},
               {"manager_mode", name_of(account.mode)},
               {"runs_as", account.runs_as()},
               {"user", caller.user},
               {"operator", caller.is_operator},
               {"role", name_of(role_of(caller))},
               {"version", kMusterVersion},
               {"now", unix_s(context_.clock, context_.clock.now())},
               {"scheduler", scheduler_words(context_.roster->settings())},
               {"cluster", cluster_words(context_.roster->settings().topology)},
               {"last_event", context_.notes.last()},
               {"screens", {"fleet", "queue", "job", "tenants", "timeline", "compare", "nodes"}}});
  if (caller.uid != kNoUid) answer["uid"] = caller.uid;
  if (const std::string notice = account.notice(); !notice.empty()) answer["notice"] = notice;
  answer.update(rights);
  return json_answer(answer);
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
    // Profiles belong to a name, not to a tenant.
    if (may_see_all(caller) || each.user == caller.user) list.push_back(profile_view(each));
  }
  return json_answer({{"profiles", std::move(list)}});
}

Answer ClusterQueries::nodes(const Caller& caller) const {
  json view = nodes_view(*context_.roster, context_.nodes, context_.clock, caller);
  const AccountMode& account = context_.account;
  if (const std::string notice = account.notice(); !notice.empty()) view["notice"] = notice;
  for (json& node : view["nodes"]) {
    node["runs_as"] = account.runs_as();
    const std::deque<EventRow>* known = context_.notes.of_node(node["name"].get<std::string>());
    if (known == nullptr) continue;
    for (const EventRow& event : *known) {
      const bool full = may_name_all(caller) && !event.full.empty();
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
  answer.body =
      metrics_text(*context_.roster, {context_.status.submitted, context_.status.ended,
                                      is_blocked(), name_of(context_.account.mode), forecasts});
  return answer;
}

}  // namespace muster
