#pragma once

// The body of a snapshot in the journal: with what an era begins. An era is a snapshot and the
// entries after it.

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
  std::string settings;  // In force, as settings.h reads them.
  std::string roster;    // As roster_codec.h reads it.
  std::uint64_t last_note = 0;
  std::uint32_t engine = kEngineVersion;  // Version that wrote this and decides in the era.
  // The decisions that restoring the roster led to. No value: written before they were kept.
  std::optional<std::vector<Decisions>> decided;
};

std::string era_snapshot_json(const EraSnapshot& snapshot);
Result<EraSnapshot> read_era_snapshot(std::string_view body);

}  // namespace muster
