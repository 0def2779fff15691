#include "study/layers/layers_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <optional>
#include <utility>

#include "base/file/csv.h"
#include "base/file/csv_rows.h"
#include "base/file/document.h"
#include "base/file/item_reader.h"
#include "base/file/text_file.h"
#include "base/text/text.h"
#include "base/text/utf8.h"

namespace muster {

namespace {

// The columns of a CSV file, in any order, and the keys of a layer in JSON.
enum LayerField : std::size_t { kName, kType, kParameters, kOutput, kMacs };
constexpr std::array<std::string_view, 5> kFields = {"name", "type", "parameter_bytes",
                                                     "output_bytes", "macs"};
constexpr std::array<std::string_view, 2> kTopKeys = {"model", "layers"};

constexpr std::size_t kLongestName = 200;

std::string too_many() { return fmt::format("too many layers: the maximum is {}", kMaxLayers); }

// "vgg16" for "models/vgg16.csv".
std::string model_of(const std::string& path) {
  const std::string stem = std::filesystem::path(path).stem().string();
  return stem.empty() ? "model" : stem;
}

// Names identify a layer in the model, so each must be unique.
class LayerNames {
 public:
  // Returns the problem with another name, or nullopt.
  std::optional<std::string> refuse(std::string_view name, std::int64_t line) {
    if (name.empty()) return "empty: ''";
    if (name.size() > kLongestName) {
      return fmt::format("longer than {} bytes: {}", kLongestName, in_quotes(name));
    }
    if (const char* fault = text_fault(name)) return fmt::format("{}: {}", fault, in_quotes(name));
    const auto [known, is_new] = lines_.emplace(name, line);
    if (is_new) return std::nullopt;
    return fmt::format("layer named twice: {}; first on line {}", in_quotes(name), known->second);
  }

 private:
  std::map<std::string, std::int64_t, std::less<>> lines_;
};

class LayersCsv {
 public:
  LayersCsv(std::string_view text, const std::string& file)
      : rows_(text, file, CsvRows::Comments::kHash) {}

  Result<LayerTable> read();

 private:
  MaybeError map_header();
  MaybeError check_missing() const;
  MaybeError parse_row();
  MaybeError set_number(LayerField field, std::int64_t most, std::int64_t& out) const {
    return rows_.set_whole(kFields[field], cell(field), most, out);
  }

  std::string_view cell(LayerField field) const { return rows_.fields()[*places_[field]]; }
  Error fail(std::string_view what) const { return rows_.fail(what); }
  Error fail(LayerField field, std::string_view what) const {
    return fail(fmt::format("{}: {}", kFields[field], what));
  }

  CsvRows rows_;
  std::array<std::optional<std::size_t>, kFields.size()> places_;
  std::size_t width_ = 0;
  LayerNames names_;
  LayerTable table_;
};

MaybeError LayersCsv::map_header() {
  const std::vector<std::string_view>& columns = rows_.fields();
  width_ = columns.size();
  std::optional<std::string_view> unknown;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const auto at = std::find(kFields.begin(), kFields.end(), columns[i]);
    if (at == kFields.end()) {
      if (!unknown) unknown = columns[i];
      continue;
    }
    std::optional<std::size_t>& place = places_[static_cast<std::size_t>(at - kFields.begin())];
    if (place) return fail("header: column named twice: " + in_quotes(columns[i]));
    place = i;
  }
  if (MaybeError refusal = check_missing()) return refusal;
  if (unknown) {
    return fail("header: unknown column: " + in_quotes(*unknown) + suggestion(*unknown, kFields));
  }
  return std::nullopt;
}

// Suggests an unknown column as the missing one.
MaybeError LayersCsv::check_missing() const {
  for (const LayerField field : {kName, kParameters, kOutput, kMacs}) {
    if (places_[field]) continue;
    std::vector<std::string_view> external_jobs;
    for (const std::string_view column : rows_.fields()) {
      if (std::find(kFields.begin(), kFields.end(), column) == kFields.end()) {
        external_jobs.push_back(column);
      }
    }
    const std::string_view near = nearest(kFields[field], external_jobs);
    return fail(
        field,
        fmt::format("column missing from the header: {}{}", in_quotes(rows_.line()),
                    near.empty() ? "" : fmt::format("; is {} this column?", in_quotes(near))));
  }
  return std::nullopt;
}

MaybeError LayersCsv::parse_row() {
  if (MaybeError refusal = rows_.check_width(width_)) return refusal;
  if (table_.layers.size() == kMaxLayers) return fail(too_many());
  Layer layer;
  layer.name = cell(kName);
  if (const auto fault = names_.refuse(layer.name, rows_.number())) return fail(kName, *fault);
  if (places_[kType]) {
    layer.type = cell(kType);
    if (const char* fault = text_fault(layer.type)) {
      return fail(kType, fmt::format("{}: {}", fault, in_quotes(layer.type)));
    }
  }
  if (MaybeError refusal = set_number(kParameters, kMaxLayerBytes, layer.weight_bytes)) {
    return refusal;
  }
  layer.may_cut_behind = !cell(kOutput).empty();
  if (layer.may_cut_behind) {
    if (MaybeError refusal = set_number(kOutput, kMaxLayerBytes, layer.output_bytes))
      return refusal;
  }
  if (MaybeError refusal = set_number(kMacs, kMaxLayerMacs, layer.macs)) return refusal;
  table_.layers.push_back(std::move(layer));
  return std::nullopt;
}

Result<LayerTable> LayersCsv::read() {
  if (!rows_.next()) return fail("no layers: the file is empty");
  const MaybeError refusal =
      rows_.read([this] { return map_header(); }, [this] { return parse_row(); });
  if (refusal) return *refusal;
  if (table_.layers.empty()) return fail("no layers: nothing after the header");
  table_.model = model_of(rows_.file());
  return std::move(table_);
}

Layer layer_of(const Item& entry, ItemReader& reader) {
  constexpr Bounds kBytes = {0, static_cast<double>(kMaxLayerBytes)};
  reader.allow_keys(entry, kFields);
  Layer layer;
  layer.name = reader.line(reader.member(entry, kFields[kName]));
  if (const Item* type = entry.find(kFields[kType])) layer.type = reader.line(*type);
  layer.weight_bytes = reader.whole(reader.member(entry, kFields[kParameters]), kBytes);
  const Item& output = reader.member(entry, kFields[kOutput]);
  layer.may_cut_behind = output.kind != Item::Kind::kEmpty;
  if (layer.may_cut_behind) layer.output_bytes = reader.whole(output, kBytes);
  layer.macs =
      reader.whole(reader.member(entry, kFields[kMacs]), {0, static_cast<double>(kMaxLayerMacs)});
  return layer;
}

Result<LayerTable> parse_json(std::string_view text, const std::string& file) {
  const Result<Item> root = parse_document(text, file);
  if (!root.ok()) return root.error();
  ItemReader reader(file);
  reader.allow_keys(root.value(), kTopKeys);
  LayerTable table;
  const Item* model = root.value().find(kTopKeys[0]);
  table.model = model == nullptr ? model_of(file) : reader.line(*model);
  const std::vector<Item>& entries = reader.list(root.value(), kTopKeys[1]).items;
  LayerNames names;
  for (const Item& entry : entries) {
    if (reader.failed()) break;
    if (table.layers.size() == kMaxLayers) reader.refuse(entry, too_many());
    table.layers.push_back(layer_of(entry, reader));
    if (reader.failed()) break;
    const Item& name = *entry.find(kFields[kName]);
    if (const auto fault = names.refuse(name.text, name.line)) reader.refuse(name, *fault);
  }
  if (reader.failed()) return reader.error();
  return table;
}

}  // namespace

Result<LayerTable> parse_layers(std::string_view text, const std::string& name) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first != std::string_view::npos && text[first] == '{') return parse_json(text, name);
  return LayersCsv(text, name).read();
}

Result<LayerTable> read_layers(const std::string& path) {
  return read_and_parse(path, parse_layers);
}

}  // namespace muster
