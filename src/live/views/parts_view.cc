#include "live/views/parts_view.h"

#include <nlohmann/json.hpp>

#include "engine/mechanism/registry.h"
#include "engine/placement/registry.h"
#include "engine/policy/registry.h"
#include "engine/scheduler/scheduler.h"

namespace muster {

namespace {

template <class Entries>
nlohmann::json names_and_texts(const Entries& entries) {
  nlohmann::json list = nlohmann::json::array();
  for (const auto& each : entries) list.push_back({{"name", each.name}, {"about", each.doc}});
  return list;
}

}  // namespace

nlohmann::json parts_view() {
  return {{"policies", names_and_texts(policies())},
          {"mechanisms", names_and_texts(mechanisms())},
          {"placements", names_and_texts(placements())},
          {"presets", names_and_texts(presets())}};
}

}  // namespace muster
