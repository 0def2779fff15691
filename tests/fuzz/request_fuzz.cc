// Input of users for `muster submit`, the API and `muster serve`: requests as JSON, job files,
// Slurm scripts and the configuration file. A reader must return a valid request that writing and
// reading does not change, or a printable one-line error that names the file.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/types/check.h"
#include "live/config/serve_file.h"
#include "workload/input/job_file.h"
#include "workload/input/sbatch.h"

namespace muster {
namespace {

void check_refusal(const Error& error, std::string_view start) {
  MUSTER_CHECK(error.message.starts_with(start));
  MUSTER_CHECK(!error.message.empty());
  for (const char c : error.message) MUSTER_CHECK(c >= 0x20 && c < 0x7f);
}

void check_accepted(const JobRequest& request) {
  MUSTER_CHECK(!check_request(request));
  MUSTER_CHECK(!request.name.empty() && request.cwd.starts_with('/'));
  const Result<JobRequest> again = read_request(request_json(request));
  MUSTER_CHECK(again.ok());
  MUSTER_CHECK(again.value() == request);
}

void read_all(std::string_view text) {
  const Result<JobRequest> json = read_request(text);
  json.ok() ? check_accepted(json.value()) : check_refusal(json.error(), "");
  const Result<JobRequest> yaml = parse_job_file(text, "f", "/here");
  yaml.ok() ? check_accepted(yaml.value()) : check_refusal(yaml.error(), "f:");
  const Result<SbatchJob> script = parse_sbatch(text, "f", {}, "/here");
  if (script.ok()) {
    check_accepted(script.value().request);
    for (const std::string& note : script.value().notes) check_refusal(Error{note}, "f:");
  } else {
    check_refusal(script.error(), "f:");
  }
  const Result<ServeFile> serve = parse_serve_file(text, "f");
  if (!serve.ok()) check_refusal(serve.error(), "f:");
}

}  // namespace
}  // namespace muster

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  muster::read_all(std::string_view(reinterpret_cast<const char*>(data), size));
  return 0;
}
