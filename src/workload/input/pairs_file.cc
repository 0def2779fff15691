#include "workload/input/pairs_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <utility>

#include "base/file/csv.h"
#include "base/file/csv_rows.h"
#include "base/file/text_file.h"
#include "base/text/name_table.h"
#include "base/text/text.h"
#include "base/text/utf8.h"
#include "engine/model/topology.h"

namespace muster {

namespace {

// The columns, in any order in the file.
enum Column : std::size_t { kFirst, kGpus, kSecond, kAlone, kFirstSpeed, kSecondSpeed };
constexpr std::array<std::string_view, 6> kColumns = {"job_type_1",      "scale_factor",
                                                      "job_type_2",      "tput1_alone",
                                                      "tput1_colocated", "tput2_colocated"};

constexpr std::int64_t kMaxGpus = std::int64_t{kMaxNodes} * kMaxGpusPerNode;
constexpr double kFastest = 1e9;  // Maximum steps per second; 1 / kFastest: the minimum.

struct Row {
  std::uint32_t first = 0;   // Index in PairsParser::models_.
  std::uint32_t second = 0;  // Index in PairsParser::models_.
  std::int32_t gpus = 1;
  double alone = 0;         // Steps per second of the first job by itself.
  double first_speed = 0;   // Steps per second of the first job with the second.
  double second_speed = 0;  // Steps per second of the second job with the first.
  std::int64_t line = 0;
};

struct Known {
  double speed = 0;
  std::int64_t line = 0;
};

class PairsParser {
 public:
  PairsParser(std::string_view text, const std::string& file)
      : rows_(text, file, CsvRows::Comments::kHash) {}

  MaybeError read();
  PairsFile build(ProfileTable& profiles) const;  // REQUIRES: read() returned no error.

 private:
  MaybeError map_header();
  MaybeError parse_row();
  MaybeError set_model(Column column, std::uint32_t& out);
  MaybeError set_speed(Column column, double least, double& out) const;
  MaybeError remember(const Row& row);
  MaybeError check_partners() const;
  std::vector<ProfileId> profiles_of_models(ProfileTable& profiles, PairsFile& out) const;

  std::string_view cell(Column column) const { return rows_.fields()[places_[column]]; }
  Error fail(Column column, std::string_view what) const {
    return rows_.fail(fmt::format("{}: {}", kColumns[column], what));
  }

  CsvRows rows_;
  std::array<std::size_t, kColumns.size()> places_ = {};
  NameTable models_;
  std::vector<Row> pairs_;
  std::map<std::pair<std::uint32_t, std::int32_t>, Known> alone_;  // By model and GPUs.
  std::map<std::array<std::int64_t, 3>, std::int64_t> seen_;       // By both models and GPUs.
};

MaybeError PairsParser::map_header() {
  const std::vector<std::string_view>& fields = rows_.fields();
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const auto at = std::find(kColumns.begin(), kColumns.end(), fields[i]);
    if (at == kColumns.end()) {
      return rows_.fail("header: unknown column: " + in_quotes(fields[i]) +
                        suggestion(fields[i], kColumns));
    }
    if (std::find(fields.begin(), fields.begin() + static_cast<std::ptrdiff_t>(i), fields[i]) !=
        fields.begin() + static_cast<std::ptrdiff_t>(i)) {
      return rows_.fail("header: column named twice: " + in_quotes(fields[i]));
    }
    places_[static_cast<std::size_t>(at - kColumns.begin())] = i;
  }
  for (const std::string_view column : kColumns) {
    if (std::find(fields.begin(), fields.end(), column) != fields.end()) continue;
    return rows_.fail(
        fmt::format("{}: column missing from the header: {}", column, in_quotes(rows_.line())));
  }
  return std::nullopt;
}

MaybeError PairsParser::set_model(Column column, std::uint32_t& out) {
  const std::string_view text = cell(column);
  if (text.empty()) return fail(column, "empty: ''");
  if (const char* fault = text_fault(text)) {
    return fail(column, fmt::format("{}: {}", fault, in_quotes(text)));
  }
  out = models_.intern(text);
  if (models_.size() - 1 > kMaxPairModels) {
    return fail(column, fmt::format("too many models; the maximum is {}", kMaxPairModels));
  }
  return std::nullopt;
}

MaybeError PairsParser::set_speed(Column column, double least, double& out) const {
  const Result<double> speed = parse_number(cell(column));
  if (!speed.ok()) return fail(column, speed.error().message);
  if (speed.value() < least || speed.value() > kFastest) {
    return fail(column,
                fmt::format("not between {} and {}: {}", least, kFastest, in_quotes(cell(column))));
  }
  out = speed.value();
  return std::nullopt;
}

MaybeError PairsParser::parse_row() {
  if (MaybeError refusal = rows_.check_width(kColumns.size())) return refusal;
  if (pairs_.size() == kMaxPairRows) {
    return rows_.fail(fmt::format("too many pairs; the maximum is {}", kMaxPairRows));
  }
  Row row;
  row.line = rows_.number();
  if (MaybeError refusal = set_model(kFirst, row.first)) return refusal;
  if (MaybeError refusal = set_model(kSecond, row.second)) return refusal;
  const Result<std::int64_t> gpus = parse_int(cell(kGpus));
  if (!gpus.ok()) return fail(kGpus, gpus.error().message);
  if (gpus.value() < 1 || gpus.value() > kMaxGpus) {
    return fail(kGpus, fmt::format("not between 1 and {}: {}", kMaxGpus, in_quotes(cell(kGpus))));
  }
  row.gpus = static_cast<std::int32_t>(gpus.value());
  if (MaybeError refusal = set_speed(kAlone, 1 / kFastest, row.alone)) return refusal;
  if (MaybeError refusal = set_speed(kFirstSpeed, 0, row.first_speed)) return refusal;
  if (MaybeError refusal = set_speed(kSecondSpeed, 0, row.second_speed)) return refusal;
  return remember(row);
}

MaybeError PairsParser::remember(const Row& row) {
  const auto [pair, is_new] = seen_.insert({{row.first, row.second, row.gpus}, row.line});
  if (!is_new) {
    return fail(kSecond, fmt::format("pair given twice: {}; first on line {}",
                                     in_quotes(models_[row.second]), pair->second));
  }
  const auto [known, first_time] = alone_.insert({{row.first, row.gpus}, {row.alone, row.line}});
  if (!first_time && known->second.speed != row.alone) {
    return fail(kAlone, fmt::format("{}, but line {} has {}", row.alone, known->second.line,
                                    known->second.speed));
  }
  pairs_.push_back(row);
  return std::nullopt;
}

// The speed of the second job alone is in the rows in which it is the first job.
MaybeError PairsParser::check_partners() const {
  for (const Row& row : pairs_) {
    if (alone_.contains({row.second, row.gpus})) continue;
    return rows_.fail_at(
        row.line,
        fmt::format("{}: no row has its speed alone, as {} with {} {}: {}", kColumns[kSecond],
                    kColumns[kFirst], kColumns[kGpus], row.gpus, in_quotes(models_[row.second])));
  }
  return std::nullopt;
}

MaybeError PairsParser::read() {
  if (!rows_.next()) return rows_.fail_at(1, "no pairs: the file is empty");
  MaybeError refusal = rows_.read([this] { return map_header(); }, [this] { return parse_row(); });
  if (refusal) return refusal;
  if (pairs_.empty()) return rows_.fail("no pairs: nothing after the header");
  return check_partners();
}

std::vector<ProfileId> PairsParser::profiles_of_models(ProfileTable& profiles,
                                                       PairsFile& out) const {
  std::vector<ProfileId> ids = {ProfileTable::kUnknown};  // For entry 0, "".
  std::vector<std::string> added;
  for (std::uint32_t model = 1; model < models_.size(); ++model) {
    ids.push_back(profiles.find(models_[model]));
    if (ids.back() != ProfileTable::kUnknown) continue;
    ids.back() = profiles.add(Profile::unknown(models_[model])).value();
    added.push_back(models_[model]);
  }
  if (!added.empty()) {
    out.notes.push_back(
        fmt::format("{}: {} without a profile: {}", rows_.file(),
                    added.size() == 1 ? "1 model is" : fmt::format("{} models are", added.size()),
                    first_few(added)));
  }
  return ids;
}

PairsFile PairsParser::build(ProfileTable& profiles) const {
  PairsFile out;
  const std::vector<ProfileId> ids = profiles_of_models(profiles, out);
  std::size_t lowered = 0;
  std::size_t disagreeing = 0;
  for (const Row& row : pairs_) {
    const double first = row.first_speed / row.alone;
    const double second = row.second_speed / alone_.at({row.second, row.gpus}).speed;
    const PairSpeed speed = {std::min(first, 1.0), std::min(second, 1.0)};
    // An earlier line has the pair in the other order.
    if (const auto known = out.table.find(ids[row.first], ids[row.second], row.gpus)) {
      if (*known != speed) ++disagreeing;
      continue;
    }
    lowered += std::size_t{first > 1} + std::size_t{second > 1};
    out.table.add(ids[row.first], ids[row.second], row.gpus, speed);
  }
  if (lowered > 0) {
    out.notes.push_back(
        fmt::format("{}: {} speeds with another job were above the speed alone and were lowered "
                    "to it",
                    rows_.file(), lowered));
  }
  if (disagreeing > 0) {
    out.notes.push_back(fmt::format(
        "{}: {} measured in both orders with different speeds; the first in the file is used",
        rows_.file(), disagreeing == 1 ? "1 pair" : fmt::format("{} pairs", disagreeing)));
  }
  return out;
}

}  // namespace

Result<PairsFile> parse_pairs(std::string_view text, const std::string& name,
                              ProfileTable& profiles) {
  PairsParser parser(text, name);
  if (const MaybeError refusal = parser.read()) return *refusal;
  return parser.build(profiles);
}

Result<PairsFile> read_pairs(const std::string& path, ProfileTable& profiles) {
  return read_and_parse(path, [&](std::string_view text, const std::string& name) {
    return parse_pairs(text, name, profiles);
  });
}

}  // namespace muster
