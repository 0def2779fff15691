#include "history/notes.h"

#include <fmt/format.h>

namespace muster {

std::string counted(std::int64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

void add_note(std::vector<std::string>& notes, std::int64_t count, std::string_view noun,
              std::string_view rest) {
  if (count > 0) notes.push_back(fmt::format("{} {}", counted(count, noun), rest));
}

}  // namespace muster
