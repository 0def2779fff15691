#include "cli/live/submit_request.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

#include "base/text/text.h"
#include "engine/model/fields.h"
#include "workload/input/job_file.h"
#include "workload/input/sbatch.h"

namespace muster {
namespace {

namespace fs = std::filesystem;

// Variables that a program needs to start as in the caller's shell. Other variables are not passed,
// because they may contain secrets, and Muster stores them with the job.
constexpr const char* kUsual[] = {"PATH",         "HOME",       "VIRTUAL_ENV",
                                  "CONDA_PREFIX", "PYTHONPATH", "LD_LIBRARY_PATH"};

struct SubmitDraft {
  SubmitRequest made;
  bool usual_environment = true;
  std::vector<std::string> variables;  // Names of variables to copy from the caller.
};

bool is_job_file(std::string_view path) {
  return path.ends_with(".yaml") || path.ends_with(".yml") || path.ends_with(".json");
}

Result<std::string> read_script(const std::string& path) {
  std::error_code code;
  if (fs::is_directory(path, code)) return Error{path + ": a directory, not a file"};
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    return Error{
        fmt::format("{}: no such file; to run a command, put -- before it: "
                    "muster submit -- {}",
                    in_quotes(path), path)};
  }
  std::string text(kMaxRequestBytes + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (text.size() > kMaxRequestBytes) {
    return Error{fmt::format("{}: more than {} KiB", path, kMaxRequestBytes >> 10U)};
  }
  if (!text.starts_with("#!") && text.find("#SBATCH") == std::string::npos) {
    return Error{path +
                 ": must be a job file (.yaml, .yml, .json) or a script that begins with #!; to "
                 "run a command, put -- before it"};
  }
  return text;
}

Result<SubmitDraft> from_script(const std::string& path, std::span<const std::string> arguments,
                                const std::string& cwd) {
  const Result<std::string> text = read_script(path);
  if (!text.ok()) return text.error();
  Result<SbatchJob> job = parse_sbatch(text.value(), path, arguments, cwd);
  if (!job.ok()) return job.error();
  SbatchJob& read = job.value();
  return SubmitDraft{{std::move(read.request), std::move(read.notes)},
                     read.whole_environment,
                     std::move(read.variables)};
}

Result<SubmitDraft> from_words(const SubmitOptions& options, const std::string& cwd) {
  const std::vector<std::string>& words = options.words;
  if (words.empty()) {
    return Error{
        "a job is required: a job file, a script, or -- and a command; see 'muster submit "
        "--help'"};
  }
  SubmitDraft draft;
  if (options.command) {
    draft.made.request.command = words;
    draft.made.request.cwd = cwd;
    return draft;
  }
  if (!is_job_file(words.front())) {
    return from_script(words.front(), std::span(words).subspan(1), cwd);
  }
  if (words.size() > 1) {
    return Error{
        fmt::format("{}: a job file takes no arguments: {}", words.front(), in_quotes(words[1]))};
  }
  Result<JobRequest> request = read_job_file(words.front(), cwd);
  if (!request.ok()) return request.error();
  draft.made.request = std::move(request).value();
  return draft;
}

// Overrides a field of the file with an option. The option lists values with commas.
MaybeError set_by_flag(JobRequest& request, const SubmitField& given) {
  const RequestField* const field = request_field(given.field);
  MUSTER_CHECK(field != nullptr);
  std::visit([&](auto member) { request.*member = JobRequest().*member; }, field->member);
  const std::vector<std::string_view> parts =
      field->takes_list() ? split(given.text, ',') : std::vector<std::string_view>{given.text};
  for (const std::string_view part : parts) {
    const Written written{Written::As::kPlain, part};
    const MaybeError refused = field->takes_list() ? add_to_field(request, *field, written)
                                                   : set_field(request, *field, written);
    if (refused) return Error{given.flag + ": " + refused->message};
  }
  return std::nullopt;
}

// Sets a variable from "NAME=value", or copies the caller's value for "NAME".
MaybeError set_variable(JobRequest& request, const std::string& text, const Environment& env) {
  const std::size_t equals = text.find('=');
  const std::string name = text.substr(0, equals);
  if (equals != std::string::npos) {
    request.env[name] = text.substr(equals + 1);
    return std::nullopt;
  }
  const char* const value = env(name.c_str());
  if (value == nullptr) {
    return Error{"--env: " + in_quotes(name) + " is not set; give " + name + "=VALUE"};
  }
  request.env[name] = value;
  return std::nullopt;
}

void pass_environment(SubmitDraft& draft, const Environment& env) {
  std::vector<std::string> names = draft.variables;
  if (draft.usual_environment) names.insert(names.end(), std::begin(kUsual), std::end(kUsual));
  for (const std::string& name : names) {
    const char* const value = env(name.c_str());
    // emplace() keeps variables that the file sets.
    if (value != nullptr && *value != '\0') draft.made.request.env.emplace(name, value);
  }
}

}  // namespace

Result<SubmitRequest> make_request(const SubmitOptions& options, const std::string& cwd,
                                   const Environment& env) {
  Result<SubmitDraft> draft = from_words(options, cwd);
  if (!draft.ok()) return draft.error();
  pass_environment(draft.value(), env);
  JobRequest& request = draft.value().made.request;
  for (const SubmitField& field : options.fields) {
    if (MaybeError refused = set_by_flag(request, field)) return *refused;
  }
  for (const std::string& text : options.env) {
    if (MaybeError refused = set_variable(request, text, env)) return *refused;
  }
  request.cwd = (fs::path(cwd) / request.cwd).lexically_normal().string();
  complete_request(request);
  if (MaybeError refused = check_request(request)) return *refused;
  return std::move(draft.value().made);
}

Result<SubmitRequest> make_request_here(const SubmitOptions& options) {
  std::error_code code;
  const std::string cwd = fs::current_path(code).string();
  if (code) return Error{"the current directory no longer exists: " + code.message()};
  return make_request(options, cwd, process_environment());
}

SubmitWords part_words(std::span<const std::string> words,
                       std::span<const std::string_view> flags) {
  SubmitWords parted;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    const bool ours = i == 0 || (word.starts_with('-') && word != "-" && word != "--");
    if (!ours) {
      parted.command = word == "--";
      const auto from = static_cast<std::ptrdiff_t>(i + (parted.command ? 1 : 0));
      parted.tail.assign(words.begin() + from, words.end());
      break;
    }
    parted.options.push_back(word);
    const bool alone = i == 0 || word.find('=') != std::string::npos ||
                       std::find(flags.begin(), flags.end(), word) != flags.end();
    if (!alone && i + 1 < words.size()) parted.options.push_back(words[++i]);
  }
  return parted;
}

}  // namespace muster
