#include "live/codec/decisions_codec.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

namespace muster {

namespace {

using nlohmann::json;

constexpr std::size_t kShareNumbers = 5;
constexpr std::uint32_t kNoJob = std::numeric_limits<std::uint32_t>::max();

json change_json(const PlannedChange& change) {
  json out = {change.job.index()};
  for (const Share& share : change.placement) {
    out.push_back(share.node.index());
    out.push_back(share.slots);
    out.push_back(share.cpu_milli);
    out.push_back(share.mem_mib);
    out.push_back(share.storage_kbps);
  }
  return out;
}

json reaction_json(const FailureDecision& each) {
  json avoided = json::array();
  for (const NodeId node : each.avoided) avoided.push_back(node.index());
  return {each.job.index(),         each.epoch,
          info_of(each.reason).key, static_cast<int>(each.verdict.next),
          each.verdict.wait.us(),   static_cast<int>(each.verdict.blames),
          each.verdict.why,         std::move(avoided)};
}

// Row kNoJob: measured evidence. Version 3 of the engine wrote only the first seven elements.
json quarantine_json(const Quarantine& each) {
  const Charge& charge = each.charge;
  json tenants = json::array();
  for (const TenantId tenant : charge.tenants) tenants.push_back(tenant.index());
  return {each.job ? each.job->index() : kNoJob,
          each.node.index(),
          info_of(charge.reason).key,
          charge.failures,
          charge.users,
          charge.within.us(),
          charge.young,
          charge.grade == EvidenceGrade::kMeasured,
          std::move(tenants),
          charge.what};
}

json others_json(const Decisions& step) {
  json out = json::object();
  if (step.avoidance_ended) out["avoidance_ended"] = true;
  for (const BlockedGpus& each : step.blocked) {
    out["blocked"].push_back({each.node.index(), each.slots});
  }
  for (const Rejection& each : step.rejections) {
    out["rejected"].push_back({each.job.index(), each.why});
  }
  for (const FailureDecision& each : step.reactions) out["failed"].push_back(reaction_json(each));
  for (const Quarantine& each : step.quarantines) {
    out["closed"].push_back(quarantine_json(each));
  }
  return out;
}

// Formats a value for an error message. dump() recurses, so a deeply nested value is shown as its
// type, to protect the stack.
std::string shown(const json& in) {
  const bool is_flat = in.is_primitive() || std::all_of(in.begin(), in.end(), [](const json& each) {
                         return each.is_primitive();
                       });
  return is_flat ? in.dump(-1, ' ', false, json::error_handler_t::replace) : in.type_name();
}

// Reads numbers and reports those out of range, which a cast would wrap.
class DecisionsReader {
 public:
  template <class T>
  T number(const json& in, std::int64_t most = std::numeric_limits<std::int64_t>::max()) {
    const bool fits =
        in.is_number_unsigned() && in.get<std::uint64_t>() <= static_cast<std::uint64_t>(most);
    if (!fits) wrong_ = "not a number from 0 to " + std::to_string(most) + ": " + shown(in);
    return fits ? static_cast<T>(in.get<std::uint64_t>()) : T();
  }
  JobId row(const json& in) { return JobId(id(in)); }
  NodeId node(const json& in) { return NodeId(id(in)); }
  SlotMask slots(const json& in) {
    if (!in.is_number_unsigned()) wrong_ = "not a set of GPUs: " + shown(in);
    return in.is_number_unsigned() ? in.get<SlotMask>() : 0;
  }
  Duration duration(const json& in) {
    return Duration::micros(number<std::int64_t>(in, kLongestDuration.us()));
  }
  Reason reason(const json& in) {
    const auto& key = in.get_ref<const std::string&>();
    const std::optional<Reason> found = find_reason(key);
    if (!found) wrong_ = "unknown reason " + key;
    return found.value_or(Reason::kNoSignature);
  }
  PlannedChange change(const json& in) {
    PlannedChange out;
    out.job = row(in.at(0));
    if (in.size() % kShareNumbers != 1) wrong_ = "not a placement: " + shown(in);
    for (std::size_t i = 1; i + kShareNumbers <= in.size(); i += kShareNumbers) {
      Share share;
      share.node = node(in[i]);
      share.slots = slots(in[i + 1]);
      share.cpu_milli = number<std::int64_t>(in[i + 2]);
      share.mem_mib = number<std::int64_t>(in[i + 3]);
      share.storage_kbps = number<std::int64_t>(in[i + 4]);
      out.placement.push_back(share);
    }
    return out;
  }
  FailureDecision reaction(const json& in) {
    FailureDecision out;
    out.job = row(in.at(0));
    out.epoch = number<Epoch>(in.at(1), std::numeric_limits<Epoch>::max());
    out.reason = reason(in.at(2));
    out.verdict.next = static_cast<Verdict::Next>(
        number<int>(in.at(3), static_cast<int>(Verdict::Next::kRetryElsewhere)));
    out.verdict.wait = duration(in.at(4));
    out.verdict.blames = static_cast<Verdict::Blames>(
        number<int>(in.at(5), static_cast<int>(Verdict::Blames::kUser)));
    out.verdict.why = in.at(6).get<std::string>();
    for (const json& each : in.at(7)) out.avoided.push_back(node(each));
    return out;
  }
  Quarantine quarantine(const json& in) {
    Quarantine out;
    if (const std::uint32_t job = id(in.at(0)); job != kNoJob) out.job = JobId(job);
    out.node = node(in.at(1));
    out.charge.reason = reason(in.at(2));
    out.charge.failures = number<int>(in.at(3), std::numeric_limits<int>::max());
    out.charge.users = number<int>(in.at(4), std::numeric_limits<int>::max());
    out.charge.within = duration(in.at(5));
    out.charge.young = in.at(6).get<bool>();
    if (in.size() < 10) return out;
    if (in.at(7).get<bool>()) out.charge.grade = EvidenceGrade::kMeasured;
    for (const json& each : in.at(8)) out.charge.tenants.push_back(TenantId(id(each)));
    out.charge.what = in.at(9).get<std::string>();
    return out;
  }
  Decisions step(const json& in) {
    Decisions out;
    if (!in.empty() && in.at(0).is_array()) {
      out.plan.emplace();
      for (const json& each : in.at(0)) out.plan->push_back(change(each));
    } else if (!in.empty() && in.at(0) != 0) {
      wrong_ = "not a plan: " + shown(in.at(0));
    }
    if (in.size() >= 2) others(in.at(1), out);
    return out;
  }
  const std::string& wrong() const { return wrong_; }

 private:
  void others(const json& in, Decisions& out) {
    const auto each_of = [&](const char* key, const auto& read) {
      const auto found = in.find(key);  // Not value(): it copies its argument recursively.
      if (found == in.end()) return;
      for (const json& each : *found) read(each);
    };
    if (!in.is_object()) {
      wrong_ = "not an object: " + shown(in);
      return;
    }
    out.avoidance_ended = in.contains("avoidance_ended");
    each_of("blocked", [&](const json& each) {
      out.blocked.push_back({node(each.at(0)), slots(each.at(1))});
    });
    each_of("rejected", [&](const json& each) {
      out.rejections.push_back({row(each.at(0)), each.at(1).get<std::string>()});
    });
    each_of("failed", [&](const json& each) { out.reactions.push_back(reaction(each)); });
    each_of("closed", [&](const json& each) { out.quarantines.push_back(quarantine(each)); });
  }
  std::uint32_t id(const json& in) {
    return number<std::uint32_t>(in, std::numeric_limits<std::uint32_t>::max());
  }

  std::string wrong_;
};

}  // namespace

json decisions_json(std::span<const Decisions> steps) {
  json all = json::array();
  for (const Decisions& step : steps) {
    json plan = 0;
    if (step.plan) {
      plan = json::array();
      for (const PlannedChange& each : *step.plan) plan.push_back(change_json(each));
    }
    json others = others_json(step);
    json& out = all.emplace_back(json::array());
    if (!others.empty()) {
      out = {std::move(plan), std::move(others)};
    } else if (step.plan) {
      out.push_back(std::move(plan));
    }
  }
  return all;
}

Result<std::vector<Decisions>> read_decisions(const json& steps) {
  DecisionsReader reader;
  std::vector<Decisions> all;
  try {
    for (const json& each : steps) all.push_back(reader.step(each));
  } catch (const json::exception& error) {
    return Error{std::string("cannot read its decisions: ") + error.what(), ErrorCode::kCorrupt};
  }
  if (!reader.wrong().empty()) {
    return Error{"cannot read its decisions: " + reader.wrong(), ErrorCode::kCorrupt};
  }
  return all;
}

}  // namespace muster
