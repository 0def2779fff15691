#include "api/port/timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <span>
#include <tuple>

#include "base/text/columns.h"
#include "base/text/text.h"
#include "base/text/wording.h"
#include "base/types/check.h"

namespace muster {

namespace {

// A bar shorter than this fraction of the window is less than a pixel wide.
constexpr std::int64_t kPixels = 4'000;
constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

using Bars = std::vector<TimelineBar>;

Bars bars_in(const LeaseTimeline& timeline, const TimeWindow& window) {
  Bars bars;
  std::copy_if(
      timeline.bars.begin(), timeline.bars.end(), std::back_inserter(bars),
      [&](const TimelineBar& bar) { return bar.begin < window.end && bar.end >= window.begin; });
  return bars;
}

// Merges consecutive bars of a row that are shorter than `shortest`. All bars in a merged bar begin
// within `shortest` of its begin.
Bars merged(const Bars& bars, Duration shortest) {
  Bars out;
  Duration longest;  // Longest bar in the last merged bar.
  bool open = false;
  for (const TimelineBar& bar : bars) {
    const Duration length = bar.end - bar.begin;
    const bool brief = length < shortest;
    if (open && brief && bar.row == out.back().row && bar.begin - out.back().begin < shortest) {
      TimelineBar& last = out.back();
      last.end = std::max(last.end, bar.end);
      if (length > longest) {
        longest = length;
        last.job = bar.job;
        last.how = bar.how;
      }
      continue;
    }
    out.push_back(bar);
    open = brief;
    longest = length;
  }
  return out;
}

// Reduces the number of bars to `most`: doubles the merge length until they fit.
Bars thin(Bars bars, const TimeWindow& window, std::size_t most, std::string& thinned) {
  if (bars.size() <= most) return bars;
  Duration shortest =
      Duration::micros(std::max<std::int64_t>(1, (window.end - window.begin).us() / kPixels));
  Bars fewer = merged(bars, shortest);
  while (fewer.size() > most && shortest < window.end - window.begin) {
    shortest = Duration::micros(2 * shortest.us());
    fewer = merged(bars, shortest);
  }
  std::string left_out;
  if (fewer.size() > most) {  // There are more GPUs than bars allowed.
    left_out = fmt::format("; {} more are omitted", grouped(fewer.size() - most));
    fewer.resize(most);
  }
  thinned = fmt::format(
      "{} bars: bars shorter than {} s are merged, {} bars in total{}; zoom in for details",
      grouped(bars.size()), seconds_text(shortest.us() / 1000 * 1000), grouped(fewer.size()),
      left_out);
  return fewer;
}

// Decimals of a second, so that times are exact to a hundredth of a pixel.
int decimals_for(const TimeWindow& window) {
  const std::int64_t fine = (window.end - window.begin).us() / (kPixels * 100);
  return fine >= 1'000'000 ? 0 : fine >= 100'000 ? 1 : fine >= 10'000 ? 2 : 3;
}

// Returns only the jobs that have a bar, and renumbers the jobs in `bars`.
std::vector<const TimelineJob*> jobs_of(const LeaseTimeline& timeline, Bars& bars) {
  std::vector<std::uint32_t> places(timeline.jobs.size(), kNone);
  std::vector<const TimelineJob*> jobs;
  for (TimelineBar& bar : bars) {
    std::uint32_t& place = places[bar.job];
    if (place == kNone) {
      place = static_cast<std::uint32_t>(jobs.size());
      jobs.push_back(&timeline.jobs[bar.job]);
    }
    bar.job = place;
  }
  return jobs;
}

// Returns the mean load in each of kMaxLoadPoints equal parts of the window.
std::vector<TimelineLoad> means_of(std::span<const TimelineLoad> steps, const TimeWindow& window) {
  const auto parts = static_cast<std::int64_t>(kMaxLoadPoints);
  const std::int64_t length = (window.end - window.begin).us();
  std::vector<TimelineLoad> means;
  std::size_t next = 0;  // First step that is not yet summed up.
  for (std::int64_t i = 0; i < parts; ++i) {
    const Instant begin = window.begin + Duration::micros(length / parts * i);
    const Instant end = i + 1 == parts ? window.end : begin + Duration::micros(length / parts);
    if (begin >= end) continue;
    TimelineLoad mean{begin, 0, 0};
    Instant at = begin;
    while (at < end) {
      while (next < steps.size() && steps[next].at <= at) ++next;
      const Instant until = next < steps.size() ? std::min(end, steps[next].at) : end;
      const double part =
          static_cast<double>((until - at).us()) / static_cast<double>((end - begin).us());
      if (next > 0) {
        mean.busy += steps[next - 1].busy * part;
        mean.waiting += steps[next - 1].waiting * part;
      }
      at = until;
    }
    means.push_back(mean);
  }
  return means;
}

std::vector<TimelineLoad> load_in(const LeaseTimeline& timeline, const TimeWindow& window) {
  const auto before = [](Instant at, const TimelineLoad& step) { return at < step.at; };
  auto first = std::upper_bound(timeline.load.begin(), timeline.load.end(), window.begin, before);
  if (first != timeline.load.begin()) --first;  // The load at the begin of the window.
  const auto last = std::upper_bound(first, timeline.load.end(), window.end, before);
  const std::span<const TimelineLoad> steps(first, last);
  if (steps.size() > kMaxLoadPoints) return means_of(steps, window);
  return {steps.begin(), steps.end()};
}

void append_jobs(std::string& out, const std::vector<const TimelineJob*>& jobs) {
  const auto texts = [&](const char* key, std::string TimelineJob::*field) {
    out += fmt::format("\"{}\":", key);
    append_column(out, jobs,
                  [&](std::string& to, const auto* job) { to += json_text(job->*field); });
    out += ',';
  };
  const auto numbers = [&](const char* key, auto field) {
    out += fmt::format("\"{}\":", key);
    append_column(out, jobs,
                  [&](std::string& to, const auto* job) { append_int(to, job->*field); });
  };
  out += "\"jobs\":{";
  texts("id", &TimelineJob::id);
  texts("name", &TimelineJob::name);
  texts("user", &TimelineJob::user);
  numbers("tenant", &TimelineJob::tenant);
  out += ',';
  numbers("cause", &TimelineJob::cause);
  out += ',';
  numbers("gpus", &TimelineJob::gpus);
  out += '}';
}

void append_bars(std::string& out, const Bars& bars, int decimals) {
  const auto numbers = [&](const char* key, std::uint32_t TimelineBar::*field) {
    out += fmt::format("\"{}\":", key);
    append_column(out, bars,
                  [&](std::string& to, const TimelineBar& bar) { append_int(to, bar.*field); });
    out += ',';
  };
  const std::int64_t unit = unit_of(decimals);
  // Both ends are rounded in the same way, so that adjacent bars stay adjacent.
  const auto rounded = [&](Instant at) { return (at.us() + unit / 2) / unit * unit; };
  out += "\"bars\":{";
  numbers("row", &TimelineBar::row);
  numbers("job", &TimelineBar::job);
  out += "\"begin\":";
  append_column(out, bars, [&](std::string& to, const TimelineBar& bar) {
    append_seconds(to, rounded(bar.begin), decimals);
  });
  out += ",\"length\":";
  append_column(out, bars, [&](std::string& to, const TimelineBar& bar) {
    append_seconds(to, rounded(bar.end) - rounded(bar.begin), decimals);
  });
  out += ',';
  numbers("end", &TimelineBar::how);
  out.back() = '}';
}

void append_load(std::string& out, const std::vector<TimelineLoad>& load, int decimals) {
  out += "\"load\":{\"t\":";
  append_column(out, load, [&](std::string& to, const TimelineLoad& step) {
    append_seconds(to, step.at.us(), decimals);
  });
  out += ",\"busy\":";
  append_column(out, load,
                [](std::string& to, const TimelineLoad& step) { append_level(to, step.busy); });
  out += ",\"waiting\":";
  append_column(out, load,
                [](std::string& to, const TimelineLoad& step) { append_level(to, step.waiting); });
  out += '}';
}

}  // namespace

std::vector<TimelineLoad> load_of(std::vector<TimelineLoad> changes) {
  std::sort(changes.begin(), changes.end(),
            [](const TimelineLoad& a, const TimelineLoad& b) { return a.at < b.at; });
  std::vector<TimelineLoad> load;
  TimelineLoad level;
  for (const TimelineLoad& change : changes) {
    if (!load.empty() && load.back().at == change.at) load.pop_back();
    level = {change.at, level.busy + change.busy, level.waiting + change.waiting};
    load.push_back(level);
  }
  return load;
}

void sort_bars(LeaseTimeline& timeline) {
  std::sort(
      timeline.bars.begin(), timeline.bars.end(), [](const TimelineBar& a, const TimelineBar& b) {
        return std::tuple(a.row, a.begin, a.end, a.job) < std::tuple(b.row, b.begin, b.end, b.job);
      });
}

std::string timeline_json(const LeaseTimeline& timeline, const TimeWindow& window,
                          std::size_t most_bars) {
  MUSTER_CHECK(window.begin <= window.end);
  std::string thinned;
  Bars bars = thin(bars_in(timeline, window), window, most_bars, thinned);
  const std::vector<const TimelineJob*> jobs = jobs_of(timeline, bars);
  if (!timeline.missing.empty()) {
    thinned = timeline.missing + (thinned.empty() ? "" : "; ") + thinned;
  }
  const int decimals = decimals_for(window);
  const auto texts = [](std::string& to, const std::string& text) { to += json_text(text); };

  std::string out = "{\"from\":";
  append_seconds(out, timeline.whole.begin.us(), 3);
  out += ",\"to\":";
  append_seconds(out, timeline.whole.end.us(), 3);
  out += fmt::format(",\"unit\":\"{}\",\"gpus\":{},\"servers\":", timeline.dates ? "unix" : "run",
                     timeline.gpus);
  append_column(out, timeline.nodes, [](std::string& to, const TimelineNode& node) {
    to += fmt::format("{{\"name\":{},\"gpus\":{}}}", json_text(node.name), node.gpus);
  });
  out += ",\"tenants\":";
  append_column(out, timeline.tenants, texts);
  out += ",\"causes\":";
  append_column(out, timeline.causes, texts);
  out += ",\"ends\":";
  append_column(out, timeline.ends, texts);
  out += ',';
  append_jobs(out, jobs);
  out += ',';
  append_bars(out, bars, decimals);
  out += ',';
  append_load(out, load_in(timeline, window), decimals);
  out += ",\"thinned\":" + json_text(thinned) + "}";
  return out;
}

}  // namespace muster
