#include "study/past/live_history.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>

#include "workload/history/notes.h"

namespace muster {

namespace {

namespace fs = std::filesystem;

constexpr const char* kDatabase = "journal.db";  // In the state directory.
constexpr std::string_view kMagic = "SQLite format 3";

bool begins_as_sqlite(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::array<char, kMagic.size()> head = {};
  return file.read(head.data(), head.size()) &&
         std::string_view(head.data(), head.size()) == kMagic;
}

}  // namespace

std::int32_t PastLease::gpus() const {
  std::int32_t count = 0;
  for (const HostShare& share : where) count += std::popcount(share.gpus);
  return count;
}

Duration PastLease::held(Instant now) const {
  if (up == Instant::never()) return Duration();
  return std::max(Duration(), std::min(end, now) - up);
}

const KnownJob* LiveHistory::find(LiveId id) const {
  const auto at =
      std::lower_bound(jobs.begin(), jobs.end(), id,
                       [](const KnownJob& job, LiveId wanted) { return job.id < wanted; });
  return at != jobs.end() && at->id == id ? &*at : nullptr;
}

Result<std::string> find_live_database(const std::string& named) {
  std::error_code ignored;
  fs::path path = named.starts_with("unix:") ? named.substr(5) : named;
  if (named.empty()) return Error{"empty: name a state directory, a socket or a journal.db"};
  if (fs::is_socket(path, ignored)) path = path.parent_path();
  if (path.empty()) path = ".";
  if (fs::is_directory(path, ignored)) path /= kDatabase;
  if (!fs::is_regular_file(path, ignored)) {
    return Error{fmt::format("{}: no such file; name a state directory, a socket or a {}",
                             path.string(), kDatabase)};
  }
  return path.string();
}

bool names_live_database(const std::string& path) {
  std::error_code ignored;
  if (fs::is_regular_file(path, ignored)) return begins_as_sqlite(path);
  if (fs::is_socket(path, ignored)) return true;
  return fs::is_directory(path, ignored) &&
         fs::is_regular_file(fs::path(path) / kDatabase, ignored);
}

void keep_since(LiveHistory& history, std::int64_t unix_us) {
  std::int64_t ran_on = 0;
  const auto too_early = [&](const KnownJob& job) {
    if (history.unix_us(job.submitted) >= unix_us) return false;
    const Instant end = job.ended.value_or(history.last);
    if (!job.leases.empty() && history.unix_us(end) > unix_us) ++ran_on;
    return true;
  };
  const auto before = static_cast<std::int64_t>(std::erase_if(history.jobs, too_early));
  add_note(history.notes, before, "job", "submitted earlier: omitted");
  add_note(history.notes, ran_on, "job", "of these kept running after that and used GPUs");
}

std::size_t keep_known_tenants(LiveHistory& history) {
  if (!history.settings.tenants) return 0;
  const auto gone = std::erase_if(history.jobs, [&](const KnownJob& job) {
    return !history.settings.tenants->tenant_of_job(job.tenant).ok();
  });
  add_note(history.notes, static_cast<std::int64_t>(gone), "job",
           "of tenants that no longer exist: omitted, although they used GPUs");
  return gone;
}

}  // namespace muster
