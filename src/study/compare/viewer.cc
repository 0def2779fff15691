#include "study/compare/viewer.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>

#include "api/port/error_answer.h"
#include "base/text/wording.h"
#include "study/compare/run_page.h"
#include "study/compare/run_views.h"
#include "study/page/dashboard_page.h"

namespace muster {

namespace {

using nlohmann::json;

Answer shown(const json& body) {
  Answer answer;
  answer.body = body.dump(-1, ' ', false, json::error_handler_t::replace);
  return answer;
}

Answer shown(std::string body) {
  Answer answer;
  answer.body = std::move(body);
  return answer;
}

Answer no(ErrorCode code, std::string why) { return error_answer({std::move(why), code}); }

// "1,000 jobs of philly.csv on 16x8: fifo, proportional, consolidated".
std::string about_run(const RunFiles& run) {
  std::string scheduler = run.text("scheduler");
  if (scheduler.empty()) {
    scheduler =
        fmt::format("{}, {}, {}", run.text("policy"), run.text("mechanism"), run.text("placement"));
  }
  const std::size_t jobs = run.history.jobs.size();
  return fmt::format("{} job{} of {} on {}: {}", grouped(jobs), jobs == 1 ? "" : "s",
                     run.text("trace"), run.text("cluster"), scheduler);
}

Instant instant_of(double seconds) { return Instant::micros(std::llround(seconds * 1e6)); }

// The requested window within the whole; nullopt if it ends before it begins.
std::optional<TimeWindow> window_of(const TimeWindow& whole, std::optional<double> from,
                                    std::optional<double> to) {
  const TimeWindow window{from ? instant_of(*from) : whole.begin, to ? instant_of(*to) : whole.end};
  if (window.begin > window.end) return std::nullopt;
  return window;
}

constexpr const char* kOutside = "from: must not be later than 'to'";
constexpr std::size_t kMaxQuestions = 32;  // Maximum number of queued calls.

}  // namespace

Viewer::~Viewer() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  woken_.notify_all();
  if (thread_.joinable()) thread_.join();
}

bool Viewer::has_name(const std::string& name) const {
  return std::any_of(opened_.begin(), opened_.end(),
                     [&](const Opened& opened) { return opened.name == name; });
}

void Viewer::add_run(RunFiles run, std::optional<TenantTree> tenants) {
  Opened opened;
  opened.kind = "run";
  opened.name = run.name;
  opened.about = about_run(run);
  opened.run = std::move(run);
  opened.tenants = std::move(tenants);
  opened_.push_back(std::move(opened));
}

void Viewer::add_page(std::string kind, std::string name, std::string about, std::string page) {
  Opened opened;
  opened.kind = std::move(kind);
  opened.name = std::move(name);
  opened.about = std::move(about);
  opened.page = std::move(page);
  opened_.push_back(std::move(opened));
}

void Viewer::call(Caller caller, Call call, std::function<void(Answer)> done) {
  {
    const std::lock_guard lock(mutex_);
    if (questions_.size() < kMaxQuestions) {
      questions_.push_back({std::move(caller), std::move(call), std::move(done)});
      if (!thread_.joinable()) thread_ = std::thread([this] { work(); });
      return woken_.notify_one();
    }
  }
  done(error_answer(too_many_questions()));
}

void Viewer::work() {
  for (;;) {
    std::unique_lock lock(mutex_);
    woken_.wait(lock, [this] { return ending_ || !questions_.empty(); });
    if (ending_) return;
    const Question question = std::move(questions_.front());
    questions_.pop_front();
    lock.unlock();
    question.done(std::visit(
        [&]<class C>(const C& call) {
          if constexpr (C::kInfo.from_files) {
            return on(question.caller, call);
          } else {
            return no(ErrorCode::kNotFound,
                      "muster view shows files; this call needs a live manager");
          }
        },
        question.call));
  }
}

Answer Viewer::on(const Caller&, const ShowHealth&) const { return shown(json{{"ok", true}}); }

Answer Viewer::on(const Caller&, const ShowMetrics&) const { return shown(std::string()); }

Answer Viewer::on(const Caller& caller, const ShowMe&) const {
  const auto runs = std::count_if(opened_.begin(), opened_.end(),
                                  [](const Opened& opened) { return opened.run.has_value(); });
  json screens = json::array();
  // The dashboard opens the first screen. With several runs, that is the comparison.
  if (runs == 1) screens = {"timeline", "compare", "tenants"};
  if (runs > 1) screens = {"compare", "timeline", "tenants"};
  if (static_cast<std::size_t>(runs) < opened_.size()) screens.push_back("pages");
  using std::chrono::system_clock;
  const auto now =
      std::chrono::duration_cast<std::chrono::milliseconds>(system_clock::now().time_since_epoch());
  return shown(json{{"mode", "view"},
                    {"user", caller.user},
                    {"operator", false},
                    {"version", version_},
                    {"now", static_cast<double>(now.count()) / 1000},
                    {"last_event", 0},
                    {"screens", std::move(screens)}});
}

Answer Viewer::on(const Caller&, const ListRuns&) const {
  json items = json::array();
  for (std::size_t i = 0; i < opened_.size(); ++i) {
    const Opened& opened = opened_[i];
    items.push_back(
        {{"key", i}, {"kind", opened.kind}, {"name", opened.name}, {"about", opened.about}});
  }
  return shown(json{{"items", std::move(items)}});
}

Viewer::Opened* Viewer::find_run(std::optional<std::size_t> key) {
  if (key) return *key < opened_.size() && opened_[*key].run ? &opened_[*key] : nullptr;
  const auto first = std::find_if(opened_.begin(), opened_.end(),
                                  [](const Opened& opened) { return opened.run.has_value(); });
  return first == opened_.end() ? nullptr : &*first;
}

const LeaseTimeline& Viewer::timeline_of_opened(Opened& opened) {
  if (!opened.timeline) opened.timeline = timeline_of(*opened.run);
  return *opened.timeline;
}

Answer Viewer::on(const Caller&, const ShowTimeline& call) {
  Opened* const opened = find_run(call.run);
  if (opened == nullptr) return no(ErrorCode::kNotFound, "run: no such run is open");
  const LeaseTimeline& timeline = timeline_of_opened(*opened);
  const std::optional<TimeWindow> window = window_of(timeline.whole, call.from, call.to);
  if (!window) return no(ErrorCode::kInvalid, kOutside);
  return shown(timeline_json(timeline, *window));
}

Answer Viewer::on(const Caller&, const ShowUsage& call) {
  Opened* const opened = find_run(call.run);
  if (opened == nullptr) return no(ErrorCode::kNotFound, "run: no such run is open");
  const LeaseTimeline& timeline = timeline_of_opened(*opened);
  std::optional<TimeWindow> window = window_of(timeline.whole, call.from, call.to);
  if (!window) return no(ErrorCode::kInvalid, kOutside);
  // Steps must have a length, even if no job ever ran.
  const auto points = Duration::micros(static_cast<std::int64_t>(call.points));
  window->end = std::max(window->end, window->begin + points);
  UsageFacts facts =
      usage_of(*opened->run, opened->tenants ? &*opened->tenants : nullptr, *window, call.points);
  facts.gpus = timeline.gpus;
  return shown(usage_json(facts));
}

Answer Viewer::on(const Caller&, const CompareRuns& call) const {
  std::vector<std::reference_wrapper<const RunFiles>> runs;
  RunPageOptions options;
  options.gpus = false;
  for (const std::size_t key : call.runs) {
    if (key >= opened_.size() || !opened_[key].run) {
      return no(ErrorCode::kNotFound, fmt::format("runs: no such run is open: {}", key));
    }
    if (key == call.baseline) options.baseline = runs.size();
    runs.emplace_back(*opened_[key].run);
  }
  return shown(browser_page(run_page(RunRefs(runs), options)));
}

Answer Viewer::on(const Caller&, const ShowPage& call) const {
  if (call.key >= opened_.size() || opened_[call.key].run) {
    return no(ErrorCode::kNotFound, fmt::format("no such page is open: {}", call.key));
  }
  return shown(opened_[call.key].page);
}

}  // namespace muster
