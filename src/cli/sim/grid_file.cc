#include "cli/sim/grid_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/file/document.h"
#include "base/file/item_reader.h"
#include "base/text/text.h"

namespace muster {

namespace {

constexpr std::size_t kMaxSeeds = 10'000;
constexpr std::array<std::string_view, 1> kGridKeys = {"sim"};

// Returns 3, 4, ... 7 for "3-7"; an empty list if `text` is not such a range.
std::vector<std::string> seeds_of(std::string_view text) {
  const std::vector<std::string_view> ends = split(text, '-');
  if (ends.size() != 2) return {};
  const Result<std::int64_t> first = parse_int(ends[0]);
  const Result<std::int64_t> last = parse_int(ends[1]);
  if (!first.ok() || !last.ok() || first.value() < 0 || last.value() < first.value()) return {};
  if (last.value() - first.value() >= static_cast<std::int64_t>(kMaxSeeds)) return {};
  std::vector<std::string> seeds;
  for (std::int64_t seed = first.value(); seed <= last.value(); ++seed) {
    seeds.push_back(std::to_string(seed));
  }
  return seeds;
}

class GridReader {
 public:
  explicit GridReader(const std::string& file) : reader_(file) {}

  Result<Grid> read(const Item& root) {
    reader_.allow_keys(root, kGridKeys);
    const Item& options = reader_.member(root, "sim");
    if (!reader_.failed() && options.kind != Item::Kind::kMap) {
      reader_.refuse(options, "must be a map from options of muster sim to values");
    }
    std::size_t cells = 1;
    for (const Item& option : options.items) {
      if (reader_.failed()) break;
      Grid& grid = grid_;
      grid.axes.push_back(read_axis(option));
      cells *= std::max<std::size_t>(1, grid.axes.back().values.size());
      if (cells > kMaxCells) {
        reader_.refuse(option, fmt::format("more than {} cells", kMaxCells));
      }
    }
    if (reader_.failed()) return reader_.error();
    return std::move(grid_);
  }

 private:
  GridAxis read_axis(const Item& option) {
    GridAxis axis;
    axis.option = option.key;
    axis.line = option.line;
    if (option.kind == Item::Kind::kText) {
      if (option.key == "seed") axis.values = seeds_of(option.text);
      if (axis.values.empty()) axis.values = {option.text};
      return axis;
    }
    reader_.expect_list(option);
    if (!reader_.failed() && option.items.empty())
      reader_.refuse(option, "empty list; give a value");
    for (const Item& value : option.items) {
      if (value.kind != Item::Kind::kText) reader_.refuse(value, "not a value");
      if (std::find(axis.values.begin(), axis.values.end(), value.text) != axis.values.end()) {
        reader_.refuse(value, "given twice: " + in_quotes(value.text));
      }
      axis.values.push_back(value.text);
    }
    return axis;
  }

  ItemReader reader_;
  Grid grid_;
};

}  // namespace

std::size_t Grid::cells() const {
  std::size_t cells = 1;
  for (const GridAxis& axis : axes) cells *= axis.values.size();
  return cells;
}

std::vector<std::string_view> Grid::cell(std::size_t number) const {
  std::vector<std::string_view> values(axes.size());
  for (std::size_t i = axes.size(); i-- > 0;) {
    values[i] = axes[i].values[number % axes[i].values.size()];
    number /= axes[i].values.size();
  }
  return values;
}

Result<Grid> parse_grid(std::string_view text, const std::string& name) {
  const Result<Item> root = parse_document(text, name);
  if (!root.ok()) return root.error();
  return GridReader(shown_path(name)).read(root.value());
}

Result<Grid> read_grid(const std::string& path) {
  const Result<Item> root = read_document(path);
  if (!root.ok()) return root.error();
  return GridReader(shown_path(path)).read(root.value());
}

}  // namespace muster
