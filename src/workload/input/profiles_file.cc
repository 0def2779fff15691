#include "workload/input/profiles_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "base/file/document.h"
#include "base/file/item_reader.h"
#include "base/file/item_text.h"
#include "base/text/text.h"
#include "base/types/check.h"
#include "workload/input/profile_training.h"

namespace muster {

namespace {

constexpr std::size_t kMaxProfiles = 1'000;
constexpr std::size_t kMaxAxisPoints = 256;
constexpr std::string_view kSynergySet = "models";  // For 3 CPUs per GPU, the reference share.

constexpr Bounds kCpus = {0.001, 1e6};
constexpr Bounds kMemGb = {0.001, 1e6};
constexpr Bounds kSpeed = {1e-9, 1e6};
constexpr Bounds kStepSeconds = {1e-6, 1e5};
constexpr Bounds kSpeedup = {0.001, 1e6};
constexpr Bounds kBatch = {1, 1e9};

constexpr std::array<std::string_view, 1> kProfileFileKeys = {"profiles"};
constexpr std::array<std::string_view, 14> kProfileKeys = {
    "name",          "task",           "batch", "iteration_seconds", "ideal", "matrix",
    "formula",       "gpu_types",      "skew",  "scaling",           "loss",  "gpu_use",
    "parameters_mb", "compute_seconds"};
constexpr std::array<std::string_view, 3> kIdealKeys = {"cpus", "mem_gb", "speedup"};
constexpr std::array<std::string_view, 3> kMatrixKeys = {"cpus", "mem_gb", "speed"};
constexpr std::array<std::string_view, 5> kFormulaKeys = {
    "gpu_seconds", "cpu_seconds", "mib_per_step", "dataset_gb", "base_mem_gb"};

constexpr std::array<std::string_view, 6> kSynergyTopKeys = {"source", "units", "axes",
                                                             "server", "tasks", "profiles"};
constexpr std::array<std::string_view, 19> kSynergyKeys = {"set",
                                                           "cpu_per_gpu_ratio",
                                                           "name",
                                                           "model",
                                                           "task",
                                                           "gpus",
                                                           "cpus",
                                                           "mem",
                                                           "speed",
                                                           "batch",
                                                           "iter_time",
                                                           "iter_time_base",
                                                           "speedup",
                                                           "placement_penalty",
                                                           "cpu_axis",
                                                           "mem_axis",
                                                           "mem_axis_inferred",
                                                           "used_by_simulator",
                                                           "tput"};

std::int64_t profile_milli(double cpus) { return std::llround(cpus * 1000.0); }
std::int64_t to_mib(double gb) { return std::llround(gb * 1024.0); }

// Returns whether an entry without data about CPU and memory is useful.
bool states_facts(const Item& entry) {
  constexpr std::array<std::string_view, 6> kFacts = {"skew",    "scaling",   "loss",
                                                      "gpu_use", "gpu_types", "parameters_mb"};
  return std::any_of(kFacts.begin(), kFacts.end(),
                     [&](std::string_view key) { return entry.find(key) != nullptr; });
}

class ProfilesReader {
 public:
  explicit ProfilesReader(const std::string& file) : file_(file), reader_(file) {
    out_.facts.push_back({});  // For the unknown profile.
  }

  Result<ProfileFile> read(const Item& root) {
    const Item* entries = root.find("profiles");
    const bool synergy = entries != nullptr && !entries->items.empty() &&
                         entries->items.front().find("tput") != nullptr;
    if (synergy) {
      read_synergy(root);
    } else {
      reader_.allow_keys(root, kProfileFileKeys);
      for (const Item& entry : reader_.list(root, "profiles").items) read_profile(entry);
    }
    if (reader_.failed()) return reader_.error();
    return std::move(out_);
  }

 private:
  void read_profile(const Item& entry);
  void read_synergy(const Item& root);
  void read_synergy_profile(const Item& entry);
  std::optional<Profile> read_matrix(const std::string& name, const Item& cpus, const Item* mem,
                                     const Item& speed);
  void read_rows(const Item& cpus, const Item* mem, const Item& speed, SpeedMatrix& matrix);
  std::optional<Profile> read_formula(const std::string& name, const Item& formula);
  std::vector<std::int64_t> read_axis(const Item& list, Bounds bounds,
                                      std::int64_t (*convert)(double));
  void raise_falling(const std::string& name, const Item& where, SpeedMatrix& matrix);
  void add(const Item& entry, Profile profile, ProfileFacts facts);
  void note(const Item& where, const std::string& name, const std::string& what) {
    out_.notes.push_back(fmt::format("{}: {}: {}", reader_.at(where), name, what));
  }

  std::string file_;
  ItemReader reader_;
  ProfileFile out_;
};

void ProfilesReader::read_profile(const Item& entry) {
  if (reader_.failed()) return;
  reader_.allow_keys(entry, kProfileKeys);
  const std::string name = reader_.name(reader_.member(entry, "name"));
  const ProfileFacts facts = {reader_.name_or(entry, "task", ""),
                              reader_.whole_or(entry, "batch", kBatch, 0)};
  const Item* matrix = entry.find("matrix");
  const Item* formula = entry.find("formula");
  const Item* iteration = entry.find("iteration_seconds");
  if (matrix != nullptr && formula != nullptr) {
    reader_.refuse(entry, "'matrix' and 'formula' cannot be combined: " + in_quotes(name));
  }
  std::optional<Profile> profile;
  if (matrix != nullptr) {
    reader_.allow_keys(*matrix, kMatrixKeys);
    const Item& cpus = reader_.list(*matrix, "cpus");
    const Item* mem = matrix->find("mem_gb");
    if (mem != nullptr) reader_.expect_list(*mem);
    profile = read_matrix(name, cpus, mem, reader_.list(*matrix, "speed"));
  } else if (formula != nullptr) {
    if (iteration != nullptr)
      reader_.refuse(*iteration, "cannot be combined with 'formula'; remove it");
    profile = read_formula(name, *formula);
  } else if (entry.find("ideal") == nullptr && states_facts(entry)) {
    profile = Profile::unknown(name);
  } else {
    reader_.refuse(entry, "'matrix' or 'formula' is required: " + in_quotes(name));
  }
  const double seconds = iteration == nullptr ? 0 : reader_.number(*iteration, kStepSeconds);
  if (profile && iteration != nullptr) profile->state_iteration_seconds(seconds);
  if (const Item* ideal = entry.find("ideal")) {
    reader_.allow_keys(*ideal, kIdealKeys);
    const double cpus = reader_.number(reader_.member(*ideal, "cpus"), kCpus);
    const double mem = reader_.number(reader_.member(*ideal, "mem_gb"), kMemGb);
    const double speedup = reader_.number_or(*ideal, "speedup", kSpeedup, 0);
    if (profile) profile->state_ideal(profile_milli(cpus), to_mib(mem), speedup);
  }
  const double skew = reader_.number_or(entry, "skew", {0, 1}, 0);
  if (profile) profile->state_skew(skew);
  if (const Item* types = entry.find("gpu_types")) {
    if (types->kind != Item::Kind::kMap) reader_.refuse(*types, "not a map of GPU types to speeds");
    for (const Item& type : types->items) {
      reader_.check_name(type, type.key);
      const double factor = reader_.number(type, kSpeedup);
      if (profile) profile->state_gpu_factor(type.key, factor);
    }
  }
  if (reader_.failed()) return;
  read_training(reader_, entry, *profile);
  if (!reader_.failed()) add(entry, std::move(*profile), facts);
}

void ProfilesReader::read_synergy(const Item& root) {
  reader_.allow_keys(root, kSynergyTopKeys);
  std::vector<std::string> other_sets;
  std::size_t of_other_sets = 0;
  std::size_t of_several_gpus = 0;
  const std::vector<Item>& entries = reader_.list(root, "profiles").items;
  for (const Item& entry : entries) {
    reader_.allow_keys(entry, kSynergyKeys);
    const std::string set = reader_.name_or(entry, "set", kSynergySet);
    const std::int64_t gpus = reader_.whole(reader_.member(entry, "gpus"), {1, 1e6});
    if (reader_.failed()) return;
    if (set != kSynergySet) {
      ++of_other_sets;
      const bool listed = std::find(other_sets.begin(), other_sets.end(), set) != other_sets.end();
      if (!listed && other_sets.size() < 8) other_sets.push_back(set);
    } else if (gpus != 1) {
      ++of_several_gpus;
    } else {
      read_synergy_profile(entry);
    }
  }
  if (of_other_sets > 0) {
    out_.notes.push_back(fmt::format("{}: {} profiles of other sets ignored: {}", file_,
                                     of_other_sets, fmt::join(other_sets, ", ")));
  }
  if (of_several_gpus > 0) {
    out_.notes.push_back(
        fmt::format("{}: {} profiles for 2 or more GPUs ignored: the one for 1 GPU is used instead",
                    file_, of_several_gpus));
  }
  if (out_.table.names().empty()) {
    reader_.refuse(root, fmt::format("no profile of set '{}' for 1 GPU", kSynergySet));
  }
}

void ProfilesReader::read_synergy_profile(const Item& entry) {
  const std::string name = reader_.name(reader_.member(entry, "model"));
  const ProfileFacts facts = {reader_.name_or(entry, "task", ""),
                              reader_.whole_or(entry, "batch", kBatch, 0)};
  const double cpus = reader_.number(reader_.member(entry, "cpus"), kCpus);
  const double mem = reader_.number(reader_.member(entry, "mem"), kMemGb);
  const double speedup = reader_.number(reader_.member(entry, "speedup"), kSpeedup);
  const double seconds = reader_.number(reader_.member(entry, "iter_time"), kStepSeconds);
  const Item& cpu_axis = reader_.list(entry, "cpu_axis");
  const Item& mem_axis = reader_.list(entry, "mem_axis");
  std::optional<Profile> profile =
      read_matrix(name, cpu_axis, &mem_axis, reader_.list(entry, "tput"));
  if (reader_.failed()) return;
  profile->state_iteration_seconds(seconds);
  profile->state_ideal(profile_milli(cpus), to_mib(mem), speedup);
  add(entry, std::move(*profile), facts);
}

std::vector<std::int64_t> ProfilesReader::read_axis(const Item& list, Bounds bounds,
                                                    std::int64_t (*convert)(double)) {
  std::vector<std::int64_t> axis;
  if (list.items.size() > kMaxAxisPoints) {
    reader_.refuse(list, fmt::format("more than {} points", kMaxAxisPoints));
  }
  for (const Item& item : list.items) {
    if (reader_.failed()) break;
    const std::int64_t point = convert(reader_.number(item, bounds));
    if (!axis.empty() && point <= axis.back()) {
      reader_.refuse(item, "does not ascend: " + in_quotes(item.text));
    }
    axis.push_back(point);
  }
  return axis;
}

// Without a memory axis, each row is one value.
void ProfilesReader::read_rows(const Item& cpus, const Item* mem, const Item& speed,
                               SpeedMatrix& matrix) {
  if (speed.items.size() != matrix.cpu_milli.size()) {
    reader_.refuse(speed, fmt::format("{} rows for {} values of {}", speed.items.size(),
                                      matrix.cpu_milli.size(), cpus.key));
  }
  for (const Item& row : speed.items) {
    if (mem == nullptr && row.kind != Item::Kind::kList) {
      matrix.speed.push_back(reader_.number(row, kSpeed));
      continue;
    }
    reader_.expect_list(row);
    if (row.items.size() != matrix.mem_mib.size()) {
      reader_.refuse(row, mem == nullptr
                              ? "must have one value per row without 'mem_gb'"
                              : fmt::format("{} values in a row for {} values of {}",
                                            row.items.size(), matrix.mem_mib.size(), mem->key));
    }
    if (reader_.failed()) return;
    for (const Item& value : row.items) matrix.speed.push_back(reader_.number(value, kSpeed));
  }
}

std::optional<Profile> ProfilesReader::read_matrix(const std::string& name, const Item& cpus,
                                                   const Item* mem, const Item& speed) {
  SpeedMatrix matrix;
  matrix.cpu_milli = read_axis(cpus, kCpus, profile_milli);
  matrix.mem_mib = mem != nullptr ? read_axis(*mem, kMemGb, to_mib) : std::vector<std::int64_t>{1};
  read_rows(cpus, mem, speed, matrix);
  if (reader_.failed()) return std::nullopt;
  raise_falling(name, speed, matrix);
  if (const MaybeError refusal = check_matrix(matrix)) {
    reader_.refuse(speed, refusal->message);
    return std::nullopt;
  }
  const auto made = [&] {
    return mem != nullptr ? Profile::matrix(name, matrix)
                          : Profile::cpu_curve(name, matrix.cpu_milli, matrix.speed);
  };
  const double reference = made().speed(kReferenceShare);
  if (std::abs(reference - 1.0) <= 1e-9) return made();
  for (double& value : matrix.speed) value /= reference;
  if (const MaybeError refusal = check_matrix(matrix)) {
    reader_.refuse(speed, fmt::format("divided by {}, the value at 3 CPUs and 62.5 GB: {}",
                                      reference, refusal->message));
    return std::nullopt;
  }
  note(speed, name,
       fmt::format("divided by {}, the value at 3 CPUs and 62.5 GB, so that it is 1 there",
                   reference));
  return made();
}

// More resources never slow down training. A measurement that shows it is noise.
void ProfilesReader::raise_falling(const std::string& name, const Item& where,
                                   SpeedMatrix& matrix) {
  const std::size_t width = matrix.mem_mib.size();
  std::size_t raised = 0;
  for (std::size_t i = 0; i < matrix.speed.size(); ++i) {
    double most = matrix.speed[i];
    if (i >= width) most = std::max(most, matrix.speed[i - width]);
    if (i % width > 0) most = std::max(most, matrix.speed[i - 1]);
    if (most > matrix.speed[i]) ++raised;
    matrix.speed[i] = most;
  }
  if (raised == 0) return;
  note(where, name,
       fmt::format("{} of {} values fall as CPUs or memory grow; raised to the running maximum",
                   raised, matrix.speed.size()));
}

std::optional<Profile> ProfilesReader::read_formula(const std::string& name, const Item& formula) {
  constexpr Bounds kMibOrGb = {0, 1e6};
  constexpr double kReferenceGb = static_cast<double>(kReferenceShare.mem_mib) / 1024.0;
  reader_.allow_keys(formula, kFormulaKeys);
  SpeedFormula out;
  out.gpu_seconds = reader_.number(reader_.member(formula, "gpu_seconds"), kStepSeconds);
  out.cpu_seconds = reader_.number_or(formula, "cpu_seconds", {0, 1e5}, 0);
  out.mib_per_step = reader_.number_or(formula, "mib_per_step", kMibOrGb, 0);
  out.dataset_mib = 1024.0 * reader_.number_or(formula, "dataset_gb", kMibOrGb, 0);
  // A job that cannot start at the reference share has no speed relative to it.
  out.base_mem_mib = 1024.0 * reader_.number_or(formula, "base_mem_gb", {0, kReferenceGb}, 0);
  if (out.mib_per_step > 0 && out.dataset_mib <= 0) {
    reader_.refuse(formula,
                   "'mib_per_step' requires the size of the data: missing key: 'dataset_gb'");
  }
  if (reader_.failed()) return std::nullopt;
  return Profile::formula(name, out);
}

void ProfilesReader::add(const Item& entry, Profile profile, ProfileFacts facts) {
  if (out_.table.size() > kMaxProfiles) {
    reader_.refuse(entry, fmt::format("more than {} profiles", kMaxProfiles));
    return;
  }
  const std::string name = profile.name();
  if (!out_.table.add(std::move(profile)).ok()) {
    reader_.refuse(entry, "profile named twice: " + in_quotes(name));
    return;
  }
  out_.facts.push_back(std::move(facts));
}

}  // namespace

Result<ProfileFile> read_profiles(const std::string& path) {
  const Result<Item> root = read_document(path);
  if (!root.ok()) return root.error();
  return ProfilesReader(shown_path(path)).read(root.value());
}

Result<ProfileFile> parse_profiles(std::string_view text, const std::string& name) {
  const Result<Item> root = parse_document(text, name);
  if (!root.ok()) return root.error();
  return ProfilesReader(name).read(root.value());
}

std::string_view builtin_zoo_lines();  // Generated by the build.

ProfileFile builtin_zoo() {
  Result<ProfileFile> zoo = ProfilesReader("zoo.yaml").read(from_lines(builtin_zoo_lines()));
  MUSTER_CHECK(zoo.ok());
  MUSTER_CHECK(zoo.value().notes.empty());
  return std::move(zoo).value();
}

ProfileTable builtin_profiles() { return builtin_zoo().table; }

}  // namespace muster
