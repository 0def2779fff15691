// muster why, muster eta: print the manager's explanation of why a job waits and when it starts.

#include <fmt/format.h>

#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "api/client/target.h"
#include "base/text/wording.h"
#include "cli/live/answer_text.h"
#include "cli/live/live_session.h"
#include "cli/live/live_verbs.h"

namespace muster {
namespace {

using Json = nlohmann::json;

std::string says(const Json& object) { return printable(text_at(object, "says")); }

const Json& part_of(const Json& answer, const char* key) {
  static const Json kNone = Json::object();
  const auto found = answer.find(key);
  return found == answer.end() || !found->is_object() ? kNone : *found;
}

// A label and the lines under it.
struct Branch {
  std::string label;
  std::vector<std::string> says;
};

Branch branch_of(const char* label, const Json& list) {
  Branch branch{label, {}};
  for (const Json& each : list) branch.says.push_back(says(each));
  return branch;
}

std::string count_of(std::uint64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

// Returns the numbers behind the explanation, for --verbose.
std::vector<Branch> numbers(const Json& answer) {
  const Json& facts = part_of(answer, "facts");
  std::vector<Branch> all;
  const std::string constraint = printable(text_at(answer, "constraint"));
  if (constraint != "none") all.push_back({"because", {constraint}});
  if (facts.contains("needs")) {
    all.push_back({"GPUs",
                   {fmt::format("{} requested, {} of {} free{}, at most {} on one node{}",
                                count_at(facts, facts.contains("asked") ? "asked" : "needs"),
                                count_at(facts, "free"), count_at(facts, "gpus"),
                                facts.contains("kept") ? fmt::format(", {} reserved for job {}",
                                                                     count_at(facts, "kept"),
                                                                     count_at(facts, "kept_for"))
                                                       : "",
                                count_at(facts, "most_on_one"),
                                facts.contains("best_node")
                                    ? " (" + printable(text_at(facts, "best_node")) + ")"
                                    : "")}});
    all.push_back({"order",
                   {fmt::format("{} ahead in the queue, requesting {}",
                                count_of(count_at(facts, "ahead"), "job"),
                                count_of(count_at(facts, "ahead_gpus"), "GPU"))}});
  }
  if (facts.contains("policy")) {
    all.push_back(
        {"with",
         {fmt::format("policy {}, mechanism {}, placement {}", printable(text_at(facts, "policy")),
                      printable(text_at(facts, "mechanism")),
                      printable(text_at(facts, "placement")))}});
  }
  Branch waited{"waited", {}};
  for (const auto& [cause, seconds] : part_of(facts, "waited_s").items()) {
    if (!seconds.is_number() || seconds.get<double>() < 0.5) continue;
    waited.says.push_back(
        fmt::format("{} for {}", brief_time(seconds.get<double>()), printable(cause)));
  }
  all.push_back(std::move(waited));
  all.push_back(branch_of("closed", list_at(facts, "servers")));
  all.push_back(branch_of("used by", list_at(facts, "holders")));
  return all;
}

std::vector<Branch> branches(const Json& answer, bool verbose) {
  std::vector<Branch> all;
  const std::string end = printable(text_at(answer, "end"));
  // Only if the first line was cut.
  if (printable(text_at(answer, "why")).ends_with("…")) all.push_back({"end", {end}});
  const std::string evidence = printable(evidence_text(answer));
  if (!evidence.empty()) all.push_back({"evidence", {evidence}});
  const std::string advice = printable(text_at(answer, "advice"));
  if (!advice.empty()) all.push_back({"advice", {advice}});
  if (answer.contains("time") && !text_at(answer, "why").ends_with(text_at(answer, "time"))) {
    all.push_back({"time", {printable(text_at(answer, "time"))}});
  }
  if (answer.contains("before")) all.push_back({"before", {printable(text_at(answer, "before"))}});
  all.push_back(branch_of("why", list_at(answer, "because")));
  if (answer.contains("eta")) all.push_back({"when", {says(part_of(answer, "eta"))}});
  Branch sooner{"sooner", {}};
  Branch after{"after", {}};
  for (const Json& way : list_at(answer, "ways")) {
    (text_at(way, "kind") == "after-ends" ? after : sooner).says.push_back(says(way));
  }
  all.push_back(std::move(sooner));
  all.push_back(std::move(after));
  if (verbose) {
    for (Branch& branch : numbers(answer)) all.push_back(std::move(branch));
  }
  std::erase_if(all, [](const Branch& branch) { return branch.says.empty(); });
  return all;
}

// Returns the explanation in one sentence. Below it, the first line of each branch, or with
// --verbose all lines as a tree.
std::string why_text(const Json& answer, bool verbose) {
  std::string text =
      fmt::format("job {} {}\n", count_at(answer, "id"), printable(text_at(answer, "why")));
  const std::vector<Branch> all = branches(answer, verbose);
  for (const Branch& branch : all) {
    const bool last = &branch == &all.back();
    for (std::size_t i = 0; i < (verbose ? branch.says.size() : 1); ++i) {
      const char* line = i > 0 ? (last ? "   " : "│  ") : (last ? "└─ " : "├─ ");
      text += fmt::format("{}{:<8} {}\n", verbose ? line : "", i == 0 ? branch.label : "",
                          branch.says[i]);
    }
  }
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
