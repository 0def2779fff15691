#include "live/config/learned_profiles.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace muster {

namespace {

using nlohmann::json;

constexpr std::size_t kMaxPoints = 16;
constexpr double kMaxRate = 1e9;
constexpr double kMaxMib = 1e12;
constexpr std::size_t kMaxKeyBytes = 512;

json to_json(const LearnedProfile& learned) {
  const MeasuredProfile& measured = learned.measured;
  json out = {{"key", measured.name},
              {"user", learned.user},
              {"name", learned.name},
              {"gpus", measured.gpus},
              {"points", points_json(measured.curve)},
              {"reach", measured.reach},
              {"unix_s", learned.unix_s},
              {"time_us", learned.time.us()}};
  if (measured.skew > 0) out["skew"] = measured.skew;
  if (measured.data) {
    const DataFacts& data = *measured.data;
    out["data"] = {data.dataset_mib, data.mib_per_step, data.base_mem_mib, data.mem_mib_per_s,
                   data.storage_mib_per_s};
  }
  return out;
}

double amount(const json& in, double most) {
  const double value = in.get<double>();
  if (!std::isfinite(value) || value < 0 || value > most) throw std::out_of_range("out of range");
  return value;
}

Result<LearnedProfile> from_json(const json& in) {
  LearnedProfile out;
  MeasuredProfile& measured = out.measured;
  measured.name = in.at("key").get<std::string>();
  out.user = in.value("user", "");
  out.name = in.value("name", "");
  measured.gpus = in.at("gpus").get<std::int32_t>();
  measured.reach = in.value("reach", std::int64_t{0});
  out.unix_s = in.value("unix_s", std::int64_t{0});
  out.time = Duration::micros(in.value("time_us", std::int64_t{0}));
  if (in.contains("skew")) measured.skew = amount(in.at("skew"), 1);
  const json& points = in.at("points");
  if (points.empty() || points.size() > kMaxPoints) {
    return Error{fmt::format("points: must have 1 to {} entries", kMaxPoints), ErrorCode::kInvalid};
  }
  for (const json& each : points) {
    CurvePoint point;
    point.cpu_milli = each.at(0).get<std::int64_t>();
    point.rate = amount(each.at(1), kMaxRate);
    point.error = amount(each.at(2), 1e6);
    if (point.cpu_milli < 1 || point.cpu_milli > kMaxRequestCpus.milli || point.rate <= 1e-9) {
      return Error{"points: CPU (thousandths) and steps per second must be above zero",
                   ErrorCode::kInvalid};
    }
    measured.curve.add(point);
  }
  if (in.contains("data")) {
    const json& data = in.at("data");
    measured.data = DataFacts{amount(data.at(0), kMaxMib), amount(data.at(1), kMaxMib),
                              amount(data.at(2), kMaxMib), amount(data.at(3), kMaxMib),
                              amount(data.at(4), kMaxMib)};
    if (const MaybeError refusal = check_data(*measured.data)) return *refusal;
  }
  if (measured.gpus < 1 || measured.gpus > kMaxRequestGpus)
    return Error{"gpus: out of range", ErrorCode::kInvalid};
  if (measured.reach < 0 || measured.reach > kMaxRequestCpus.milli || out.time < Duration() ||
      measured.name.empty() || measured.name.size() > kMaxKeyBytes) {
    return Error{"key, reach or time_us: out of range", ErrorCode::kInvalid};
  }
  if (const Result<SpeedMatrix> matrix = matrix_of(measured); !matrix.ok()) return matrix.error();
  return out;
}

}  // namespace

json points_json(const SpeedCurve& curve) {
  json points = json::array();
  for (const CurvePoint& point : curve.points()) {
    points.push_back({point.cpu_milli, point.rate, point.error});
  }
  return points;
}

std::string learned_profile_json(const LearnedProfile& learned) {
  return to_json(learned).dump(-1, ' ', false, json::error_handler_t::replace);
}

Result<LearnedProfile> read_learned_profiles(std::string_view text) {
  try {
    return from_json(json::parse(text));
  } catch (const std::exception& error) {
    return Error{std::string("not a measured profile: ") + error.what(), ErrorCode::kInvalid};
  }
}

std::string with_learned(std::string_view settings, std::span<const LearnedProfile> learned) {
  json out = json::parse(settings);
  out.erase("learnt");
  for (const LearnedProfile& each : learned) out["learnt"].push_back(to_json(each));
  return out.dump(-1, ' ', false, json::error_handler_t::replace);
}

Result<std::vector<LearnedProfile>> learned_profiles_in(std::string_view settings) {
  std::vector<LearnedProfile> all;
  try {
    const json in = json::parse(settings);
    if (!in.contains("learnt")) return all;
    for (const json& each : in.at("learnt")) {
      Result<LearnedProfile> learned = from_json(each);
      if (!learned.ok()) return learned.error();
      all.push_back(std::move(learned).value());
    }
  } catch (const std::exception& error) {
    return Error{std::string("learnt: ") + error.what(), ErrorCode::kCorrupt};
  }
  return all;
}

const LearnedProfile* find_learned(std::span<const LearnedProfile> all, std::string_view key) {
  for (const LearnedProfile& each : all) {
    if (each.measured.name == key) return &each;
  }
  return nullptr;
}

void learn(std::vector<LearnedProfile>& all, LearnedProfile fresh) {
  std::erase_if(
      all, [&](const LearnedProfile& each) { return each.measured.name == fresh.measured.name; });
  const auto theirs = [&](const LearnedProfile& each) { return each.user == fresh.user; };
  if (std::count_if(all.begin(), all.end(), theirs) >= kMaxLearnedOfOne) {
    all.erase(std::find_if(all.begin(), all.end(), theirs));
  }
  if (all.size() >= kMaxLearnedProfiles) all.erase(all.begin());
  all.push_back(std::move(fresh));
}

std::string need_words(const LearnedProfile& learned) {
  const MeasuredProfile& measured = learned.measured;
  const double each = static_cast<double>(measured.curve.need()) / 1000 / measured.gpus;
  const std::size_t points = measured.curve.points().size();
  return fmt::format("{} {:.3g} CPU{} per GPU, measured at {} CPU share{} in {:.0f} s",
                     measured.reach > 0 ? "speeds up further above" : "needs", each,
                     each == 1 ? "" : "s", points, points == 1 ? "" : "s",
                     learned.time.in_seconds());
}

}  // namespace muster
