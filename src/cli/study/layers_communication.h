#pragma once

// Output of `muster layers --communication`: the time that data-parallel training of a model spends
// on communication, with parameter servers and with a ring, as text or as JSON.

#include <nlohmann/json.hpp>
#include <span>
#include <string>

#include "base/terminal/terminal.h"
#include "cli/study/layers_text.h"
#include "engine/model/communication.h"

namespace muster {

// Returns a table with one line per model, the mean and maximum share of communication, and the
// setup. The compute time and the link are those of each study's setup.
// REQUIRES: at least one study.
std::string communication_table(std::span<const LayerStudy> studies, const WorkerSpread& spread,
                                ColorMode colors);

nlohmann::ordered_json communication_json(std::span<const LayerStudy> studies,
                                          const WorkerSpread& spread);

}  // namespace muster
