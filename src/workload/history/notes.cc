#include "workload/history/notes.h"

#include <fmt/format.h>

#include "base/text/text.h"
#include "engine/failure/reasons.h"

namespace muster {

std::string counted(std::int64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string no_such_reason(std::string_view key) {
  std::vector<std::string_view> keys;
  for (const ReasonInfo& info : reasons()) keys.push_back(info.key);
  return "no such reason: " + in_quotes(key) + suggestion(key, keys);
}

void add_note(std::vector<std::string>& notes, std::int64_t count, std::string_view noun,
              std::string_view rest) {
  if (count > 0) notes.push_back(fmt::format("{} {}", counted(count, noun), rest));
}

}  // namespace muster
