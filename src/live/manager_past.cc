// What people want to know of the past.

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "live/answers.h"
#include "live/look_back.h"
#include "live/manager.h"

namespace muster {

namespace {

constexpr Duration kUsualWindow = Duration::seconds(86'400);
constexpr const char* kBusy = "too many questions at once; ask again in a moment";
constexpr int kNicer = 10;  // What-ifs take the CPU that nobody else wants.

Instant instant_of(double unix_s, std::int64_t born_unix_us) {
  return std::max(Instant(), Instant::micros(std::llround(unix_s * 1e6) - born_unix_us));
}

}  // namespace

bool Manager::is_look_back(const Call& call) {
  return std::holds_alternative<ShowTimeline>(call) || std::holds_alternative<ShowUsage>(call) ||
         std::holds_alternative<ShowWhatIf>(call);
}

void Manager::look_back(Pending pending) {
  if (std::holds_alternative<ShowWhatIf>(pending.call)) return what_if(std::move(pending));
  const auto* const timeline = std::get_if<ShowTimeline>(&pending.call);
  const auto* const usage = std::get_if<ShowUsage>(&pending.call);
  if (timeline != nullptr ? timeline->run.has_value() : usage->run.has_value()) {
    return pending.done(refused(404, "run: a live manager has only its own past"));
  }
  if (!historian_.has_room(pending.caller.user)) return pending.done(refused(429, kBusy));
  LookBack look = muster::look_back(*roster_, pending.caller);
  look.database = settings_.home + "/journal.db";
  look.born_unix_us = clock_->unix_us(Instant());
  const Instant now = clock_->now();
  look.whole = {std::max(Instant(), now - settings_.retention), now};
  const std::optional<double> from = timeline != nullptr ? timeline->from : usage->from;
  const std::optional<double> to = timeline != nullptr ? timeline->to : usage->to;
  look.window.end = to ? instant_of(*to, look.born_unix_us) : now;
  look.window.begin = from ? instant_of(*from, look.born_unix_us)
                           : std::max(Instant(), look.window.end - kUsualWindow);
  if (look.window.begin > look.window.end) {
    return pending.done(refused(400, "from: not before to, or before now"));
  }
  const std::size_t points = usage != nullptr ? usage->points : 0;
  const std::string user = pending.caller.user;
  historian_.ask(
      [this, until = now + kAnswerTime, look = std::move(look), points,
       done = std::move(pending.done)] {
        const bool late = clock_->now() >= until;  // Nobody waits for it any more.
        done(late         ? refused(503, "it took too long to come to it; ask again")
             : points > 0 ? usage_answer(look, points)
                          : timeline_answer(look));
      },
      user);
}

void Manager::what_if(Pending pending) {
  if (!pending.caller.is_operator) {
    return pending.done(refused(403, "only operators may ask what if: it looks at all jobs"));
  }
  if (!settings_.what_if) return pending.done(refused(404, "this manager cannot tell"));
  if (what_if_runs_.exchange(true)) {
    return pending.done(refused(429, "another such question is being answered; ask again later"));
  }
  const Instant until = clock_->now() + settings_.what_if_time;
  what_ifs_.ask(
      [this, until, ask = std::get<ShowWhatIf>(pending.call), done = std::move(pending.done)] {
        ::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), kNicer);
        bool late = false;
        const auto go_on = [&] {
          late = late || clock_->now() >= until;
          const std::lock_guard lock(mutex_);
          return !late && !ending_;
        };
        Result<std::string> page = settings_.what_if(ask, go_on);
        what_if_runs_ = false;  // Before the answer: whoever has it may ask the next.
        if (!page.ok() && late) return done(refused(503, "took too long; give a later `since`"));
        if (!page.ok()) return done(refused(400, page.error().message));
        Answer answer;
        answer.body = std::move(page).value();
        done(std::move(answer));
      });
}

}  // namespace muster
