// muster plan: predicts when a job would start, and when it would start with other fields.

#include <fmt/format.h>

#include <filesystem>
#include <ostream>

#include "base/terminal/table.h"
#include "base/terminal/terminal.h"
#include "base/text/text.h"
#include "base/text/wording.h"
#include "cli/live/answer_text.h"
#include "cli/live/live_session.h"
#include "cli/live/live_verbs.h"
#include "cli/live/submit_request.h"
#include "engine/model/fields.h"

namespace muster {
namespace {

using Json = nlohmann::json;

constexpr int kExitQueue = 3;
constexpr int kExitNever = 4;

struct Variant {
  std::string name;  // The text of --try. Empty: the job as given.
  JobRequest request;
};

// Returns `given` with the fields in `text`, such as "gpus=4,priority=2", replaced.
Result<SubmitOptions> with_fields(const SubmitOptions& given, const std::string& text) {
  SubmitOptions options = given;
  for (const std::string_view part : split(text, ',')) {
    const std::size_t at = part.find('=');
    if (at == std::string_view::npos || at == 0) {
      return Error{"--try: must be FIELD=VALUE: " + in_quotes(part)};
    }
    const std::string field(part.substr(0, at));
    if (request_field(field) == nullptr) {
      return Error{"--try: unknown field " + in_quotes(field) + "; see muster plan --help"};
    }
    std::erase_if(options.fields, [&](const SubmitField& each) { return each.field == field; });
    options.fields.push_back({"--try " + field, field, std::string(part.substr(at + 1))});
  }
  return options;
}

Result<std::vector<Variant>> variants_of(const SubmitOptions& options, const std::string& cwd,
                                         Streams streams) {
  std::vector<Variant> all;
  const Result<SubmitRequest> given = make_request(options, cwd, process_environment());
  if (!given.ok()) return given.error();
  for (const std::string& note : given.value().notes) streams.err << "note: " << note << '\n';
  all.push_back({"", given.value().request});
  for (const std::string& text : options.tries) {
    const Result<SubmitOptions> changed = with_fields(options, text);
    if (!changed.ok()) return changed.error();
    const Result<SubmitRequest> made = make_request(changed.value(), cwd, process_environment());
    if (!made.ok()) return made.error();
    all.push_back({text, made.value().request});
  }
  return all;
}

int status_of(const Json& answer) {
  const std::string verdict = text_at(answer, "verdict");
  return verdict == "now" ? kExitDone : verdict == "never" ? kExitNever : kExitQueue;
}

std::string text_of(const Json& answer) {
  const bool never = text_at(answer, "verdict") == "never";
  std::string text = (never ? "can never run: " : "") + printable(text_at(answer, "says")) + "\n";
  if (answer.contains("why")) text += "it " + printable(text_at(answer, "why")) + "\n";
  return text;
}

std::string table_of(const std::vector<Variant>& variants, const std::vector<Json>& answers) {
  Table table({{"WITH", Align::kLeft}, {"VERDICT", Align::kLeft}, {"", Align::kLeft}});
  for (std::size_t i = 0; i < variants.size(); ++i) {
    table.add_row({variants[i].name.empty() ? "as given" : printable(variants[i].name),
                   printable(text_at(answers[i], "verdict")),
                   printable(text_at(answers[i], "says"))});
  }
  return table.render(color_mode_for(1), output_width());
}

int plan(ApiClient& client, const std::vector<Variant>& variants, const LiveOptions& options,
         Streams streams) {
  std::vector<Json> answers;
  for (const Variant& variant : variants) {
    const Result<Json> answer = object_of(client.post("/v1/plan", request_json(variant.request)));
    if (!answer.ok()) return complain(streams, answer.error());
    answers.push_back(answer.value());
    if (!variant.name.empty()) answers.back()["try"] = variant.name;
  }
  if (options.json) {
    for (const Json& answer : answers) streams.out << json_line(answer) << '\n';
  } else if (variants.size() == 1) {
    streams.out << text_of(answers.front());
  } else {
    streams.out << table_of(variants, answers);
  }
  return status_of(answers.front());
}

}  // namespace

int run_plan(const LiveOptions& options, Streams streams) {
  std::error_code code;
  const std::string cwd = std::filesystem::current_path(code).string();
  if (code) return complain(streams, "the current directory no longer exists: " + code.message());
  const Result<std::vector<Variant>> variants = variants_of(options.submit, cwd, streams);
  if (!variants.ok()) return complain(streams, variants.error());
  return with_manager(options, streams, [&](ApiClient& client) {
    return plan(client, variants.value(), options, streams);
  });
}

}  // namespace muster
