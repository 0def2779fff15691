// muster cancel, hold, release, retry, drain, undrain: one request per name. After an error, the
// command continues with the next name, and the exit status is that of the last error.

#include <fmt/format.h>

#include <cmath>
#include <map>
#include <optional>
#include <ostream>

#include "api/client/target.h"
#include "base/text/error_text.h"
#include "base/text/wording.h"
#include "cli/live/answer_text.h"
#include "cli/live/live_session.h"
#include "cli/live/live_verbs.h"

namespace muster {
namespace {

using Json = nlohmann::json;

int act_on_all(const LiveOptions& options, Streams streams, const std::string& folder,
               const std::string& act, const std::function<std::string(const Json&)>& text,
               const std::string& body = "") {
  return with_manager(options, streams, [&](ApiClient& client) {
    int status = kExitDone;
    for (const std::string& name : options.names) {
      const Result<Json> answer = object_of(client.post(folder + escaped(name) + "/" + act, body));
      if (!answer.ok()) {
        status = complain(streams, prefixed(fmt::format("{} {}: ", act, name), answer.error()));
        continue;
      }
      streams.out << (options.json ? json_line(answer.value()) : text(answer.value())) << '\n';
    }
    return status;
  });
}

// "array 12: 3 cancelled, 1 stopping".
std::string array_line(const Json& answer) {
  std::map<std::string, std::size_t> states;
  for (const Json& job : list_at(answer, "jobs")) ++states[printable(text_at(job, "state"))];
  std::string text;
  for (const auto& [state, count] : states) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", grouped(count), state);
  }
  return fmt::format("array {}: {}", count_at(answer, "array"), text);
}

int act_on_jobs(const LiveOptions& options, Streams streams, const std::string& act) {
  return act_on_all(options, streams, "/v1/jobs/", act, [&](const Json& job) {
    if (job.contains("jobs")) return array_line(job);
    const std::uint64_t id = count_at(job, "id");
    std::string line = fmt::format("job {}: {}", id, printable(text_at(job, "state")));
    // Slurm users expect the first job's id to mean the whole array.
    if (count_at(job, "array") == id) {
      line += fmt::format("; for the whole array: muster {} '{}_*'", act, id);
    }
    return line;
  });
}

int act_on_nodes(const LiveOptions& options, Streams streams, const std::string& act,
                 const std::string& body) {
  const auto text = [](const Json& node) {
    std::string line = fmt::format("{}: {}", printable(text_at(node, "name")),
                                   flag_at(node, "open") ? "open" : "drained");
    if (node.contains("until")) line += " until " + local_time(number_at(node, "until"));
    return line;
  };
  return act_on_all(options, streams, "/v1/nodes/", act, text, body);
}

// The body of a request to drain nodes; empty if the drain has no end.
std::string drain_body(const DrainOptions& drain) {
  std::optional<std::int64_t> until = drain.until;
  if (drain.lasts) {
    until = static_cast<std::int64_t>(std::ceil(now_since_1970() + drain.lasts->in_seconds()));
  }
  return until ? Json{{"until", *until}}.dump() : "";
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
int run_retry(const LiveOptions& options, Streams streams) {
  return act_on_all(options, streams, "/v1/jobs/", "retry", [](const Json& job) {
    return fmt::format("job {}: submitted again as job {}", count_at(job, "of"),
                       count_at(job, "id"));
  });
}
int run_drain(const LiveOptions& options, Streams streams) {
  return act_on_nodes(options, streams, "drain", drain_body(options.drain));
}
int run_undrain(const LiveOptions& options, Streams streams) {
  return act_on_nodes(options, streams, "undrain", "");
}

}  // namespace muster
