#include "live/codec/roster_codec.h"

#include <concepts>
#include <map>
#include <nlohmann/json.hpp>
#include <type_traits>
#include <utility>

#include "live/codec/blame_codec.h"

namespace muster {

namespace {

using nlohmann::json;

// Each struct has one table of its fields, a function list(codec, value). The writer and the reader
// both run it, so they cannot differ. field() has a key; item() is an element of an array. "later":
// earlier versions did not write it, so the reader keeps the default.

template <class T>
concept IsTime = std::same_as<T, Instant> || std::same_as<T, Duration>;
template <class T>
concept IsPlain = std::is_arithmetic_v<T> || std::same_as<T, std::string>;

// Reaction and bucket are fields of the object that contains them.
template <class Codec>
void list_told(Codec& codec, std::optional<SignatureReaction>& told) {
  std::string reaction(told ? key_of(told->reaction) : "");
  std::string bucket(told ? key_of(told->bucket) : "");
  codec.field_if(told.has_value(), "reaction", reaction);
  codec.field_if(told.has_value(), "bucket", bucket);
  const auto known_reaction = find_reaction(reaction);
  const auto known_bucket = find_bucket(bucket);
  told.reset();
  if (known_reaction && known_bucket) told = SignatureReaction{*known_reaction, *known_bucket};
}

template <class Codec>
void list(Codec& codec, Share& share) {
  codec.item(share.node);
  codec.item(share.slots);
  codec.item(share.cpu_milli);
  codec.item(share.mem_mib);
  codec.item(share.storage_kbps);
}

template <class Codec>
void list(Codec& codec, LiveLease& lease) {
  codec.field("number", lease.number);
  codec.field("where", lease.placement);
  codec.field("up", lease.up);
  codec.field("trial", lease.trial);
  codec.field("since", lease.since);
  codec.field("up_since", lease.up_since);
  codec.field("isolation", lease.isolation);
  codec.later_field("says", lease.says);
}

template <class Codec>
void list(Codec& codec, FailureEvidence& proof) {
  codec.later_field("signature", proof.signature);
  codec.later_field("evidence", proof.evidence);
  codec.later_field("line", proof.line);
  codec.later_field("advice", proof.advice);
  list_told(codec, proof.told);
}

template <class Codec>
void list(Codec& codec, FailedAttempt& failed) {
  std::string reason(info_of(failed.reason).key);
  codec.field("reason", reason);
  failed.reason = find_reason(reason).value_or(FailedAttempt().reason);
  codec.field("servers", failed.nodes);
  list_told(codec, failed.told);
}

template <class Codec>
void list(Codec& codec, EngineHistory& past) {
  codec.field("work_done", past.work_done);
  codec.field("gpu_us", past.gpu_us);
  codec.field("cpu_milli_ms", past.cpu_milli_ms);
  codec.field("mem_mib_ms", past.mem_mib_ms);
  codec.field("failures", past.failures);
  codec.field("estimate", past.estimate);
}

template <class Codec>
void list(Codec& codec, WaitSplit& split) {
  for (Duration& each : split.by_cause) codec.item(each);
}

// The notes that a job already has, stored so that a restart does not repeat them.
struct Story {
  LiveJob& job;
};
template <class Codec>
void list(Codec& codec, Story& story) {
  codec.item(story.job.told_wait);
  codec.item(story.job.waits_told);
  codec.item(story.job.waits_since);
  codec.item(story.job.waited);
  codec.later_item(story.job.waited_for_lease);
}

template <class Codec>
void list(Codec& codec, LiveJob& job) {
  bool entered = job.row.has_value();
  codec.field("id", job.id);
  codec.field("user", job.user);
  codec.field_if(job.uid != kNoUid, "uid", job.uid);
  codec.field("tenant", job.tenant);
  codec.field("request", job.request);
  codec.field("array", job.array);
  codec.field("index", job.index);
  codec.field("at_once", job.at_once);
  codec.field("submitted", job.submitted);
  codec.field("started", job.started);
  codec.field("why", job.why);
  codec.field("held", job.held);
  codec.later_field("held_why", job.held_why);
  codec.field("cancelled", job.cancelled);
  codec.field("tried", job.tried);
  codec.field("in_line", job.in_array_line);
  codec.field("entered", entered);
  codec.field("lease_base", job.lease_base);
  codec.field("leases_used", job.leases_used);
  codec.field("losses", job.losses);
  codec.field("ran", job.ran);
  codec.field_if(job.step_unit > 0, "step_unit", job.step_unit);
  codec.field_if(!job.proof.signature.empty(), "proof", job.proof);
  codec.field("past", job.past);
  codec.field("lease", job.lease);
  if (!job.row && entered) job.row.emplace();
  if constexpr (Codec::kReads) job.waits_since = job.submitted;  // Default without a stored Story.
  Story story{job};
  codec.later_field("story", story);
}

template <class Codec>
void list(Codec& codec, std::pair<NodeId, Instant>& drain_end) {
  codec.field("node", drain_end.first);
  codec.field("until", drain_end.second);
}

template <class Codec>
void list(Codec& codec, std::pair<NodeId, NodeQuarantine>& each) {
  codec.field("node", each.first);
  codec.field("why", each.second.why);
  codec.field("since", each.second.since);
  codec.field("until", each.second.until);
  codec.field("period", each.second.period);
  codec.field("testing", each.second.testing);
  codec.field("test", each.second.test);
  bool measured = each.second.grade == EvidenceGrade::kMeasured;
  codec.field_if(measured, "measured", measured);
  each.second.grade = measured ? EvidenceGrade::kMeasured : EvidenceGrade::kReported;
}

template <class Codec>
void list(Codec& codec, Resources& taken) {
  codec.item(taken.gpus);
  codec.item(taken.cpu_milli);
  codec.item(taken.mem_mib);
}

template <class Codec>
void list(Codec& codec, std::pair<NodeId, NodeCondition>& each) {
  codec.field("node", each.first);
  codec.field("usable", each.second.usable);
  codec.field("why", each.second.why);
  codec.field("since", each.second.since);
  codec.field("taken", each.second.taken);
}

template <class Codec>
void list(Codec& codec, std::pair<Siblings, SiblingStreak>& each) {
  std::string reason(each.second.reason ? info_of(*each.second.reason).key : "");
  codec.item(each.first.first);
  codec.item(each.first.second);
  codec.item(reason);
  codec.item(each.second.failed);
  codec.item(each.second.any_good);
  each.second.reason = find_reason(reason);
}

template <class Codec>
void list(Codec& codec, FinishedSample& sample) {
  codec.item(sample.user);
  codec.item(sample.name);
  codec.item(sample.gpus);
  codec.item(sample.work);
  codec.later_item(sample.tenant);
  codec.later_item(sample.submitted);
}

template <class Codec>
void list(Codec& codec, RosterState& state) {
  codec.field("now", state.now);
  codec.field("digest", state.digest);
  codec.field("known", state.finished);
  codec.field("jobs", state.jobs);
  codec.field("drained", state.drained);
  codec.later_field("drain_ends", state.drain_ends);
  codec.later_field("quarantined", state.quarantined);
  codec.later_text_field("conditions", state.conditions);
  codec.later_field("streaks", state.streaks);
  codec.field_if(!state.checks.empty(), "checks", state.checks);
  codec.field_if(!state.blame.empty(), "blame", state.blame);
  codec.field_if(!state.tenants.empty(), "tenants", state.tenants);
}

std::string state_text(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

class StateWriter {
 public:
  static constexpr bool kReads = false;
  explicit StateWriter(const std::vector<std::string>& nodes) : nodes_(nodes) {}

  template <class T>
  void field(const char* key, T& value) {
    out_[key] = put(value);
  }
  template <class T>
  void field(const char* key, std::optional<T>& value) {
    if (value) out_[key] = put(*value);
  }
  template <class T>
  void field_if(bool written, const char* key, T& value) {
    if (written) field(key, value);
  }
  template <class T>
  void later_field(const char* key, T& value) {
    field(key, value);
  }
  template <class T>
  void later_text_field(const char* key, T& value) {  // JSON within a text.
    out_[key] = state_text(put(value));
  }
  template <class T>
  void item(T& value) {
    out_.push_back(put(value));
  }
  template <class T>
  void later_item(T& value) {
    item(value);
  }

  template <class T>
  json put(T& value) const {
    if constexpr (IsTime<T>) {
      return value.us();
    } else if constexpr (std::same_as<T, NodeId>) {
      return nodes_[value.index()];
    } else if constexpr (std::same_as<T, JobRequest>) {
      return request_json(value);
    } else if constexpr (IsPlain<T>) {
      return value;
    } else {
      StateWriter inner(nodes_);
      list(inner, value);
      return std::move(inner.out_);
    }
  }
  template <class T>
  json put(std::vector<T>& values) const {
    json all = json::array();
    for (T& each : values) all.push_back(put(each));
    return all;
  }

 private:
  const std::vector<std::string>& nodes_;
  json out_;
};

// Exceptions of the JSON library propagate to read_roster(), which converts them to an error.
class StateReader {
 public:
  static constexpr bool kReads = true;
  struct Shared {  // By the readers of one text.
    std::map<std::string, NodeId> ids;
    std::vector<std::string> nodes;
    MaybeError refusal;  // The error of a request.
  };
  StateReader(const json& in, Shared& shared) : in_(in), shared_(shared) {}

  template <class T>
  void field(const char* key, T& value) {
    get(in_.at(key), value);
  }
  template <class T>
  void field(const char* key, std::optional<T>& value) {
    if (in_.contains(key)) get(in_.at(key), value.emplace());
  }
  template <class T>
  void field_if(bool /*written*/, const char* key, T& value) {
    later_field(key, value);
  }
  template <class T>
  void later_field(const char* key, T& value) {
    if (in_.contains(key)) get(in_.at(key), value);
  }
  template <class T>
  void later_text_field(const char* key, T& value) {
    if (in_.contains(key)) get(json::parse(in_.at(key).get_ref<const std::string&>()), value);
  }
  template <class T>
  void item(T& value) {
    get(in_.at(next_++), value);
  }
  template <class T>
  void later_item(T& value) {
    if (next_ < in_.size()) item(value);
  }

  template <class T>
  void get(const json& in, T& value) {
    if constexpr (IsTime<T>) {
      value = T::micros(in.get<std::int64_t>());
    } else if constexpr (std::same_as<T, NodeId>) {
      value = node(in.get<std::string>());
    } else if constexpr (std::same_as<T, JobRequest>) {
      Result<JobRequest> request = read_request(in.get_ref<const std::string&>());
      if (request.ok()) {
        value = std::move(request).value();
      } else if (!shared_.refusal) {
        shared_.refusal = request.error();
      }
    } else if constexpr (IsPlain<T>) {
      value = in.get<T>();
    } else {
      StateReader inner(in, shared_);
      list(inner, value);
    }
  }
  template <class T>
  void get(const json& in, std::vector<T>& values) {
    for (const json& each : in) get(each, values.emplace_back());
  }

 private:
  NodeId node(const std::string& name) {
    const auto [place, fresh] = shared_.ids.emplace(name, NodeId(shared_.nodes.size()));
    if (fresh) shared_.nodes.push_back(name);
    return place->second;
  }

  const json& in_;
  Shared& shared_;
  std::size_t next_ = 0;
};

}  // namespace

std::string roster_json(RosterState state) {
  return state_text(StateWriter(state.nodes).put(state));
}

Result<RosterState> read_roster(std::string_view text) {
  RosterState state;
  StateReader::Shared shared;
  try {
    const json whole = json::parse(text);
    StateReader(whole, shared).get(whole, state);
  } catch (const std::exception& error) {
    return Error{std::string("cannot read the snapshot: ") + error.what(), ErrorCode::kCorrupt};
  }
  if (shared.refusal) return *shared.refusal;
  state.nodes = std::move(shared.nodes);
  return state;
}

}  // namespace muster
