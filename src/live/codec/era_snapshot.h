#pragma once

// The body of a snapshot in the journal: the state at the begin of an era. An era is a snapshot and
// the entries after it.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/types/result.h"
#include "engine/core/decisions.h"

namespace muster {

struct EraSnapshot {
  std::string instance;
  std::int64_t born_unix_us = 0;
  std::string settings;  // Settings in force, in the format of settings.h.
  std::string roster;    // In the format of roster_codec.h.
  std::uint64_t last_note = 0;
  std::uint32_t engine = kEngineVersion;  // Version that wrote this snapshot and the era.
  // The decisions of restoring the roster. No value: written by a version that did not store them.
  std::optional<std::vector<Decisions>> decided;
};

std::string era_snapshot_json(const EraSnapshot& snapshot);
Result<EraSnapshot> read_era_snapshot(std::string_view body);

}  // namespace muster
