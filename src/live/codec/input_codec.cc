#include "live/codec/input_codec.h"

#include <nlohmann/json.hpp>
#include <optional>

#include "base/text/text.h"
#include "live/codec/decisions_codec.h"

namespace muster {

namespace {

using nlohmann::json;

json lease_json(const char* what, LiveId id, std::uint32_t lease) {
  return {{"t", what}, {"id", id}, {"lease", lease}};
}

struct InputWriter {
  json operator()(const SubmitInput& in) const {
    json out = {{"t", "submit"}, {"id", in.id}, {"user", in.user}, {"tenant", in.tenant}};
    if (in.uid != kNoUid) out["uid"] = in.uid;
    // JSON within a string, because the request has its own reader with its own limits.
    out["request"] = in.text.empty() ? request_json(in.request) : in.text;
    if (in.array != 0) {
      out["array"] = in.array;
      out["index"] = in.index;
      out["at_once"] = in.at_once;
    }
    return out;
  }
  json operator()(const CancelInput& in) const {
    return {{"t", "cancel"}, {"id", in.id}, {"by", in.by}};
  }
  json operator()(const HoldInput& in) const { return {{"t", "hold"}, {"id", in.id}}; }
  json operator()(const ReleaseInput& in) const { return {{"t", "release"}, {"id", in.id}}; }
  json operator()(const DrainInput& in) const {
    json out = {{"t", "drain"}, {"node", in.node}, {"open", in.open}};
    if (in.until != Instant::never()) out["until"] = in.until.us();
    return out;
  }
  json operator()(const NodeTestInput& in) const {
    return {{"t", "node-test"}, {"node", in.node}, {"ok", in.ok}, {"words", in.words}};
  }
  json operator()(const LeaseUpInput& in) const {
    json out = lease_json("up", in.id, in.lease);
    out["isolation"] = in.isolation;
    return out;
  }
  json operator()(const LeaseOverInput& in) const {
    json out = lease_json("over", in.id, in.lease);
    out["fate"] = fate_name(in.fate);
    if (!in.reason.empty()) out["reason"] = in.reason;
    if (!in.words.empty()) out["words"] = in.words;
    if (!in.proof.signature.empty()) out["signature"] = in.proof.signature;
    if (!in.proof.evidence.empty()) out["evidence"] = in.proof.evidence;
    if (in.proof.line > 0) out["line"] = in.proof.line;
    if (!in.proof.advice.empty()) out["advice"] = in.proof.advice;
    if (in.proof.told) {
      out["reaction"] = key_of(in.proof.told->reaction);
      out["bucket"] = key_of(in.proof.told->bucket);
    }
    if (in.ran_ms >= 0) out["ran_ms"] = in.ran_ms;
    out["cpu_ms"] = in.cpu_ms;
    out["mem_peak_mib"] = in.mem_peak_mib;
    return out;
  }
  json operator()(const SavedInput& in) const { return lease_json("saved", in.id, in.lease); }
  json operator()(const ReportInput& in) const {
    json out = lease_json("report", in.id, in.lease);
    if (in.left_ms >= 0) out["left_ms"] = in.left_ms;
    if (in.speed) {
      out["speed"] = {in.speed->steps, in.speed->rate, in.speed->passes, in.speed->loss};
    }
    return out;
  }
  json operator()(const ProfiledInput& in) const {
    return {{"t", "profiled"}, {"id", in.id}, {"kind", in.kind}, {"words", in.words}};
  }
  json operator()(const NodeStateInput& in) const {
    json out = {{"t", "node-state"}, {"node", in.node}, {"usable", in.usable}};
    if (!in.why.empty()) out["why"] = in.why;
    if (in.taken.gpus != 0) out["gpus"] = in.taken.gpus;
    if (in.taken.cpu_milli != 0) out["cpu_milli"] = in.taken.cpu_milli;
    if (in.taken.mem_mib != 0) out["mem_mib"] = in.taken.mem_mib;
    return out;
  }
  json operator()(const NodeEvidenceInput& in) const {
    return {{"t", "node-evidence"}, {"node", in.node}, {"what", in.what}};
  }
  json operator()(const LeaseNoteInput& in) const {
    json out = lease_json("lease-note", in.id, in.lease);
    out["words"] = in.words;
    return out;
  }
  json operator()(const TickInput&) const { return {{"t", "tick"}}; }
};

Result<Input> read_submit(const json& in) {
  SubmitInput out;
  out.id = in.at("id").get<LiveId>();
  out.user = in.at("user").get<std::string>();
  out.uid = in.value("uid", kNoUid);
  out.tenant = in.at("tenant").get<std::string>();
  Result<JobRequest> request = read_request(in.at("request").get_ref<const std::string&>());
  if (!request.ok()) return request.error();
  out.request = std::move(request).value();
  out.array = in.value("array", LiveId{0});
  out.index = in.value("index", 0);
  out.at_once = in.value("at_once", 0);
  return Input(std::move(out));
}

Result<Input> read_over(const json& in) {
  LeaseOverInput out;
  out.id = in.at("id").get<LiveId>();
  out.lease = in.at("lease").get<std::uint32_t>();
  const auto& fate = in.at("fate").get_ref<const std::string&>();
  const std::optional<LeaseResult> found = find_fate(fate);
  if (!found) return Error{"unknown fate " + in_quotes(fate), ErrorCode::kCorrupt};
  out.fate = *found;
  out.reason = in.value("reason", "");
  out.words = in.value("words", "");
  out.proof.signature = in.value("signature", "");
  out.proof.evidence = in.value("evidence", "");
  out.proof.line = in.value("line", std::int64_t{0});
  out.proof.advice = in.value("advice", "");
  if (in.contains("reaction")) {
    const auto& reaction = in.at("reaction").get_ref<const std::string&>();
    const auto& bucket = in.at("bucket").get_ref<const std::string&>();
    if (!find_reaction(reaction))
      return Error{"unknown reaction " + in_quotes(reaction), ErrorCode::kCorrupt};
    if (!find_bucket(bucket))
      return Error{"unknown bucket " + in_quotes(bucket), ErrorCode::kCorrupt};
    out.proof.told = SignatureReaction{*find_reaction(reaction), *find_bucket(bucket)};
  }
  out.ran_ms = in.value("ran_ms", std::int64_t{-1});
  out.cpu_ms = in.at("cpu_ms").get<std::int64_t>();
  out.mem_peak_mib = in.at("mem_peak_mib").get<std::int64_t>();
  return Input(std::move(out));
}

// Jobs influence these numbers, and JSON writes infinity as null. Any value must stay readable.
Input read_report(const json& in, LiveId id, std::uint32_t lease) {
  ReportInput out{id, lease, -1, {}};
  const auto left = in.find("left_ms");
  if (left != in.end() && left->is_number_integer()) out.left_ms = left->get<std::int64_t>();
  const auto speed = in.find("speed");
  if (speed == in.end() || !speed->is_array()) return out;
  const auto number = [&](std::size_t i) {
    return i < speed->size() && (*speed)[i].is_number() ? (*speed)[i].get<double>() : 0.0;
  };
  out.speed = {number(0), number(1), number(2), number(3)};
  return out;
}

Result<Input> read_input(const json& in) {
  const auto& what = in.at("t").get_ref<const std::string&>();
  if (what == "submit") return read_submit(in);
  if (what == "over") return read_over(in);
  if (what == "tick") return Input(TickInput{});
  if (what == "drain") {
    DrainInput out{in.at("node").get<std::string>(), in.at("open").get<bool>()};
    if (in.contains("until")) out.until = Instant::micros(in.at("until").get<std::int64_t>());
    return Input(std::move(out));
  }
  if (what == "node-test") {
    return Input(NodeTestInput{in.at("node").get<std::string>(), in.at("ok").get<bool>(),
                               in.at("words").get<std::string>()});
  }
  if (what == "node-state") {
    NodeStateInput out;
    out.node = in.at("node").get<std::string>();
    out.usable = in.value("usable", true);
    out.why = in.value("why", "");
    out.taken = {in.value("gpus", std::int32_t{0}), in.value("cpu_milli", std::int64_t{0}),
                 in.value("mem_mib", std::int64_t{0}), 0};
    return Input(std::move(out));
  }
  if (what == "node-evidence") {
    return Input(
        NodeEvidenceInput{in.at("node").get<std::string>(), in.at("what").get<std::string>()});
  }
  const LiveId id = in.at("id").get<LiveId>();
  if (what == "cancel") return Input(CancelInput{id, in.at("by").get<std::string>()});
  if (what == "hold") return Input(HoldInput{id});
  if (what == "release") return Input(ReleaseInput{id});
  if (what == "profiled") {
    return Input(
        ProfiledInput{id, in.at("kind").get<std::string>(), in.at("words").get<std::string>()});
  }
  const auto lease = in.at("lease").get<std::uint32_t>();
  if (what == "up") return Input(LeaseUpInput{id, lease, in.at("isolation").get<std::string>()});
  if (what == "saved") return Input(SavedInput{id, lease});
  if (what == "lease-note") {
    return Input(LeaseNoteInput{id, lease, in.at("words").get<std::string>()});
  }
  if (what == "report") return Input(read_report(in, id, lease));
  return Error{"unknown input " + in_quotes(what), ErrorCode::kCorrupt};
}

}  // namespace

std::string step_json(const JournalStep& step) {
  json inputs = json::array();
  for (const Input& input : step.inputs) inputs.push_back(std::visit(InputWriter{}, input));
  json whole = {{"before", step.before}, {"inputs", std::move(inputs)}};
  if (step.decided) whole["did"] = decisions_json(*step.decided);
  // The text of a failed job may contain any byte.
  return whole.dump(-1, ' ', false, json::error_handler_t::replace);
}

Result<JournalStep> read_step(std::string_view text) {
  try {
    const json whole = json::parse(text);
    JournalStep step;
    step.before = whole.at("before").get<std::string>();
    for (const json& each : whole.at("inputs")) {
      Result<Input> input = read_input(each);
      if (!input.ok()) return input.error();
      step.inputs.push_back(std::move(input).value());
    }
    if (!whole.contains("did")) return step;
    Result<std::vector<Decisions>> decided = read_decisions(whole.at("did"));
    if (!decided.ok()) return decided.error();
    step.decided = std::move(decided).value();
    return step;
  } catch (const json::exception& error) {
    return Error{error.what(), ErrorCode::kCorrupt};
  }
}

std::size_t bulk_of(const Input& input) {
  if (const auto* over = std::get_if<LeaseOverInput>(&input)) {
    return 512 + 6 * (over->words.size() + over->reason.size() + over->proof.signature.size() +
                      over->proof.evidence.size() + over->proof.advice.size());
  }
  if (const auto* node = std::get_if<NodeStateInput>(&input)) return 1024 + 6 * node->why.size();
  if (const auto* event = std::get_if<NodeEvidenceInput>(&input)) {
    return 1024 + 6 * event->what.size();
  }
  if (const auto* note = std::get_if<LeaseNoteInput>(&input)) return 1024 + 6 * note->words.size();
  const auto* submit = std::get_if<SubmitInput>(&input);
  if (submit == nullptr) return 1024;
  std::size_t bulk = 1024;
  for (const char c : submit->text.empty() ? request_json(submit->request) : submit->text) {
    const auto byte = static_cast<unsigned char>(c);
    bulk += byte < 0x20 ? 6 : c == '"' || c == '\\' ? 2 : 1;
  }
  return bulk;
}

}  // namespace muster
