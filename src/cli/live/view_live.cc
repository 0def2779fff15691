// muster view without files: prints the address of the live manager's dashboard, with a login
// ticket.

#include <ostream>

#include "cli/live/answer_text.h"
#include "cli/live/live_session.h"
#include "cli/live/live_verbs.h"

namespace muster {

int run_view_live(const LiveOptions& options, Streams streams) {
  return with_manager(options, streams, [&](ApiClient& client) {
    const Result<nlohmann::json> given = object_of(client.post("/v1/ticket", ""));
    if (!given.ok()) return complain(streams, given.error());
    if (options.json) {
      streams.out << json_line(given.value()) << std::endl;
      return kExitDone;
    }
    streams.out << text_at(given.value(), "url") << "#ticket=" << text_at(given.value(), "ticket")
                << std::endl;
    streams.err << "open it in a browser; it signs you in as " << text_at(given.value(), "user")
                << " until " << local_time(number_at(given.value(), "until")) << '\n';
    return kExitDone;
  });
}

}  // namespace muster
