#include "exec/lease/remote_order.h"

#include <climits>

#include "base/file/fields.h"
#include "base/os/files.h"
#include "exec/lease/spec.h"

namespace muster {

std::string remote_order_json(const RemoteOrder& order) {
  nlohmann::ordered_json object = {{"serial", order.serial}, {"kill", order.kill ? 1 : 0}};
  if (order.limits) {
    object["cpu_milli"] = order.limits->cpu_milli;
    object["mem_mib"] = order.limits->mem_mib;
  }
  if (order.stop_ms) object["stop_ms"] = *order.stop_ms;
  return object.dump() + "\n";
}

Result<RemoteOrder> read_remote_order(std::string_view text) {
  auto parsed = Fields::parse(text, kMaxRemoteOrderBytes);
  if (!parsed.ok()) return parsed.error();
  Fields& in = parsed.value();
  RemoteOrder order;
  order.serial = in.whole("serial", 0, INT64_MAX);
  order.kill = in.whole("kill", 0, 1) == 1;
  const std::int64_t cpu = in.whole("cpu_milli", kMinCpuMilli, kMaxCpuMilli, 0);
  const std::int64_t mem = in.whole("mem_mib", 1, kMaxMemMib, 0);
  if ((cpu == 0) != (mem == 0)) in.complain("cpu_milli, mem_mib: must be given together");
  if (cpu != 0) order.limits = Limits{.cpu_milli = cpu, .mem_mib = mem};
  const std::int64_t stop = in.whole("stop_ms", 0, kMaxMillis, -1);
  if (stop >= 0) order.stop_ms = stop;
  if (auto refusal = in.trouble()) return *refusal;
  return order;
}

Result<std::optional<RemoteOrder>> look_for_remote_order(const std::string& path) {
  // Open by path every time, because a directory that was removed must no longer be read.
  const auto directory = open_directory(path);
  if (!directory.ok()) return directory.error();
  if (!file_exists(directory.value(), "spec.json"))
    return Error{path + ": not a record directory", ErrorCode::kNotFound};
  if (!file_exists(directory.value(), "wish.json")) return std::optional<RemoteOrder>();
  const auto text = read_file(directory.value().get(), "wish.json", kMaxRemoteOrderBytes);
  if (!text.ok()) return text.error();
  auto order = read_remote_order(text.value());
  if (!order.ok()) return Error{"wish.json: " + order.error().message, ErrorCode::kCorrupt};
  return std::optional<RemoteOrder>(std::move(order).value());
}

}  // namespace muster
