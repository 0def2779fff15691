#include "live/query/past_queries.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "live/views/answers.h"

namespace muster {

namespace {

constexpr Duration kUsualWindow = Duration::seconds(86'400);
constexpr int kNicer = 10;  // Simulations use only idle CPU time.

Instant instant_of(double unix_s, std::int64_t born_unix_us) {
  return std::max(Instant(), Instant::micros(std::llround(unix_s * 1e6) - born_unix_us));
}

}  // namespace

template <class Show>
Result<PastWindow> PastQueries::window_of(const Caller& caller, const Show& call) {
  if (call.run) {
    return Error{"run: not available on a live manager, which has only its own past",
                 ErrorCode::kNotFound};
  }
  if (!past_worker_.has_room(caller.user)) {
    return too_many_questions();
  }
  PastWindow look = muster::look_back(*context_.roster, caller);
  look.database = settings_.home + "/journal.db";
  look.born_unix_us = context_.clock.unix_us(Instant());
  const Instant now = context_.clock.now();
  look.whole = {std::max(Instant(), now - settings_.retention), now};
  look.window.end = call.to ? instant_of(*call.to, look.born_unix_us) : now;
  look.window.begin = call.from ? instant_of(*call.from, look.born_unix_us)
                                : std::max(Instant(), look.window.end - kUsualWindow);
  if (look.window.begin > look.window.end) {
    return Error{"from: must not be later than 'to' (default: now)", ErrorCode::kInvalid};
  }
  return look;
}

void PastQueries::look_back(const Caller& caller, Result<PastWindow> window,
                            std::function<Result<Answer>(const PastWindow&)> look,
                            const Done& done) {
  if (!window.ok()) return done(error_answer(window.error()));
  const Instant until = context_.clock.now() + kAnswerTime;
  past_worker_.ask(
      [clock = context_.clock, until, window = std::move(window).value(), look = std::move(look),
       done] {
        if (clock.now() >= until) {  // The API server no longer waits for the answer.
          return done(
              error_answer({"timed out in the queue; retry later", ErrorCode::kUnavailable}));
        }
        done(answer_of(look(window)));
      },
      caller.user);
}

void PastQueries::timeline(const Caller& caller, const ShowTimeline& call, Done done) {
  look_back(caller, window_of(caller, call), timeline_answer, done);
}

void PastQueries::usage(const Caller& caller, const ShowUsage& call, Done done) {
  const auto look = [points = call.points](const PastWindow& window) {
    return usage_answer(window, points);
  };
  look_back(caller, window_of(caller, call), look, done);
}

void PastQueries::what_if(const Caller& caller, const ShowWhatIf& call, Done done) {
  if (!caller.is_operator) {
    return done(error_answer(
        {"only operators can run what-if simulations, which use all jobs", ErrorCode::kForbidden}));
  }
  if (!settings_.what_if) {
    return done(
        error_answer({"this manager does not support what-if simulations", ErrorCode::kNotFound}));
  }
  if (simulates_.exchange(true)) {
    return done(error_answer(
        {"a what-if simulation is already running; retry when it finishes", ErrorCode::kBusy}));
  }
  const Instant until = context_.clock.now() + settings_.what_if_time;
  simulator_.ask([this, until, clock = context_.clock, call, done = std::move(done)] {
    ::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), kNicer);
    bool late = false;
    const auto go_on = [&] {
      late = late || clock.now() >= until;
      return !late && !stopped_;
    };
    Result<std::string> page = settings_.what_if(call, go_on);
    simulates_ = false;  // Before the answer, because its caller may send the next call then.
    if (!page.ok() && late) {
      return done(
          error_answer({"the simulation timed out; set a later `since`", ErrorCode::kUnavailable}));
    }
    if (!page.ok()) return done(error_answer({page.error().message, ErrorCode::kInvalid}));
    Answer answer;
    answer.body = std::move(page).value();
    done(std::move(answer));
  });
}

}  // namespace muster
