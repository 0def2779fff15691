#include "engine/fit/measured_profile.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/types/check.h"

namespace muster {

namespace {

constexpr int kRowsBetween = 8;
constexpr double kNearly = 0.98;
constexpr double kMinSpeed = 1e-8;
constexpr std::size_t kMaxLabel = 64;
constexpr int kGridCpus = 24;
constexpr int kGridMems = 11;

void add_point(std::vector<std::int64_t>& points, std::int64_t point) {
  const auto place = std::lower_bound(points.begin(), points.end(), point);
  if (place == points.end() || *place != point) points.insert(place, point);
}

// Rows for one GPU: the measured points, the need, and points between them, for mechanisms that
// allocate CPUs in small units.
std::vector<std::int64_t> cpu_rows(const MeasuredProfile& measured) {
  const auto each = [&](std::int64_t cpu_milli) {
    return std::max<std::int64_t>(1, (cpu_milli + measured.gpus - 1) / measured.gpus);
  };
  std::vector<std::int64_t> rows;
  for (const CurvePoint& point : measured.curve.points()) add_point(rows, each(point.cpu_milli));
  if (measured.reach > 0) add_point(rows, each(measured.reach));
  const std::int64_t low = rows.front();
  const std::int64_t high = rows.back();
  const std::int64_t need = measured.curve.need();
  add_point(rows, std::clamp(each(need), low, high));
  for (int i = 1; i < kRowsBetween; ++i) {
    add_point(rows, std::max(low, (low + (high - low) * i / kRowsBetween + 5) / 10 * 10));
  }
  // Remove rows that are nearly at full speed. A reader takes the cheapest point that is fast
  // enough as the job's need; noise must not select a slower point.
  std::erase_if(rows, [&](std::int64_t row) {
    const std::int64_t cpu_milli = row * measured.gpus;
    return cpu_milli < need && measured.curve.at(cpu_milli) > kNearly * measured.curve.best();
  });
  // The speed is defined as 1 at the reference share; a row there makes it exact.
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

// From `need` on, the rate is the best rate: the last percent is noise and not worth CPUs. If the
// curve was still rising, extrapolate from its last two points.
std::vector<double> rates_of(const MeasuredProfile& measured,
                             const std::vector<std::int64_t>& rows) {
  const SpeedCurve& curve = measured.curve;
  const std::int64_t last = curve.points().back().cpu_milli;
  const std::size_t count = curve.points().size();
  const std::int64_t before = count > 1 ? curve.points()[count - 2].cpu_milli : 0;
  const double slope = (curve.best() - curve.at(before)) /
                       static_cast<double>(std::max<std::int64_t>(1, last - before));
  const std::int64_t need = curve.need();
  std::vector<double> rates;
  for (const std::int64_t row : rows) {
    const std::int64_t cpu_milli = row * measured.gpus;
    if (measured.reach > last && cpu_milli > last) {
      rates.push_back(curve.best() + slope * static_cast<double>(cpu_milli - last));
    } else if (measured.reach <= last && cpu_milli >= need) {
      rates.push_back(curve.best());
    } else {
      rates.push_back(curve.at(cpu_milli));
    }
  }
  return rates;
}

// Makes a name that is valid in profile files.
std::string label(std::string_view name) {
  std::string out;
  for (const char c : name.substr(0, kMaxLabel)) {
    const bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                       std::string_view("._-+:/").find(c) != std::string_view::npos;
    out += plain ? c : '_';
  }
  return out.empty() ? "job" : out;
}

std::string numbers(const std::vector<double>& values) {
  std::string out;
  for (const double value : values) {
    out += fmt::format("{}{:.6g}", out.empty() ? "" : ", ", value);
  }
  return "[" + out + "]";
}

}  // namespace

Result<SpeedMatrix> matrix_of(const MeasuredProfile& measured) {
  MUSTER_CHECK(!measured.curve.points().empty() && measured.gpus > 0);
  SpeedMatrix matrix;
  matrix.cpu_milli = cpu_rows(measured);
  const std::vector<double> rates = rates_of(measured, matrix.cpu_milli);
  matrix.mem_mib = memory_columns(measured, rates);
  const std::size_t width = matrix.mem_mib.size();
  for (const double rate : rates) {
    for (const std::int64_t mem : matrix.mem_mib) {
      const auto of_job = static_cast<double>(mem * measured.gpus);
      const double actual =
          measured.data ? 1 / step_seconds(1 / rate, of_job, *measured.data) : rate;
      double speed = std::max(actual / measured.curve.best(), kMinSpeed);
      // Make the speed exactly monotone, despite rounding.
      const std::size_t at = matrix.speed.size();
      if (at % width > 0) speed = std::max(speed, matrix.speed[at - 1]);
      if (at >= width) speed = std::max(speed, matrix.speed[at - width]);
      matrix.speed.push_back(speed);
    }
  }
  if (const MaybeError refusal = check_matrix(matrix)) return *refusal;
  const double reference = Profile::matrix("", matrix).speed(kReferenceShare);
  for (double& speed : matrix.speed) speed /= reference;
  if (const MaybeError refusal = check_matrix(matrix)) return *refusal;
  return matrix;
}

Result<Profile> profile_of(const MeasuredProfile& measured, double scale) {
  Result<SpeedMatrix> made = matrix_of(measured);
  if (!made.ok()) return made.error();
  SpeedMatrix& matrix = made.value();
  for (double& speed : matrix.speed) speed *= scale;
  if (const MaybeError refusal = check_matrix(matrix)) return *refusal;
  Profile profile =
      measured.data ? Profile::matrix(measured.name, matrix)
                    : Profile::cpu_curve(measured.name, matrix.cpu_milli, std::move(matrix.speed));
  profile.state_skew(measured.skew);
  return profile;
}

Result<std::string> profile_yaml(const MeasuredProfile& measured) {
  const Result<SpeedMatrix> made = matrix_of(measured);
  if (!made.ok()) return made.error();
  const SpeedMatrix& matrix = made.value();
  const std::size_t width = matrix.mem_mib.size();
  std::string out;
  for (const std::string& remark : measured.remarks) out += "# " + remark + "\n";
  out += "profiles:\n  - name: " + label(measured.name) + "\n";
  const std::int64_t reference = kReferenceShare.cpu_milli * measured.gpus;
  const double rate = measured.curve.at(reference);
  double step = 1 / rate;
  if (measured.data) {
    step = step_seconds(step, static_cast<double>(kReferenceShare.mem_mib * measured.gpus),
                        *measured.data);
  }
  out += fmt::format("    iteration_seconds: {:.6g}\n", std::clamp(step, 1e-6, 1e5));
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
