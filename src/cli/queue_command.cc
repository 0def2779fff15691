// muster queue: jobs, as squeue lists them.

#include <fmt/format.h>

#include <ostream>
#include <set>

#include "cli/live.h"
#include "cli/live_text.h"
#include "cli/live_verbs.h"
#include "client/target.h"
#include "report/wording.h"

namespace muster {
namespace {

using Json = nlohmann::json;

constexpr std::uint64_t kPage = 1000;        // The most the manager gives at a time.
constexpr std::uint64_t kMostJobs = 50'000;  // Beyond it, the oldest are only counted.
constexpr std::size_t kNameWidth = 28;

struct Listing {
  std::vector<Json> jobs;
  std::uint64_t total = 0;
};

std::string page_target(const QueueOptions& queue, std::uint64_t offset) {
  return target("/v1/jobs", {{"state", queue.all ? "all" : queue.state},
                             {"user", queue.mine ? my_name() : queue.user},
                             {"tenant", queue.tenant},
                             {"limit", std::to_string(kPage)},
                             {"offset", offset == 0 ? "" : std::to_string(offset)}});
}

// The manager lists the newest first, so who is next is on the last page. What moves from page to
// page meanwhile is taken once.
Result<Listing> list_jobs(ApiClient& client, const QueueOptions& queue) {
  Listing listing;
  std::set<std::uint64_t> seen;
  for (std::uint64_t offset = 0; offset < kMostJobs; offset += kPage) {
    Result<Json> page = object_of(client.get(page_target(queue, offset)));
    if (!page.ok()) return page.error();
    listing.total = count_at(page.value(), "total");
    for (const Json& job : list_at(page.value(), "jobs")) {
      if (job.is_object() && seen.insert(count_at(job, "id")).second) listing.jobs.push_back(job);
    }
    if (list_at(page.value(), "jobs").size() < kPage) break;
  }
  listing.total = std::max<std::uint64_t>(listing.total, listing.jobs.size());
  sort_jobs(listing.jobs);
  if (queue.limit > 0 && listing.jobs.size() > queue.limit) listing.jobs.resize(queue.limit);
  return listing;
}

std::string listing_text(const Listing& listing) {
  if (listing.jobs.empty() && listing.total == 0) return "no jobs\n";
  const double now = now_since_1970();
  const std::size_t width = output_width();
  Table table({{"ID", Align::kRight},
               {"NAME", Align::kLeft},
               {"USER", Align::kLeft},
               {"TENANT", Align::kLeft},
               {"STATE", Align::kLeft},
               {"GPUS", Align::kRight},
               {"TIME", Align::kRight},
               {"WHERE/WHY", Align::kLeft}});
  for (const Json& job : listing.jobs) {
    const std::string name = printable(name_text(job));
    table.add_row({std::to_string(count_at(job, "id")),
                   width > 0 ? cut_text(name, kNameWidth) : name, text_at(job, "user"),
                   text_at(job, "tenant"), state_text(job), std::to_string(count_at(job, "gpus")),
                   time_text(job, now), text_at(job, holds_gpus(job) ? "where" : "why")});
    table.tint(4, state_tint(job));
  }
  std::string out = table.render(ink_for(1), width);
  if (listing.total > listing.jobs.size()) {
    out += fmt::format("… and {} more\n", grouped(listing.total - listing.jobs.size()));
  }
  return out;
}

}  // namespace

int run_queue(const LiveOptions& options, Streams streams) {
  return with_manager(options, streams, [&](ApiClient& client) {
    const Result<Listing> listing = list_jobs(client, options.queue);
    if (!listing.ok()) return fail(streams, listing.error().message);
    if (options.json) {
      const Json object = {{"jobs", listing.value().jobs}, {"total", listing.value().total}};
      streams.out << json_line(object) << '\n';
    } else {
      streams.out << listing_text(listing.value());
    }
    return kExitDone;
  });
}

}  // namespace muster
