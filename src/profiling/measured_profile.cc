#include "profiling/measured_profile.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"

namespace muster {

namespace {

constexpr int kRowsBetween = 8;
constexpr double kNearly = 0.98;
constexpr int kGridCpus = 24;
constexpr int kGridMems = 11;

void add_point(std::vector<std::int64_t>& points, std::int64_t point) {
  const auto place = std::lower_bound(points.begin(), points.end(), point);
  if (place == points.end() || *place != point) points.insert(place, point);
}

// Of one GPU: what was measured, what it needs, and enough between for whoever deals out CPUs in
// small change.
std::vector<std::int64_t> cpu_rows(const MeasuredProfile& measured) {
  const auto each = [&](std::int64_t cpu_milli) {
    return std::max<std::int64_t>(1, (cpu_milli + measured.gpus - 1) / measured.gpus);
  };
  std::vector<std::int64_t> rows;
  for (const CurvePoint& point : measured.curve.points()) add_point(rows, each(point.cpu_milli));
  if (measured.reach > 0) add_point(rows, each(measured.reach));
  const std::int64_t low = rows.front();
  const std::int64_t high = rows.back();
  add_point(rows, std::clamp(each(measured.curve.need()), low, high));
  for (int i = 1; i < kRowsBetween; ++i) {
    add_point(rows, (low + (high - low) * i / kRowsBetween + 5) / 10 * 10);
  }
  // Where it is nearly as fast as it gets is no row: whoever reads the profile takes the cheapest
  // point that is fast enough for what the job needs, and noise must not make that one slower.
  const std::int64_t need = measured.curve.need();
  std::erase_if(rows, [&](std::int64_t row) {
    const std::int64_t cpu_milli = row * measured.gpus;
    return cpu_milli < need && measured.curve.at(cpu_milli) > kNearly * measured.curve.best();
  });
  // At the reference share a speed is 1; a row there makes it just that.
  if (low < kReferenceShare.cpu_milli && kReferenceShare.cpu_milli < high) {
    add_point(rows, kReferenceShare.cpu_milli);
  }
  return rows;
}

std::vector<std::int64_t> memory_columns(const MeasuredProfile& measured,
                                         const std::vector<double>& rates) {
  if (!measured.data) return {1};
  std::vector<double> steps;
  for (const double rate : rates) steps.push_back(1 / rate);
  std::vector<std::int64_t> columns;
  for (const std::int64_t point : memory_points(steps, *measured.data)) {
    add_point(columns, std::max<std::int64_t>(1, (point + measured.gpus - 1) / measured.gpus));
  }
  const std::int64_t reference = kReferenceShare.mem_mib;
  if (columns.front() < reference && reference < columns.back()) add_point(columns, reference);
  return columns;
}

std::string numbers(const std::vector<double>& values) {
  std::string out;
  for (const double value : values) {
    out += fmt::format("{}{:.6g}", out.empty() ? "" : ", ", value);
  }
  return "[" + out + "]";
}

}  // namespace

SpeedMatrix matrix_of(const MeasuredProfile& measured) {
  MUSTER_CHECK(!measured.curve.points().empty() && measured.gpus > 0);
  SpeedMatrix matrix;
  matrix.cpu_milli = cpu_rows(measured);
  std::vector<double> rates;
  const std::int64_t enough = measured.curve.need();
  const std::int64_t last = measured.curve.points().back().cpu_milli;
  for (const std::int64_t row : matrix.cpu_milli) {
    const std::int64_t cpu_milli = row * measured.gpus;
    // The last hundredths are noise: nobody should be given CPUs for them.
    const bool beyond = measured.reach > last && cpu_milli > last;
    const bool all = measured.reach <= last && cpu_milli >= enough;
    rates.push_back(beyond ? measured.curve.best() * static_cast<double>(cpu_milli) /
                                 static_cast<double>(last)
                    : all ? measured.curve.best()
                          : measured.curve.at(cpu_milli));
  }
  matrix.mem_mib = memory_columns(measured, rates);
  for (const double rate : rates) {
    for (const std::int64_t mem : matrix.mem_mib) {
      const auto of_job = static_cast<double>(mem * measured.gpus);
      matrix.speed.push_back(measured.data ? 1 / step_seconds(1 / rate, of_job, *measured.data)
                                           : rate);
    }
  }
  const double reference = Profile::matrix("", matrix).speed(kReferenceShare);
  for (double& speed : matrix.speed) speed /= reference;
  return matrix;
}

Profile profile_of(const MeasuredProfile& measured, double scale) {
  SpeedMatrix matrix = matrix_of(measured);
  for (double& speed : matrix.speed) speed *= scale;
  Profile profile =
      measured.data ? Profile::matrix(measured.name, matrix)
                    : Profile::cpu_curve(measured.name, matrix.cpu_milli, std::move(matrix.speed));
  profile.state_skew(measured.skew);
  return profile;
}

std::string profile_yaml(const MeasuredProfile& measured) {
  const SpeedMatrix matrix = matrix_of(measured);
  const std::size_t width = matrix.mem_mib.size();
  std::string out;
  for (const std::string& remark : measured.remarks) out += "# " + remark + "\n";
  out += "profiles:\n  - name: " + measured.name + "\n";
  const std::int64_t reference = kReferenceShare.cpu_milli * measured.gpus;
  const double rate = measured.curve.at(reference);
  double step = 1 / rate;
  if (measured.data) {
    step = step_seconds(step, static_cast<double>(kReferenceShare.mem_mib * measured.gpus),
                        *measured.data);
  }
  out += fmt::format("    iteration_seconds: {:.6g}\n", step);
  if (measured.skew > 0) out += fmt::format("    skew: {:.4g}\n", measured.skew);
  std::vector<double> cpus;
  for (const std::int64_t cpu : matrix.cpu_milli) cpus.push_back(static_cast<double>(cpu) / 1000);
  out += "    matrix:\n      cpus: " + numbers(cpus) + "\n";
  if (measured.data) {
    std::vector<double> mems;
    for (const std::int64_t mem : matrix.mem_mib) mems.push_back(static_cast<double>(mem) / 1024);
    std::string list;
    for (const double mem : mems) list += fmt::format("{}{:.10g}", list.empty() ? "" : ", ", mem);
    out += "      mem_gb: [" + list + "]\n";
  }
  out += "      speed:\n";
  for (std::size_t row = 0; row < matrix.cpu_milli.size(); ++row) {
    const auto begin = matrix.speed.begin() + static_cast<std::ptrdiff_t>(row * width);
    out += "        - " +
           numbers(std::vector<double>(begin, begin + static_cast<std::ptrdiff_t>(width))) + "\n";
  }
  return out;
}

GridCost grid_cost(const MeasuredProfile& measured, Duration measured_time) {
  const auto points = static_cast<std::int64_t>(measured.curve.points().size());
  GridCost cost;
  cost.points = kGridCpus * (measured.data ? kGridMems : 1);
  if (points > 0) cost.time = Duration::micros(measured_time.us() / points * cost.points);
  return cost;
}

}  // namespace muster
