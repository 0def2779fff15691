// muster submit: submits a job to the manager. The idempotency key allows a retry after a lost
// answer without creating a second job.

#include <fmt/format.h>
#include <sys/random.h>

#include <ostream>
#include <thread>

#include "base/terminal/terminal.h"
#include "base/text/hex.h"
#include "base/text/text.h"
#include "cli/live/follow.h"
#include "cli/live/live_verbs.h"
#include "cli/live/submit_request.h"

namespace muster {
namespace {

using Json = nlohmann::json;

std::string random_key() {
  unsigned char bytes[16] = {};
  MUSTER_CHECK(::getrandom(bytes, sizeof bytes, 0) == sizeof bytes);
  return to_hex(bytes);
}

Result<Json> send(ApiClient& client, const JobRequest& request, const std::string& key) {
  const std::string body = request_json(request);
  const HttpHeaders headers = {{"Idempotency-Key", key}};
  Result<HttpReply> reply = client.post("/v1/jobs", body, headers);
  if (!reply.ok()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    reply = client.post("/v1/jobs", body, headers);
  }
  if (!reply.ok()) {
    return Error{reply.error().message +
                     "; the job may have been submitted; to retry safely, submit it again with "
                     "--key " +
                     key,
                 reply.error().code};
  }
  return object_of(reply);
}

std::vector<std::string> ids_of(const Json& answer) {
  std::vector<std::string> ids;
  for (const Json& id : list_at(answer, "ids")) ids.push_back(json_line(id));
  if (ids.empty()) ids.push_back(std::to_string(count_at(answer, "id")));
  return ids;
}

std::string friendly_line(const std::vector<std::string>& ids, const JobRequest& request,
                          bool seen) {
  const std::string gpus = fmt::format("{} GPU{}", request.gpus, request.gpus == 1 ? "" : "s");
  const char* const did = seen ? "already submitted:" : "submitted";
  if (ids.size() > 1) {
    return fmt::format("{} jobs {} to {} ({}, {} jobs of {}); watch them: muster queue --mine\n",
                       did, ids.front(), ids.back(), request.name, ids.size(), gpus);
  }
  return fmt::format("{} job {} ({}, {}); watch it: muster logs -f {}\n", did, ids.front(),
                     request.name, gpus, ids.front());
}

int await_all(ApiClient& client, const std::vector<std::string>& ids, Streams streams) {
  int status = kExitDone;
  for (const std::string& id : ids) {
    const Result<Json> job = await_end(client, id, interrupted);
    if (interrupted()) return kExitInterrupted;
    if (!job.ok()) return complain(streams, job.error());
    streams.err << fate_line(job.value()) << '\n';
    if (fate_status(job.value()) != kExitDone) status = kExitFailed;
  }
  return status;
}

int stay(ApiClient& client, const std::vector<std::string>& ids, const LiveOptions& options,
         Streams streams) {
  catch_interrupts();
  int status = kExitDone;
  if (options.submit.follow) status = follow_output(client, ids.front(), options, streams);
  if (status != kExitInterrupted) status = await_all(client, ids, streams);
  if (status == kExitInterrupted) {
    streams.err << fmt::format("job {} keeps running; to end it: muster cancel {}\n", ids.front(),
                               ids.front());
  }
  return status;
}

int submit(ApiClient& client, const JobRequest& request, const LiveOptions& options,
           Streams streams) {
  const std::string key = options.submit.key.empty() ? random_key() : options.submit.key;
  const Result<Json> answer = send(client, request, key);
  if (!answer.ok()) return complain(streams, answer.error());
  const std::vector<std::string> ids = ids_of(answer.value());
  // With --follow, standard output contains only the job's output.
  std::ostream& out = options.submit.follow ? streams.err : streams.out;
  if (options.json) {
    out << json_line(answer.value()) << std::endl;
  } else if (is_terminal(options.submit.follow ? 2 : 1)) {
    out << friendly_line(ids, request, flag_at(answer.value(), "key_seen")) << std::flush;
  } else {
    for (const std::string& id : ids) out << id << std::endl;
  }
  if (!options.submit.wait && !options.submit.follow) return kExitDone;
  return stay(client, ids, options, streams);
}

}  // namespace

int run_submit(const LiveOptions& options, Streams streams) {
  if (options.submit.plan) return run_plan(options, streams);
  const Result<SubmitRequest> made = make_request_here(options.submit);
  if (!made.ok()) return complain(streams, made.error());
  const JobRequest& request = made.value().request;
  for (const std::string& note : made.value().notes) streams.err << "note: " << note << '\n';
  if (options.submit.follow && request.array) {
    return complain(streams, "--follow: cannot be combined with an array; use --wait");
  }
  if (options.submit.dry_run) {
    streams.out << request_json(request) << '\n';
    return kExitDone;
  }
  return with_manager(options, streams,
                      [&](ApiClient& client) { return submit(client, request, options, streams); });
}

}  // namespace muster
