#include "live/codec/era_snapshot.h"

#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "live/codec/decisions_codec.h"

namespace muster {

namespace {

using nlohmann::json;

constexpr const char* kVersion = "1";  // The version of the format.

}  // namespace

std::string era_snapshot_json(const EraSnapshot& snapshot) {
  json out = {{"version", kVersion},
              {"instance", snapshot.instance},
              {"born_unix_us", snapshot.born_unix_us},
              {"settings", snapshot.settings},
              {"roster", snapshot.roster},
              {"last_note", snapshot.last_note},
              {"engine", snapshot.engine}};
  if (snapshot.decided) out["decided"] = decisions_json(*snapshot.decided);
  return out.dump(-1, ' ', false, json::error_handler_t::replace);
}

Result<EraSnapshot> read_era_snapshot(std::string_view text) {
  EraSnapshot out;
  try {
    const json body = json::parse(text);
    if (body.at("version").get<std::string>() != kVersion) {
      return Error{"the snapshot has another format version; use the Muster version that wrote it",
                   ErrorCode::kCorrupt};
    }
    out.instance = body.at("instance").get<std::string>();
    out.born_unix_us = body.at("born_unix_us").get<std::int64_t>();
    out.settings = body.at("settings").get<std::string>();
    out.roster = body.at("roster").get<std::string>();
    out.last_note = body.at("last_note").get<std::uint64_t>();
    const auto engine = body.value("engine", std::uint64_t{1});
    if (engine > std::numeric_limits<std::uint32_t>::max()) {
      return Error{"the snapshot has no valid engine version", ErrorCode::kCorrupt};
    }
    out.engine = static_cast<std::uint32_t>(engine);
    if (!body.contains("decided")) return out;
    Result<std::vector<Decisions>> decided = read_decisions(body.at("decided"));
    if (!decided.ok())
      return Error{"the snapshot: " + decided.error().message, ErrorCode::kCorrupt};
    out.decided = std::move(decided).value();
  } catch (const json::exception& error) {
    return Error{std::string("cannot read the snapshot: ") + error.what(), ErrorCode::kCorrupt};
  }
  return out;
}

}  // namespace muster
