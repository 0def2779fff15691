#include "live/config/learnt.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace muster {

namespace {

using nlohmann::json;

constexpr std::size_t kMostPoints = 16;
constexpr double kMostRate = 1e9;
constexpr double kMostMib = 1e12;
constexpr std::size_t kMostKeyBytes = 512;

json to_json(const Learnt& learnt) {
  const MeasuredProfile& measured = learnt.measured;
  json out = {{"key", measured.name},
              {"user", learnt.user},
              {"name", learnt.name},
              {"gpus", measured.gpus},
              {"points", points_json(measured.curve)},
              {"reach", measured.reach},
              {"unix_s", learnt.unix_s},
              {"time_us", learnt.time.us()}};
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

Result<Learnt> from_json(const json& in) {
  Learnt out;
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
  if (points.empty() || points.size() > kMostPoints) {
    return Error{fmt::format("points: 1 to {} of them", kMostPoints), ErrorCode::kInvalid};
  }
  for (const json& each : points) {
    CurvePoint point;
    point.cpu_milli = each.at(0).get<std::int64_t>();
    point.rate = amount(each.at(1), kMostRate);
    point.error = amount(each.at(2), 1e6);
    if (point.cpu_milli < 1 || point.cpu_milli > kMostRequestCpus.milli || point.rate <= 1e-9) {
      return Error{"points: CPUs in thousandths and steps a second, both above zero",
                   ErrorCode::kInvalid};
    }
    measured.curve.add(point);
  }
  if (in.contains("data")) {
    const json& data = in.at("data");
    measured.data = DataFacts{amount(data.at(0), kMostMib), amount(data.at(1), kMostMib),
                              amount(data.at(2), kMostMib), amount(data.at(3), kMostMib),
                              amount(data.at(4), kMostMib)};
    if (const Refusal refusal = check_data(*measured.data)) return *refusal;
  }
  if (measured.gpus < 1 || measured.gpus > kMostRequestGpus)
    return Error{"gpus: out of range", ErrorCode::kInvalid};
  if (measured.reach < 0 || measured.reach > kMostRequestCpus.milli || out.time < Duration() ||
      measured.name.empty() || measured.name.size() > kMostKeyBytes) {
    return Error{"a number or name is out of range", ErrorCode::kInvalid};
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

std::string learnt_json(const Learnt& learnt) {
  return to_json(learnt).dump(-1, ' ', false, json::error_handler_t::replace);
}

Result<Learnt> read_learnt(std::string_view text) {
  try {
    return from_json(json::parse(text));
  } catch (const std::exception& error) {
    return Error{std::string("not what was measured of a job: ") + error.what(),
                 ErrorCode::kInvalid};
  }
}

std::string with_learnt(std::string_view settings, std::span<const Learnt> learnt) {
  json out = json::parse(settings);
  out.erase("learnt");
  for (const Learnt& each : learnt) out["learnt"].push_back(to_json(each));
  return out.dump(-1, ' ', false, json::error_handler_t::replace);
}

Result<std::vector<Learnt>> learnt_in(std::string_view settings) {
  std::vector<Learnt> all;
  try {
    const json in = json::parse(settings);
    if (!in.contains("learnt")) return all;
    for (const json& each : in.at("learnt")) {
      Result<Learnt> learnt = from_json(each);
      if (!learnt.ok()) return learnt.error();
      all.push_back(std::move(learnt).value());
    }
  } catch (const std::exception& error) {
    return Error{std::string("learnt: ") + error.what(), ErrorCode::kCorrupt};
  }
  return all;
}

const Learnt* find_learnt(std::span<const Learnt> all, std::string_view key) {
  for (const Learnt& each : all) {
    if (each.measured.name == key) return &each;
  }
  return nullptr;
}

void learn(std::vector<Learnt>& all, Learnt fresh) {
  std::erase_if(all, [&](const Learnt& each) { return each.measured.name == fresh.measured.name; });
  const auto theirs = [&](const Learnt& each) { return each.user == fresh.user; };
  if (std::count_if(all.begin(), all.end(), theirs) >= kMostLearntOfOne) {
    all.erase(std::find_if(all.begin(), all.end(), theirs));
  }
  if (all.size() >= kMostLearnt) all.erase(all.begin());
  all.push_back(std::move(fresh));
}

std::string need_words(const Learnt& learnt) {
  const MeasuredProfile& measured = learnt.measured;
  const double each = static_cast<double>(measured.curve.need()) / 1000 / measured.gpus;
  const std::size_t points = measured.curve.points().size();
  return fmt::format("{} {:.3g} CPU{} a GPU, measured at {} share{} of CPU in {:.0f} s",
                     measured.reach > 0 ? "is faster still with more than" : "needs", each,
                     each == 1 ? "" : "s", points, points == 1 ? "" : "s",
                     learnt.time.in_seconds());
}

}  // namespace muster
