#include "api/port/access_routes.h"

#include <limits>
#include <optional>
#include <utility>

namespace muster {

Result<Routed> read_audit(const RequestTarget& target, const HttpRequest&) {
  constexpr std::int64_t kMaxNumber = std::numeric_limits<std::int64_t>::max();
  constexpr std::int64_t kMaxRows = 1'000;
  ListAudit list;
  for (const auto& [name, text] : {std::pair("user", &list.user), {"verb", &list.verb}}) {
    Result<std::string> word = name_or_none(target, name);
    if (!word.ok()) return word.error();
    *text = std::move(word).value();
  }
  for (const auto& [name, number] : {std::pair("job", &list.job), {"before", &list.before}}) {
    const Result<std::int64_t> value = whole(target, name, 1, kMaxNumber, 0);
    if (!value.ok()) return value.error();
    if (value.value() > 0) *number = static_cast<std::uint64_t>(value.value());
  }
  const Result<std::optional<double>> since = seconds_or_none(target, "since");
  if (!since.ok()) return since.error();
  list.since = since.value();
  const Result<std::int64_t> limit =
      whole(target, "limit", 1, kMaxRows, static_cast<std::int64_t>(list.limit));
  if (!limit.ok()) return limit.error();
  list.limit = static_cast<std::size_t>(limit.value());
  return Routed{.call = std::move(list)};
}

}  // namespace muster
