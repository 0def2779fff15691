#include "workload/input/throughputs_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/file/csv.h"
#include "base/file/csv_rows.h"
#include "base/file/text_file.h"
#include "base/text/numbers.h"
#include "base/text/text.h"
#include "base/text/utf8.h"
#include "engine/model/topology.h"

namespace muster {

namespace {

enum Column : std::size_t { kModel, kBatch, kGpus, kSpeed, kSteps };
constexpr std::array<std::string_view, 5> kColumns = {"model", "batch_size", "scale_factor",
                                                      "steps_per_s", "steps"};
// Used if the file has columns for several GPU types: Gavel computes steps for this type.
constexpr std::string_view kReferenceSpeed = "v100_steps_per_s";

constexpr std::int64_t kMaxGpus = std::int64_t{kMaxNodes} * kMaxGpusPerNode;
constexpr double kFastest = 1e9;  // Maximum steps per second; the minimum is 1 / kFastest.

class ThroughputParser {
 public:
  ThroughputParser(std::string_view text, std::string file)
      : rows_(text, std::move(file), CsvRows::Comments::kHash) {}

  Result<ThroughputTable> run();

 private:
  MaybeError map_header();
  MaybeError parse_row();
  MaybeError set_count(Column column, std::int64_t least, std::int64_t& out) const;

  std::string_view cell(Column column) const {
    return places_[column] ? rows_.fields()[*places_[column]] : std::string_view();
  }
  Error fail(std::string_view what) const { return rows_.fail(what); }
  Error fail(Column column, std::string_view what) const {
    return fail(fmt::format("{}: {}", kColumns[column], what));
  }

  CsvRows rows_;
  std::array<std::optional<std::size_t>, kColumns.size()> places_ = {};
  std::size_t width_ = 0;
  ThroughputTable table_;
};

MaybeError ThroughputParser::map_header() {
  const std::vector<std::string_view>& fields = rows_.fields();
  width_ = fields.size();
  std::optional<std::size_t> reference;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (fields[i] == kReferenceSpeed) reference = i;
    if (fields[i].ends_with("_steps_per_s")) continue;
    const auto at = std::find(kColumns.begin(), kColumns.end(), fields[i]);
    if (at == kColumns.end()) {
      return fail("header: unknown column: " + in_quotes(fields[i]) +
                  suggestion(fields[i], kColumns));
    }
    std::optional<std::size_t>& place = places_[static_cast<std::size_t>(at - kColumns.begin())];
    if (place) return fail("header: column named twice: " + in_quotes(fields[i]));
    place = i;
  }
  if (!places_[kSpeed]) places_[kSpeed] = reference;
  for (const Column column : {kModel, kGpus, kSpeed}) {
    if (places_[column]) continue;
    return fail(column, "column missing from the header: " + in_quotes(rows_.line()));
  }
  return std::nullopt;
}

// Does not change `out` if the cell is empty.
MaybeError ThroughputParser::set_count(Column column, std::int64_t least, std::int64_t& out) const {
  if (cell(column).empty()) return std::nullopt;
  const std::optional<std::int64_t> count = whole_number(cell(column));
  if (!count) return fail(column, parse_int(cell(column)).error().message);
  if (*count < least) {
    return fail(column, fmt::format("must be at least {}: {}", least, in_quotes(cell(column))));
  }
  out = *count;
  return std::nullopt;
}

MaybeError ThroughputParser::parse_row() {
  if (MaybeError refusal = rows_.check_width(width_)) return refusal;
  if (table_.size() == kMaxThroughputs) {
    return fail(fmt::format("too many throughputs; the maximum is {}", kMaxThroughputs));
  }
  const std::string_view model = cell(kModel);
  if (model.empty()) return fail(kModel, "empty: ''");
  if (const char* fault = text_fault(model)) {
    return fail(kModel, fmt::format("{}: {}", fault, in_quotes(model)));
  }
  std::int64_t batch = 0;
  std::int64_t gpus = 1;
  Throughput throughput;
  if (MaybeError refusal = set_count(kBatch, 1, batch)) return refusal;
  if (MaybeError refusal = set_count(kGpus, 1, gpus)) return refusal;
  if (MaybeError refusal = set_count(kSteps, 1, throughput.steps)) return refusal;
  if (gpus > kMaxGpus) {
    return fail(kGpus, fmt::format("must be at most {}: {}", kMaxGpus, in_quotes(cell(kGpus))));
  }
  const Result<double> speed = parse_number(cell(kSpeed));
  if (!speed.ok()) return fail(kSpeed, speed.error().message);
  if (speed.value() < 1 / kFastest || speed.value() > kFastest) {
    return fail(kSpeed, fmt::format("not between {} and {}: {}", 1 / kFastest, kFastest,
                                    in_quotes(cell(kSpeed))));
  }
  throughput.steps_per_second = speed.value();
  if (!table_.add(std::string(model), batch, gpus, throughput)) {
    return fail(kModel, fmt::format("given twice with this batch size on {} GPU{}: {}", gpus,
                                    gpus == 1 ? "" : "s", in_quotes(model)));
  }
  return std::nullopt;
}

Result<ThroughputTable> ThroughputParser::run() {
  if (!rows_.next()) return fail("no throughputs: the file is empty");
  const MaybeError refusal =
      rows_.read([this] { return map_header(); }, [this] { return parse_row(); });
  if (refusal) return *refusal;
  if (table_.size() == 0) return fail("no throughputs: nothing after the header");
  return std::move(table_);
}

}  // namespace

bool ThroughputTable::add(std::string model, std::int64_t batch, std::int64_t gpus,
                          Throughput throughput) {
  const bool is_new = models_[std::move(model)].insert({{batch, gpus}, throughput}).second;
  if (is_new) ++size_;
  return is_new;
}

std::optional<Throughput> ThroughputTable::find(std::string_view model, std::int64_t batch,
                                                std::int64_t gpus) const {
  const auto known = models_.find(model);
  if (known == models_.end()) return std::nullopt;
  const auto entry = known->second.find({batch, gpus});
  if (entry == known->second.end()) return std::nullopt;
  return entry->second;
}

std::vector<std::string_view> ThroughputTable::models() const {
  std::vector<std::string_view> names;
  for (const auto& [model, entries] : models_) names.push_back(model);
  return names;
}

std::vector<std::string> ThroughputTable::entries_of(std::string_view model) const {
  std::vector<std::string> texts;
  const auto known = models_.find(model);
  if (known == models_.end()) return texts;
  for (const auto& [size, throughput] : known->second) {
    texts.push_back(fmt::format("batch size {} on {} GPU{}", size.first, size.second,
                                size.second == 1 ? "" : "s"));
  }
  return texts;
}

Result<ThroughputTable> parse_throughputs(std::string_view text, const std::string& name) {
  if (looks_binary(text)) return Error{name + ":1: not a text file"};
  return ThroughputParser(text, name).run();
}

Result<ThroughputTable> read_throughputs(const std::string& path) {
  return read_and_parse(path, parse_throughputs);
}

}  // namespace muster
