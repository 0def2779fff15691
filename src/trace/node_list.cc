#include "trace/node_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "base/text.h"
#include "model/profile.h"
#include "trace/csv.h"
#include "trace/reader.h"
#include "trace/text_file.h"
#include "trace/trace.h"

namespace muster {

namespace {

// The columns, in any order in the file.
enum Column : std::size_t { kName, kCpuMilli, kMemMib, kGpus, kType };
constexpr std::array<std::string_view, 5> kColumns = {"sn", "cpu_milli", "memory_mib", "gpu",
                                                      "model"};

// A million CPUs and as many GB, as in clusters of our own.
constexpr std::int64_t kMostCpuMilli = 1'000'000'000;
constexpr std::int64_t kMostMemMib = 1'024'000'000;

class NodeListParser {
 public:
  NodeListParser(std::string_view text, std::string file) : lines_(text), file_(std::move(file)) {}

  Result<NodeList> run();

 private:
  bool next_line();  // Goes to the next line that says something; false at the end.
  Refusal split_line();
  Refusal map_header();
  Refusal parse_row();
  Refusal check_name();
  Refusal set_count(Column column, std::int64_t most, std::int64_t& out) const;

  std::string_view cell(Column column) const { return splitter_.fields()[places_[column]]; }
  Error fail(std::string_view what) const {
    return {fmt::format("{}:{}: {}", file_, std::max<std::int64_t>(lines_.number(), 1), what)};
  }
  Error fail(Column column, std::string_view what) const {
    return fail(fmt::format("{}: {}", kColumns[column], what));
  }

  LineReader lines_;
  FieldSplitter splitter_;
  std::string file_;
  std::array<std::size_t, kColumns.size()> places_ = {};
  NameTable names_;
  NodeList list_;
  std::int64_t without_gpus_ = 0;
};

bool NodeListParser::next_line() {
  while (lines_.next()) {
    if (!trim(lines_.line()).empty()) return true;
  }
  return false;
}

Refusal NodeListParser::split_line() {
  const std::string_view line = lines_.line();
  if (line.size() > kLongestLine) {
    return fail(fmt::format("line longer than {} bytes: {}", kLongestLine, in_quotes(line)));
  }
  if (const Refusal refusal = splitter_.split(line)) return fail(refusal->message);
  return std::nullopt;
}

Refusal NodeListParser::map_header() {
  const std::vector<std::string_view>& fields = splitter_.fields();
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
                              in_quotes(lines_.line())));
    }
    places_[i] = static_cast<std::size_t>(at - fields.begin());
  }
  return std::nullopt;
}

Refusal NodeListParser::set_count(Column column, std::int64_t most, std::int64_t& out) const {
  const Result<std::int64_t> count = parse_int(cell(column));
  if (!count.ok()) return fail(column, count.error().message);
  if (count.value() < 0 || count.value() > most) {
    return fail(column, fmt::format("not between 0 and {}: {}", most, in_quotes(cell(column))));
  }
  out = count.value();
  return std::nullopt;
}

Refusal NodeListParser::check_name() {
  for (const Column column : {kName, kType}) {
    if (cell(column).empty()) return fail(column, "empty: ''");
    if (const char* fault = text_fault(cell(column))) {
      return fail(column, fmt::format("{}: {}", fault, in_quotes(cell(column))));
    }
  }
  const std::size_t known = names_.size();
  if (names_.intern(cell(kName)) != known) {
    return fail(kName, "server named twice: " + in_quotes(cell(kName)));
  }
  return std::nullopt;
}

Refusal NodeListParser::parse_row() {
  if (splitter_.fields().size() != kColumns.size()) {
    return fail(fmt::format("columns: {} where the header has {}: {}", splitter_.fields().size(),
                            kColumns.size(), in_quotes(lines_.line())));
  }
  std::int64_t gpus = 0;
  std::int64_t cpu_milli = 0;
  std::int64_t mem_mib = 0;
  if (Refusal refusal = set_count(kGpus, kMostGpusPerNode, gpus)) return refusal;
  if (Refusal refusal = set_count(kCpuMilli, kMostCpuMilli, cpu_milli)) return refusal;
  if (Refusal refusal = set_count(kMemMib, kMostMemMib, mem_mib)) return refusal;
  if (gpus == 0) {
    ++without_gpus_;
    return std::nullopt;
  }
  if (Refusal refusal = check_name()) return refusal;
  const Resources capacity = {static_cast<std::int32_t>(gpus), cpu_milli, mem_mib,
                              kReferenceShare.storage_kbps * gpus};
  const Refusal refusal =
      list_.topology.add_node(std::string(cell(kName)), "r0", cell(kType), capacity);
  if (refusal) return fail(refusal->message);
  if (list_.topology.gpu_type_count() > kMostListedTypes) {
    return fail(kType, fmt::format("more than {} GPU types, the most we read", kMostListedTypes));
  }
  return std::nullopt;
}

Result<NodeList> NodeListParser::run() {
  if (!next_line()) return fail("no servers: the file is empty");
  if (const Refusal refusal = split_line()) return *refusal;
  if (const Refusal refusal = map_header()) return *refusal;
  while (next_line()) {
    if (const Refusal refusal = split_line()) return *refusal;
    if (const Refusal refusal = parse_row()) return *refusal;
  }
  if (list_.topology.node_count() == 0) return fail("no servers with GPUs");
  list_.notes.push_back(file_ + ": racks are not given; all servers stand in one");
  if (without_gpus_ > 0) {
    list_.notes.push_back(
        fmt::format("{}: left out: {} without GPUs", file_,
                    without_gpus_ == 1 ? "1 server" : fmt::format("{} servers", without_gpus_)));
  }
  return std::move(list_);
}

}  // namespace

Result<NodeList> parse_node_list(std::string_view text, const std::string& name) {
  if (looks_binary(text)) return Error{name + ":1: not a text file"};
  return NodeListParser(text, name).run();
}

Result<NodeList> read_node_list(const std::string& path) {
  const Result<std::string> text = read_text_file(path);
  if (!text.ok()) return text.error();
  return parse_node_list(text.value(), path);
}

}  // namespace muster
