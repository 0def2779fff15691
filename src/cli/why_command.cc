// muster why, muster eta: what the manager makes of a job that waits; the words are its own.

#include <fmt/format.h>

#include <ostream>

#include "cli/live.h"
#include "cli/live_text.h"
#include "cli/live_verbs.h"
#include "client/target.h"
#include "report/wording.h"

namespace muster {
namespace {

using Json = nlohmann::json;

std::string says(const Json& object) { return printable(text_at(object, "says")); }

// A first line before the first of a list, and blanks before the others.
void add_list(std::string& text, const char* label, const Json& list) {
  const char* before = label;
  for (const Json& each : list) {
    text += fmt::format("{:<9}{}\n", before, says(each));
    before = "";
  }
}

const Json& part_of(const Json& answer, const char* key) {
  static const Json kNone = Json::object();
  const auto found = answer.find(key);
  return found == answer.end() || !found->is_object() ? kNone : *found;
}

std::string numbers_text(const Json& answer) {
  const Json& facts = part_of(answer, "facts");
  std::string text = fmt::format("{:<9}{}\n", "because", printable(text_at(answer, "constraint")));
  if (facts.contains("needs")) {
    text += fmt::format(
        "{:<9}{} wanted, {} of {} free, at most {} on one server{}\n", "GPUs",
        count_at(facts, "needs"), count_at(facts, "free"), count_at(facts, "gpus"),
        count_at(facts, "most_on_one"),
        facts.contains("best_node") ? " (" + printable(text_at(facts, "best_node")) + ")" : "");
    text += fmt::format("{:<9}jobs that start before it: {}, wanting {} GPUs\n", "order",
                        count_at(facts, "ahead"), count_at(facts, "ahead_gpus"));
  }
  if (facts.contains("policy")) {
    text +=
        fmt::format("{:<9}{}, {}, {}\n", "by", printable(text_at(facts, "policy")),
                    printable(text_at(facts, "mechanism")), printable(text_at(facts, "placement")));
  }
  for (const auto& [cause, seconds] : part_of(facts, "waited_s").items()) {
    if (!seconds.is_number() || seconds.get<double>() < 0.5) continue;
    text += fmt::format("{:<9}{} for {}\n", "waited", brief_time(seconds.get<double>()),
                        printable(cause));
  }
  add_list(text, "held by", list_at(facts, "holders"));
  return text;
}

std::string why_text(const Json& answer, bool verbose) {
  std::string text =
      fmt::format("job {} {}\n", count_at(answer, "id"), printable(text_at(answer, "why")));
  if (answer.contains("end")) text += printable(text_at(answer, "end")) + "\n";
  if (answer.contains("eta")) text += says(part_of(answer, "eta")) + "\n";
  for (const char* label : {"sooner", "after"}) {
    Json ways = Json::array();
    for (const Json& way : list_at(answer, "ways")) {
      if ((text_at(way, "kind") == "after-ends") == (std::string_view(label) == "after")) {
        ways.push_back(way);
      }
    }
    add_list(text, label, ways);
  }
  if (verbose) text += numbers_text(answer);
  return text;
}

std::string eta_text(const Json& answer) {
  const bool waits = answer.contains("eta");
  return fmt::format("job {} {}\n", count_at(answer, "id"),
                     waits ? says(part_of(answer, "eta")) : printable(text_at(answer, "why")));
}

int ask(const LiveOptions& options, Streams streams,
        const std::function<std::string(const Json&)>& text) {
  return with_manager(options, streams, [&](ApiClient& client) {
    return show(client, "/v1/jobs/" + escaped(options.names.front()) + "/why", options, streams,
                text);
  });
}

}  // namespace

int run_why(const LiveOptions& options, Streams streams) {
  return ask(options, streams,
             [&](const Json& answer) { return why_text(answer, options.verbose); });
}

int run_eta(const LiveOptions& options, Streams streams) { return ask(options, streams, eta_text); }

}  // namespace muster
