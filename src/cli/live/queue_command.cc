// muster queue: lists jobs, like squeue.

#include <ostream>

#include "cli/live/job_table.h"
#include "cli/live/live_verbs.h"

namespace muster {

int run_queue(const LiveOptions& options, Streams streams) {
  QueueOptions queue = options.queue;
  if (!options.names.empty()) {
    const std::optional<std::string> array = array_in(options.names.front());
    if (!array) {
      return complain(streams, "queue: must be an array such as 12_*; for one job: muster status " +
                                   options.names.front());
    }
    queue.array = *array;
  }
  return with_manager(options, streams, [&](ApiClient& client) {
    const Result<JobTable> listing = list_jobs(client, queue);
    if (!listing.ok()) return complain(streams, listing.error());
    streams.out << (options.json ? json_line(listing_json(listing.value())) + "\n"
                                 : listing_text(listing.value()));
    return kExitDone;
  });
}

}  // namespace muster
