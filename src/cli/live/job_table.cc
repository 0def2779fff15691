#include "cli/live/job_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "api/client/target.h"
#include "base/terminal/table_columns.h"
#include "base/text/utf8.h"
#include "base/text/wording.h"
#include "cli/live/answer_text.h"

namespace muster {

namespace {

using Json = nlohmann::json;

constexpr std::uint64_t kListPage = 1000;     // The manager's maximum per request.
constexpr std::uint64_t kMaxListed = 50'000;  // More jobs are only counted.
constexpr std::size_t kNameWidth = 28;

std::string page_target(const QueueOptions& queue, std::uint64_t offset, std::uint64_t limit) {
  return target("/v1/jobs", {{"state", queue.all ? "all" : queue.state},
                             {"user", queue.mine ? my_name() : queue.user},
                             {"tenant", queue.tenant},
                             {"array", queue.array},
                             {"limit", std::to_string(limit)},
                             {"offset", offset == 0 ? "" : std::to_string(offset)}});
}

}  // namespace

// A job may move to another page between two requests, so duplicates are dropped.
Result<JobTable> list_jobs(ApiClient& client, const QueueOptions& queue) {
  JobTable listing;
  std::set<std::uint64_t> seen;
  const std::uint64_t most = queue.limit == 0 ? kMaxListed : std::min(queue.limit, kMaxListed);
  for (std::uint64_t offset = 0; offset < most; offset += kListPage) {
    const std::uint64_t limit = std::min(kListPage, most - offset);
    Result<Json> page = object_of(client.get(page_target(queue, offset, limit)));
    if (!page.ok()) return page.error();
    listing.total = count_at(page.value(), "total");
    listing.notice = text_at(page.value(), "notice");
    for (const Json& job : list_at(page.value(), "jobs")) {
      if (job.is_object() && seen.insert(count_at(job, "id")).second) listing.jobs.push_back(job);
    }
    if (list_at(page.value(), "jobs").size() < limit) break;
  }
  listing.total = std::max<std::uint64_t>(listing.total, listing.jobs.size());
  return listing;
}

std::string listing_text(const JobTable& listing) {
  const std::string notice = notice_text({{"notice", listing.notice}});
  if (listing.jobs.empty() && listing.total == 0) return "no jobs\n" + notice;
  const double now = now_since_1970();
  const std::size_t width = output_width();
  Table table({right("ID"), left("NAME"), left("USER"), left("TENANT"), left("STATE"),
               right("GPUS"), right("TIME"), left("WHERE/WHY")});
  for (const Json& job : listing.jobs) {
    const std::string name = printable(name_text(job));
    table.add_row({job_id_text(job), width > 0 ? cut_text(name, kNameWidth) : name,
                   text_at(job, "user"), tenant_text(job), state_text(job),
                   std::to_string(count_at(job, "gpus")), time_text(job, now),
                   text_at(job, holds_gpus(job) ? "where" : "why")});
    table.tint(4, state_tint(job));
  }
  std::string out = table.render(color_mode_for(1), width);
  if (listing.total > listing.jobs.size()) {
    out += fmt::format("… and {} more\n", grouped(listing.total - listing.jobs.size()));
  }
  return out + notice;
}

Json listing_json(const JobTable& listing) {
  Json list = {{"jobs", listing.jobs}, {"total", listing.total}};
  if (!listing.notice.empty()) list["notice"] = listing.notice;
  return list;
}

std::optional<std::string> array_in(const std::string& name) {
  constexpr std::string_view kWholeArray = "_*";
  if (!name.ends_with(kWholeArray)) return std::nullopt;
  return name.substr(0, name.size() - kWholeArray.size());
}

Result<JobTable> list_array(ApiClient& client, const std::string& array) {
  QueueOptions queue;
  queue.array = array;
  queue.all = true;
  queue.limit = 0;
  Result<JobTable> listing = list_jobs(client, queue);
  if (listing.ok() && listing.value().jobs.empty())
    return Error{"no such array: " + array + "_*", ErrorCode::kNotFound};
  return listing;
}

}  // namespace muster
