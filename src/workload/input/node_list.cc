#include "workload/input/node_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "base/file/csv.h"
#include "base/file/csv_rows.h"
#include "base/file/text_file.h"
#include "base/text/name_table.h"
#include "base/text/text.h"
#include "base/text/utf8.h"
#include "engine/model/profile.h"

namespace muster {

namespace {

// The columns, in any order in the file.
enum Column : std::size_t { kName, kCpuMilli, kMemMib, kGpus, kType };
constexpr std::array<std::string_view, 5> kColumns = {"sn", "cpu_milli", "memory_mib", "gpu",
                                                      "model"};

// A million CPUs and a million GB, as in Muster's own cluster files.
constexpr std::int64_t kMaxCpuMilli = 1'000'000'000;
constexpr std::int64_t kMaxMemMib = 1'024'000'000;

class NodeListParser {
 public:
  NodeListParser(std::string_view text, std::string file)
      : rows_(text, std::move(file), CsvRows::Comments::kNone) {}

  Result<NodeList> run();

 private:
  MaybeError map_header();
  MaybeError parse_row();
  MaybeError check_name();
  MaybeError set_count(Column column, std::int64_t most, std::int64_t& out) const {
    return rows_.set_whole(kColumns[column], cell(column), most, out);
  }

  std::string_view cell(Column column) const { return rows_.fields()[places_[column]]; }
  Error fail(std::string_view what) const { return rows_.fail(what); }
  Error fail(Column column, std::string_view what) const {
    return fail(fmt::format("{}: {}", kColumns[column], what));
  }

  CsvRows rows_;
  std::array<std::size_t, kColumns.size()> places_ = {};
  NameTable names_;
  NodeList list_;
  std::int64_t without_gpus_ = 0;
};

MaybeError NodeListParser::map_header() {
  const std::vector<std::string_view>& fields = rows_.fields();
  for (const std::string_view field : fields) {
    if (std::find(kColumns.begin(), kColumns.end(), field) == kColumns.end()) {
      return fail("header: unknown column: " + in_quotes(field) + suggestion(field, kColumns));
    }
    if (std::count(fields.begin(), fields.end(), field) > 1) {
      return fail("header: column named twice: " + in_quotes(field));
    }
  }
  for (std::size_t i = 0; i < kColumns.size(); ++i) {
    const auto at = std::find(fields.begin(), fields.end(), kColumns[i]);
    if (at == fields.end()) {
      return fail(fmt::format("{}: column missing from the header: {}", kColumns[i],
                              in_quotes(rows_.line())));
    }
    places_[i] = static_cast<std::size_t>(at - fields.begin());
  }
  return std::nullopt;
}

MaybeError NodeListParser::check_name() {
  for (const Column column : {kName, kType}) {
    if (cell(column).empty()) return fail(column, "empty: ''");
    if (const char* fault = text_fault(cell(column))) {
      return fail(column, fmt::format("{}: {}", fault, in_quotes(cell(column))));
    }
  }
  const std::size_t known = names_.size();
  if (names_.intern(cell(kName)) != known) {
    return fail(kName, "node named twice: " + in_quotes(cell(kName)));
  }
  return std::nullopt;
}

MaybeError NodeListParser::parse_row() {
  if (MaybeError refusal = rows_.check_width(kColumns.size())) return refusal;
  std::int64_t gpus = 0;
  std::int64_t cpu_milli = 0;
  std::int64_t mem_mib = 0;
  if (MaybeError refusal = set_count(kGpus, kMaxGpusPerNode, gpus)) return refusal;
  if (MaybeError refusal = set_count(kCpuMilli, kMaxCpuMilli, cpu_milli)) return refusal;
  if (MaybeError refusal = set_count(kMemMib, kMaxMemMib, mem_mib)) return refusal;
  if (gpus == 0) {
    ++without_gpus_;
    return std::nullopt;
  }
  if (MaybeError refusal = check_name()) return refusal;
  const Resources capacity = {static_cast<std::int32_t>(gpus), cpu_milli, mem_mib,
                              kReferenceShare.storage_kbps * gpus};
  const MaybeError refusal =
      list_.topology.add_node(std::string(cell(kName)), "r0", cell(kType), capacity);
  if (refusal) return fail(refusal->message);
  if (list_.topology.gpu_type_count() > kMaxListedTypes) {
    return fail(kType, fmt::format("too many GPU types; the maximum is {}", kMaxListedTypes));
  }
  return std::nullopt;
}

Result<NodeList> NodeListParser::run() {
  if (!rows_.next()) return fail("no nodes: the file is empty");
  const MaybeError refusal =
      rows_.read([this] { return map_header(); }, [this] { return parse_row(); });
  if (refusal) return *refusal;
  if (list_.topology.node_count() == 0) return fail("no nodes with GPUs");
  list_.notes.push_back(rows_.file() + ": no racks given; all nodes are in one rack");
  if (without_gpus_ > 0) {
    list_.notes.push_back(
        fmt::format("{}: skipped: {} without GPUs", rows_.file(),
                    without_gpus_ == 1 ? "1 node" : fmt::format("{} nodes", without_gpus_)));
  }
  return std::move(list_);
}

}  // namespace

Result<NodeList> parse_node_list(std::string_view text, const std::string& name) {
  if (looks_binary(text)) return Error{name + ":1: not a text file"};
  return NodeListParser(text, name).run();
}

Result<NodeList> read_node_list(const std::string& path) {
  return read_and_parse(path, parse_node_list);
}

}  // namespace muster
