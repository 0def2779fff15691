#include "exec/lease/wish.h"

#include <climits>

#include "base/file/fields.h"
#include "base/os/files.h"
#include "exec/lease/spec.h"

namespace muster {

std::string wish_json(const Wish& wish) {
  nlohmann::ordered_json object = {{"serial", wish.serial}, {"kill", wish.kill ? 1 : 0}};
  if (wish.limits) {
    object["cpu_milli"] = wish.limits->cpu_milli;
    object["mem_mib"] = wish.limits->mem_mib;
  }
  if (wish.stop_ms) object["stop_ms"] = *wish.stop_ms;
  return object.dump() + "\n";
}

Result<Wish> read_wish(std::string_view text) {
  auto parsed = Fields::parse(text, kMostWishBytes);
  if (!parsed.ok()) return parsed.error();
  Fields& in = parsed.value();
  Wish wish;
  wish.serial = in.whole("serial", 0, INT64_MAX);
  wish.kill = in.whole("kill", 0, 1) == 1;
  const std::int64_t cpu = in.whole("cpu_milli", kLeastCpuMilli, kMostCpuMilli, 0);
  const std::int64_t mem = in.whole("mem_mib", 1, kMostMemMib, 0);
  if ((cpu == 0) != (mem == 0)) in.complain("cpu_milli, mem_mib: one without the other");
  if (cpu != 0) wish.limits = Limits{.cpu_milli = cpu, .mem_mib = mem};
  const std::int64_t stop = in.whole("stop_ms", 0, kMostMillis, -1);
  if (stop >= 0) wish.stop_ms = stop;
  if (auto refusal = in.trouble()) return *refusal;
  return wish;
}

Result<std::optional<Wish>> look_for_wish(const std::string& path) {
  // By its path each time: a directory that was taken away must not be heard any more.
  const auto directory = open_directory(path);
  if (!directory.ok()) return directory.error();
  if (!file_exists(directory.value(), "spec.json"))
    return Error{path + ": not a record", ErrorCode::kNotFound};
  if (!file_exists(directory.value(), "wish.json")) return std::optional<Wish>();
  const auto text = read_file(directory.value().get(), "wish.json", kMostWishBytes);
  if (!text.ok()) return text.error();
  auto wish = read_wish(text.value());
  if (!wish.ok()) return Error{"wish.json: " + wish.error().message, ErrorCode::kCorrupt};
  return std::optional<Wish>(std::move(wish).value());
}

}  // namespace muster
