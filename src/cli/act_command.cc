// muster cancel, hold, release, drain, undrain: one call for each name. An error does not keep the
// rest from being done, but shows in the exit status.

#include <fmt/format.h>

#include <ostream>

#include "cli/live.h"
#include "cli/live_verbs.h"
#include "client/target.h"
#include "report/wording.h"

namespace muster {
namespace {

using Json = nlohmann::json;

int act_on_all(const LiveOptions& options, Streams streams, const std::string& folder,
               const std::string& act, const std::function<std::string(const Json&)>& text) {
  return with_manager(options, streams, [&](ApiClient& client) {
    int status = kExitDone;
    for (const std::string& name : options.names) {
      const Result<Json> answer = object_of(client.post(folder + escaped(name) + "/" + act, ""));
      if (!answer.ok()) {
        status = fail(streams, fmt::format("{} {}: {}", act, name, answer.error().message));
        continue;
      }
      streams.out << (options.json ? json_line(answer.value()) : text(answer.value())) << '\n';
    }
    return status;
  });
}

int act_on_jobs(const LiveOptions& options, Streams streams, const std::string& act) {
  return act_on_all(options, streams, "/v1/jobs/", act, [](const Json& job) {
    return fmt::format("job {}: {}", count_at(job, "id"), printable(text_at(job, "state")));
  });
}

int act_on_nodes(const LiveOptions& options, Streams streams, const std::string& act) {
  return act_on_all(options, streams, "/v1/nodes/", act, [](const Json& node) {
    return fmt::format("{}: {}", printable(text_at(node, "name")),
                       flag_at(node, "open") ? "open" : "drained");
  });
}

}  // namespace

int run_cancel(const LiveOptions& options, Streams streams) {
  return act_on_jobs(options, streams, "cancel");
}
int run_hold(const LiveOptions& options, Streams streams) {
  return act_on_jobs(options, streams, "hold");
}
int run_release(const LiveOptions& options, Streams streams) {
  return act_on_jobs(options, streams, "release");
}
int run_drain(const LiveOptions& options, Streams streams) {
  return act_on_nodes(options, streams, "drain");
}
int run_undrain(const LiveOptions& options, Streams streams) {
  return act_on_nodes(options, streams, "undrain");
}

}  // namespace muster
