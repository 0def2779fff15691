#include "engine/roster/placement_text.h"

#include "base/text/text.h"
#include "engine/model/topology.h"

namespace muster {

namespace {

// Parses the GPUs of a node, such as "0-1+3". Returns 0 if the text is invalid.
std::uint64_t read_slots(std::string_view text) {
  std::uint64_t slots = 0;
  for (const std::string_view range : split(text, '+')) {
    const std::vector<std::string_view> ends = split(range, '-');
    const Result<std::int64_t> first = parse_int(ends.front());
    const Result<std::int64_t> last = parse_int(ends.back());
    if (ends.size() > 2 || !first.ok() || !last.ok()) return 0;
    if (first.value() < 0 || last.value() < first.value() || last.value() >= kMaxGpusPerNode) {
      return 0;
    }
    for (std::int64_t slot = first.value(); slot <= last.value(); ++slot) {
      slots |= std::uint64_t{1} << slot;
    }
  }
  return slots;
}

}  // namespace

std::vector<PlacedOn> read_placed(std::string_view text) {
  std::vector<PlacedOn> places;
  if (text.size() >= kMaxPlacedText) return places;
  for (const std::string_view part : split(text, ',')) {
    const std::size_t colon = part.rfind(':');
    const std::uint64_t slots =
        colon == std::string_view::npos ? 0 : read_slots(part.substr(colon + 1));
    if (slots == 0) return {};
    places.push_back({part.substr(0, colon), slots});
  }
  return places;
}

}  // namespace muster
