#include "exec/lease/report.h"

#include <array>

#include "base/file/fields.h"

namespace muster {
namespace {

constexpr std::array<std::string_view, 7> kCauses = {
    "finished", "failed", "stopped", "killed", "time-limit", "out-of-memory", "could-not-start"};

std::string whole_text(const nlohmann::ordered_json& object) {
  return object.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

std::int64_t count(Fields& in, const char* key) { return in.whole(key, 0, INT64_MAX); }

}  // namespace

std::string_view cause_name(EndCause cause) { return kCauses[static_cast<std::size_t>(cause)]; }

std::string started_json(const StartedFacts& facts) {
  return whole_text({{"version", 1},
                     {"token", facts.token},
                     {"pid", facts.pid},
                     {"process_start", facts.process_start},
                     {"boot_id", facts.boot_id},
                     {"wall_us", facts.at.wall_us},
                     {"boot_us", facts.at.boot_us},
                     {"isolation", facts.isolation},
                     {"isolation_why", facts.isolation_why}});
}

Result<StartedFacts> read_started(std::string_view text) {
  auto parsed = Fields::parse(text, kMaxReportBytes);
  if (!parsed.ok()) return parsed.error();
  Fields& in = parsed.value();
  StartedFacts facts;
  in.whole("version", 1, 1);
  facts.token = in.text("token");
  facts.pid = static_cast<int>(in.whole("pid", 1, INT32_MAX));
  facts.process_start = count(in, "process_start");
  facts.boot_id = in.text("boot_id");
  facts.at.wall_us = count(in, "wall_us");
  facts.at.boot_us = count(in, "boot_us");
  facts.isolation = in.text("isolation");
  facts.isolation_why = in.text("isolation_why");
  if (auto refusal = in.trouble()) return *refusal;
  return facts;
}

std::string exit_json(const ExitReport& report) {
  nlohmann::ordered_json ranks = nlohmann::ordered_json::array();
  for (const RankEnd& rank : report.ranks) {
    ranks.push_back({{"rank", rank.rank}, {"code", rank.code}, {"signal", rank.signal}});
  }
  return whole_text({{"version", 1},
                     {"token", report.token},
                     {"cause", cause_name(report.cause)},
                     {"forced", report.forced},
                     {"errno", report.error_number},
                     {"words", report.words},
                     {"ranks", ranks},
                     {"start_wall_us", report.start.wall_us},
                     {"start_boot_us", report.start.boot_us},
                     {"end_wall_us", report.end.wall_us},
                     {"end_boot_us", report.end.boot_us},
                     {"user_s", report.user_s},
                     {"system_s", report.system_s},
                     {"mem_peak_mib", report.mem_peak_mib},
                     {"read_bytes", report.read_bytes},
                     {"written_bytes", report.written_bytes},
                     {"disk_read_bytes", report.disk_read_bytes},
                     {"disk_written_bytes", report.disk_written_bytes},
                     {"log_lost_bytes", report.log_lost_bytes},
                     {"log_trouble", report.log_trouble}});
}

Result<ExitReport> read_exit(std::string_view text) {
  auto parsed = Fields::parse(text, kMaxReportBytes);
  if (!parsed.ok()) return parsed.error();
  Fields& in = parsed.value();
  ExitReport report;
  in.whole("version", 1, 1);
  report.token = in.text("token");
  const std::string cause = in.text("cause");
  std::size_t at = 0;
  while (at < kCauses.size() && kCauses[at] != cause) ++at;
  if (at == kCauses.size()) in.complain("cause: unknown value");
  report.cause = static_cast<EndCause>(at);
  report.forced = in.flag("forced");
  report.error_number = static_cast<int>(in.whole("errno", 0, INT32_MAX));
  report.words = in.text("words");
  for (Fields& item : in.objects("ranks")) {
    RankEnd rank;
    rank.rank = static_cast<int>(item.whole("rank", 0, INT32_MAX));
    rank.code = static_cast<int>(item.whole("code", 0, 255));
    rank.signal = static_cast<int>(item.whole("signal", 0, 127));
    if (auto refusal = item.trouble()) in.complain("ranks: " + refusal->message);
    report.ranks.push_back(rank);
  }
  report.start = {.wall_us = count(in, "start_wall_us"), .boot_us = count(in, "start_boot_us")};
  report.end = {.wall_us = count(in, "end_wall_us"), .boot_us = count(in, "end_boot_us")};
  report.user_s = in.number("user_s");
  report.system_s = in.number("system_s");
  report.mem_peak_mib = count(in, "mem_peak_mib");
  report.read_bytes = count(in, "read_bytes");
  report.written_bytes = count(in, "written_bytes");
  report.disk_read_bytes = count(in, "disk_read_bytes");
  report.disk_written_bytes = count(in, "disk_written_bytes");
  report.log_lost_bytes = count(in, "log_lost_bytes");
  report.log_trouble = in.text("log_trouble");
  if (auto refusal = in.trouble()) return *refusal;
  return report;
}

}  // namespace muster
