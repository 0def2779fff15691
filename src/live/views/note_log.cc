#include "live/views/note_log.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "live/codec/facts_codec.h"
#include "live/views/views.h"

namespace muster {

namespace {

using nlohmann::json;

}  // namespace

std::size_t NoteLog::take(const Roster& roster, const LiveClock& clock) {
  const std::size_t first = fresh_.size();
  for (const RosterNote& note : roster.notes()) {
    Note fresh;
    fresh.number = ++last_;
    fresh.job = note.id;
    json words = {{"number", fresh.number},
                  {"at", static_cast<double>(clock.unix_us(roster.now()) / 1000) / 1000},
                  {"kind", note.kind},
                  {"words", note.words}};
    if (!note.node.empty()) words["node"] = note.node;
    if (const LiveJob* job = roster.find(note.id)) {
      words["job"] = note.id;
      words["name"] = job->request.name;
      fresh.user = job->user;
      fresh.uid = job->uid;
      fresh.tenant = job->tenant;
      fresh.last = job->end && note.kind == state_name(*job->end);
      if (note.kind == "failed-attempt") put_proof(words, job->proof);
    }
    const auto written = [&] {
      std::string text = words.dump(-1, ' ', false, json::error_handler_t::replace);
      const std::string facts = facts_json(note.facts);
      if (facts.empty()) return text;
      text.back() = ',';
      return text + "\"facts\":" + facts + "}";
    };
    fresh.json = written();
    if (!note.full.empty()) {
      words["words"] = note.full;
      fresh.full = written();
    }
    fresh_.push_back(std::move(fresh));
  }
  return first;
}

MaybeError NoteLog::write(std::size_t first, Journal& journal) {
  MaybeError failure;
  for (std::size_t i = first; i < fresh_.size(); ++i) {
    const Note& note = fresh_[i];
    EventRow row{note.number, note.job, note.user, note.json, note.full};
    if (row.job == 0) remember(row);
    MaybeError refusal = journal.put(std::move(row));
    if (refusal && !failure) failure = std::move(refusal);
  }
  return failure;
}

void NoteLog::publish() {
  if (fresh_.empty()) return;
  auto fresh = std::make_shared<const std::vector<Note>>(std::exchange(fresh_, {}));
  std::function<void(Notes)> watcher;
  {
    const std::lock_guard lock(mutex_);
    watcher = watcher_;
  }
  if (watcher) watcher(std::move(fresh));
}

void NoteLog::remember(const EventRow& event) {
  const json told = json::parse(event.json, nullptr, false);
  if (!told.is_object()) return;
  const std::string node = told.value("node", "");
  if (node.empty()) return;
  std::deque<EventRow>& known = of_nodes_[node];
  known.push_back(event);
  if (known.size() > kMaxNodeEvents) known.pop_front();
}

const std::deque<EventRow>* NoteLog::of_node(const std::string& node) const {
  const auto found = of_nodes_.find(node);
  return found == of_nodes_.end() ? nullptr : &found->second;
}

void NoteLog::watch(std::function<void(Notes)> watcher) {
  const std::lock_guard lock(mutex_);
  watcher_ = std::move(watcher);
}

}  // namespace muster
