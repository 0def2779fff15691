#include "study/compare/gantt.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>
#include <numeric>
#include <vector>

#include "base/text/wording.h"
#include "study/analyze/figures.h"

namespace muster {

namespace {

constexpr std::int64_t kShortestReach = 1'000'000;  // One second.

struct Held {
  const PastJob* job = nullptr;
  const Attempt* attempt = nullptr;
  std::size_t bars = 0;
};

// Attempts in order of their start.
std::vector<Held> all_held(const History& history) {
  std::vector<Held> held;
  for (const PastJob& job : history.jobs) {
    for (const Attempt& attempt : history.attempts_of(job)) {
      if (attempt.host_count == 0) continue;  // Pre-runs use no GPU of the cluster.
      std::size_t bars = 0;
      for (const HostShare& share : history.hosts_of(attempt)) {
        bars += static_cast<std::size_t>(std::popcount(share.gpus));
      }
      held.push_back({&job, &attempt, bars});
    }
  }
  std::stable_sort(held.begin(), held.end(), [](const Held& a, const Held& b) {
    return a.attempt->start < b.attempt->start;
  });
  return held;
}

bool touches(const Held& held, const Stretch& window) {
  return held.attempt->start < window.end && held.attempt->end > window.begin;
}

std::size_t bars_in(const std::vector<Held>& held, const Stretch& window) {
  std::size_t bars = 0;
  for (const Held& one : held) bars += touches(one, window) ? one.bars : 0;
  return bars;
}

std::string tip_of(const Held& held) {
  std::string tip = fmt::format("{} for {}", many(static_cast<std::size_t>(held.job->gpus), "GPU"),
                                lasting(static_cast<double>(held.attempt->run.us())));
  if (held.attempt->reason) {
    tip += fmt::format("; failed: {}", info_of(*held.attempt->reason).name);
  } else if (held.attempt->failed) {
    tip += "; failed";
  }
  return tip;
}

// Rows of each node's GPUs. Nodes are in natural order (s2 before s10).
std::vector<std::uint32_t> first_rows(const History& history, Gantt& gantt) {
  std::vector<std::uint32_t> order(history.nodes.size());
  std::iota(order.begin(), order.end(), 0U);
  const auto key = [&](std::uint32_t i) {
    const std::string& name = history.nodes[i].name;
    return std::pair(name.size(), &name);
  };
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    const auto [a_size, a_name] = key(a);
    const auto [b_size, b_name] = key(b);
    return a_size != b_size ? a_size < b_size : *a_name < *b_name;
  });
  std::vector<std::uint32_t> first(history.nodes.size());
  for (const std::uint32_t node : order) {
    first[node] = static_cast<std::uint32_t>(gantt.group_of_row.size());
    const auto group = static_cast<std::uint32_t>(gantt.groups.size());
    gantt.groups.push_back(history.nodes[node].name);
    gantt.group_of_row.insert(gantt.group_of_row.end(),
                              static_cast<std::size_t>(history.nodes[node].gpus), group);
  }
  return first;
}

void add_bars(const History& history, const Held& held, const std::vector<std::uint32_t>& first,
              std::uint32_t label, Gantt& gantt) {
  Gantt::Bar bar;
  bar.label = label;
  bar.begin = held.attempt->start.in_seconds();
  bar.end = held.attempt->end.in_seconds();
  bar.tip = tip_of(held);
  for (const HostShare& share : history.hosts_of(*held.attempt)) {
    for (std::uint64_t left = share.gpus; left != 0; left &= left - 1) {
      bar.row = first[share.node] + static_cast<std::uint32_t>(std::countr_zero(left));
      gantt.bars.push_back(bar);
    }
  }
}

}  // namespace

Stretch stretch_for(RunRefs runs) {
  std::vector<std::vector<Held>> held;
  Stretch whole;
  Instant shortest = Instant::never();
  for (const RunFiles& run : runs) {
    held.push_back(all_held(run.history));
    Instant end;
    for (const Held& one : held.back()) end = std::max(end, one.attempt->end);
    whole.end = std::max(whole.end, end);
    if (!held.back().empty()) shortest = std::min(shortest, end);
  }
  const auto too_many = [&](const Stretch& window) {
    return std::any_of(held.begin(), held.end(), [&](const std::vector<Held>& of_run) {
      return bars_in(of_run, window) > kMaxGanttBars;
    });
  };
  // The window is around the middle of the shortest run, so that it contains jobs of each run.
  const Instant middle = Instant::micros(shortest.us() / 2);
  std::int64_t reach = whole.end.us() - middle.us();
  Stretch window = whole;
  while (reach > kShortestReach && too_many(window)) {
    reach -= reach / 4;
    window = {Instant::micros(std::max<std::int64_t>(0, middle.us() - reach)),
              std::min(whole.end, middle + Duration::micros(reach))};
  }
  return window;
}

Gantt gantt_of(const RunFiles& run, const std::string& key, const Stretch& window) {
  const History& history = run.history;
  const std::vector<Held> held = all_held(history);
  Gantt gantt;
  gantt.key = key;
  gantt.title = run.name;
  gantt.begin = window.begin.in_seconds();
  gantt.end = window.end.in_seconds();
  const std::vector<std::uint32_t> first = first_rows(history, gantt);
  std::map<std::uint32_t, std::uint32_t> labels;
  std::size_t outside = 0;
  std::size_t too_many = 0;
  bool full = false;
  for (const Held& one : held) {
    const bool inside = touches(one, window);
    full = full || (inside && gantt.bars.size() + one.bars > kMaxGanttBars);
    if (!inside || full) {
      ++(inside ? too_many : outside);
      continue;
    }
    const auto [label, fresh] =
        labels.emplace(one.job->id, static_cast<std::uint32_t>(gantt.labels.size()));
    if (fresh) gantt.labels.push_back(history.ids[one.job->id]);
    add_bars(history, one, first, label->second, gantt);
  }
  if (outside > 0) {
    gantt.thinned =
        fmt::format("{} of the {} are outside of the window; use muster report --window",
                    grouped(outside), many(held.size(), "lease"));
  }
  if (too_many > 0) {
    gantt.thinned += fmt::format("{}the last {} in the window are not drawn, to keep the page fast",
                                 gantt.thinned.empty() ? "" : "; ", many(too_many, "lease"));
  }
  return gantt;
}

}  // namespace muster
