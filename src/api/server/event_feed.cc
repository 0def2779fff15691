#include "api/server/event_feed.h"

#include <fmt/format.h>

#include <array>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "api/port/permissions.h"
#include "api/server/http_text.h"

namespace muster {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kPageEvents = 250;
constexpr std::size_t kMaxHeldBytes = 1U << 20U;

void add_event(std::string& out, std::uint64_t number, std::string_view json) {
  fmt::format_to(std::back_inserter(out), "id: {}\ndata: {}\n\n", number, json);
}

bool is_over(const Json& job) {
  constexpr std::array<std::string_view, 4> kOver = {"done", "failed", "cancelled", "rejected"};
  const std::string state = job.value("state", "");
  return std::find(kOver.begin(), kOver.end(), state) != kOver.end();
}

// Buffers new events from the start and sends them after the last page of past events. The event
// number removes duplicates. So the order in which answers and new events arrive does not matter.
class EventFeed final : public Feed {
 public:
  EventFeed(ResponseWriter& outlet, ListEvents first)
      : outlet_(outlet), word_(std::move(first.job)), after_(first.after) {}

  void start() override { word_.empty() ? ask_page() : ask_job(); }

  void drained() override {
    if (live_ || asking_ || !begun_) return;
    more_ ? ask_page() : settle();
  }

  void on_events(const Notes& news) override {
    if (live_) return tell({news});
    held_.push_back(news);
    for (const Note& note : *news) held_bytes_ += note.json.size() + sizeof note;
    if (held_bytes_ <= kMaxHeldBytes) return;
    held_.clear();
    held_bytes_ = 0;
    missed_ = true;
  }

 private:
  void ask(Call call, void (EventFeed::*then)(const Json&)) {
    asking_ = true;
    outlet_.ask(std::move(call), [this, then](Answer answer) {
      asking_ = false;
      const Json body = Json::parse(answer.body, nullptr, false);
      if (answer.status == 200 && body.is_object()) return (this->*then)(body);
      begun_ ? outlet_.end() : outlet_.refuse(std::move(answer));
    });
  }

  void ask_job() { ask(ShowJob{word_}, &EventFeed::take_job); }

  void take_job(const Json& body) {
    job_ = body.value("id", std::uint64_t{0});
    word_ = std::to_string(*job_);
    over_ = is_over(body);
    ask_page();
  }

  void ask_page() { ask(ListEvents{after_, word_, kPageEvents}, &EventFeed::take_page); }

  void take_page(const Json& body) {
    std::string text;
    const Json events = body.value("events", Json::array());
    for (const Json& event : events) {
      const auto number = event.value("number", std::uint64_t{0});
      if (number <= after_) continue;
      after_ = number;
      add_event(text, number, event.dump(-1, ' ', false, Json::error_handler_t::replace));
    }
    more_ = events.size() >= kPageEvents && !text.empty();
    if (!std::exchange(begun_, true)) outlet_.begin({}, std::nullopt);
    if (!text.empty()) outlet_.put(text);
    if (outlet_.pending() == 0) drained();
  }

  // All past events are sent. If the buffer of new events overflowed, reads the missed ones first.
  void settle() {
    if (std::exchange(missed_, false)) return word_.empty() ? ask_page() : ask_job();
    live_ = true;
    tell(std::exchange(held_, {}));
  }

  bool concerns(const Note& note) const {
    if (job_ && note.job != *job_) return false;
    // All users may see events of nodes.
    return note.job == 0 || may_see(outlet_.caller(), note.owner());
  }

  void tell(const std::vector<Notes>& all) {
    std::string text;
    for (const Notes& news : all) {
      for (const Note& note : *news) {
        if (over_ || !concerns(note)) continue;  // Nothing follows the end of the job.
        over_ = job_ && note.last;
        if (note.number <= after_) continue;
        after_ = note.number;
        const bool full = may_name_all(outlet_.caller()) && !note.full.empty();
        add_event(text, note.number, full ? note.full : note.json);
      }
    }
    if (over_) text += "event: end\ndata: {}\n\n";
    if (!text.empty()) outlet_.put(text);
    if (over_) outlet_.end();
  }

  ResponseWriter& outlet_;
  std::string word_;                  // The job as given by the caller; empty: all jobs.
  std::optional<std::uint64_t> job_;  // Its id.
  std::uint64_t after_;
  bool asking_ = false;
  bool begun_ = false;
  bool more_ = false;
  bool live_ = false;
  bool over_ = false;
  bool missed_ = false;
  std::vector<Notes> held_;
  std::size_t held_bytes_ = 0;
};

}  // namespace

std::unique_ptr<Feed> follow_events(ResponseWriter& outlet, ListEvents first) {
  return std::make_unique<EventFeed>(outlet, std::move(first));
}

}  // namespace muster
