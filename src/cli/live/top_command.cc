// muster top: shows the cluster on one screen and updates it every second. One thread polls the
// manager and another draws, so keys work even if the manager is slow.

#include <fmt/format.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <ostream>
#include <thread>

#include "api/client/target.h"
#include "base/terminal/screen.h"
#include "cli/live/answer_text.h"
#include "cli/live/live_session.h"
#include "cli/live/live_verbs.h"
#include "cli/live/top_frame.h"

namespace muster {
namespace {

using Json = nlohmann::json;

constexpr std::uint64_t kMaxInTop = 1000;  // The manager's maximum per request.
constexpr std::chrono::seconds kPause(1);

Result<TopData> ask_manager(ApiClient& client) {
  TopData data;
  const Result<Json> nodes = object_of(client.get("/v1/nodes"));
  if (!nodes.ok()) return nodes.error();
  for (const Json& node : list_at(nodes.value(), "nodes")) data.nodes.push_back(node);
  // The manager lists running jobs first, then waiting jobs in queue order.
  const Result<Json> jobs = object_of(
      client.get(target("/v1/jobs", {{"state", "active"}, {"limit", std::to_string(kMaxInTop)}})));
  if (!jobs.ok()) return jobs.error();
  for (const Json& job : list_at(jobs.value(), "jobs")) {
    if (job.is_object()) data.jobs.push_back(job);
  }
  data.active = std::max<std::uint64_t>(count_at(jobs.value(), "total"), data.jobs.size());
  data.where = client.where().text();
  data.at = now_since_1970();
  return data;
}

// The last answer, which the polling thread passes to the drawing thread.
struct Latest {
  std::mutex mutex;
  std::condition_variable_any changed;
  TopData data;
};

void keep_asking(const std::stop_token& stop, ApiClient& client, Latest& latest, Screen& screen) {
  client.stop_when([stop] { return stop.stop_requested(); });
  while (!stop.stop_requested()) {
    {
      std::unique_lock lock(latest.mutex);
      latest.changed.wait_for(lock, stop, kPause, [] { return false; });
      if (stop.stop_requested()) return;
    }
    Result<TopData> data = ask_manager(client);
    {
      const std::lock_guard lock(latest.mutex);
      if (data.ok()) {
        latest.data = std::move(data).value();
      } else {
        latest.data.trouble = data.error().message;  // The old data stays on the screen.
      }
    }
    screen.wake();
  }
}

// Returns false if the program must end.
bool act_on(ScreenEvent event, TopView& view) {
  const std::size_t page = view.height / 2;
  switch (event) {
    case ScreenEvent::kQuit:
    case ScreenEvent::kInterrupted:
    case ScreenEvent::kTerminated:
      return false;
    case ScreenEvent::kUp:
      view.scroll -= std::min<std::size_t>(view.scroll, 1);
      return true;
    case ScreenEvent::kDown:
      view.scroll += 1;
      return true;
    case ScreenEvent::kPageUp:
      view.scroll -= std::min(view.scroll, page);
      return true;
    case ScreenEvent::kPageDown:
      view.scroll += page;
      return true;
    case ScreenEvent::kHome:
      view.scroll = 0;
      return true;
    case ScreenEvent::kEnd:
      view.scroll = SIZE_MAX / 2;
      return true;
    case ScreenEvent::kNothing:
    case ScreenEvent::kWoken:
    case ScreenEvent::kResized:
      return true;
  }
  return true;
}

int watch(ApiClient& client, TopData first) {
  ScreenEvent event = ScreenEvent::kNothing;
  int signal = 0;
  {
    Screen screen;
    Latest latest;
    latest.data = std::move(first);
    const std::jthread asking(
        [&](const std::stop_token& stop) { keep_asking(stop, client, latest, screen); });
    TopView view;
    view.colors = color_mode_for(1);
    do {
      view.width = static_cast<std::size_t>(screen.columns());
      view.height = static_cast<std::size_t>(screen.rows());
      {
        const std::lock_guard lock(latest.mutex);
        screen.draw(top_lines(latest.data, view));
      }
      event = screen.wait(-1);
    } while (act_on(event, view));
    signal = screen.signal();
  }
  if (event == ScreenEvent::kTerminated) Screen::die_of(signal);
  return event == ScreenEvent::kInterrupted ? kExitInterrupted : kExitDone;
}

}  // namespace

int run_top(const LiveOptions& options, Streams streams) {
  return with_manager(options, streams, [&](ApiClient& client) {
    Result<TopData> data = ask_manager(client);
    if (!data.ok()) return complain(streams, data.error());
    if (options.json) {
      const TopData& now = data.value();
      streams.out << json_line({{"nodes", now.nodes}, {"jobs", now.jobs}, {"total", now.active}})
                  << '\n';
      return kExitDone;
    }
    if (is_terminal(1)) return watch(client, std::move(data).value());
    TopView view;
    view.width = 0;
    view.height = SIZE_MAX / 2;
    for (const std::string& line : top_lines(data.value(), view)) streams.out << line << '\n';
    return kExitDone;
  });
}

}  // namespace muster
