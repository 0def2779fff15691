#include "philly_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <iterator>
#include <utility>
#include <vector>

#include "base/text/text.h"
#include "base/types/check.h"
#include "base/types/random.h"

namespace muster {

namespace {

constexpr std::size_t kNodes = 552;
constexpr std::int64_t kFirstSubmit = 1502100181;  // 2017-08-07 10:03:01 local time.
constexpr std::int64_t kLastSubmit = 1513929802;   // 2017-12-22 08:03:22.
constexpr std::int64_t kFallBack = 1509847200;     // 2017-11-05 02:00:00, set back to 01:00:00.

// The real numbers of GPUs: 264 nodes with 8, 271 with 4, one with 3, three with 2, 13 without.
std::int32_t real_gpus(std::size_t node) {
  const std::size_t mixed = node * 397 % kNodes;  // Mixes the kinds of nodes.
  if (mixed < 264) return 8;
  if (mixed < 535) return 4;
  return mixed == 535 ? 3 : mixed < 539 ? 2 : 0;
}

std::string wall_text(std::int64_t wall) {
  const std::chrono::sys_seconds time{std::chrono::seconds{wall}};
  const auto midnight = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day day(midnight);
  const std::chrono::hh_mm_ss clock(time - midnight);
  return fmt::format("{:04}-{:02}-{:02} {:02}:{:02}:{:02}", int{day.year()}, unsigned{day.month()},
                     unsigned{day.day()}, clock.hours().count(), clock.minutes().count(),
                     clock.seconds().count());
}

double log_normal(Random& random, double median, double mean) {
  const double sigma = std::sqrt(2 * portable_log(mean / median));
  return median * portable_exp(sigma * random.normal());
}

bool one_in(Random& random, std::uint64_t n) { return random.below(n) == 0; }

// Writes JSON in one of two layouts. The caller writes values in order and opens and closes groups.
class JsonText {
 public:
  explicit JsonText(JsonLayout layout) : indented_(layout == JsonLayout::kIndented) {}

  void open(char bracket) {
    before_value();
    out_ += bracket;
    ++depth_;
    first_ = true;
  }
  void close(char bracket) {
    --depth_;
    if (!first_) new_line();
    out_ += bracket;
    first_ = false;
  }
  void key(std::string_view name) {
    before_value();
    out_ += '"';
    out_ += name;
    out_ += indented_ ? "\": " : "\":";
    after_key_ = true;
  }
  void text(std::string_view value) { raw(fmt::format("\"{}\"", value)); }
  void raw(std::string_view value) {
    before_value();
    out_ += value;
  }
  std::string& out() { return out_; }

 private:
  void before_value() {
    if (std::exchange(after_key_, false)) return;
    if (!first_) out_ += indented_ ? ", " : ",";
    if (depth_ > 0) new_line();
    first_ = false;
  }
  void new_line() {
    if (!indented_) {
      if (depth_ == 1) out_ += '\n';
      return;
    }
    out_ += '\n';
    out_.append(static_cast<std::size_t>(4 * depth_), ' ');
  }

  bool indented_;
  int depth_ = 0;
  bool first_ = true;
  bool after_key_ = false;
  std::string out_;
};

class LogWriter {
 public:
  explicit LogWriter(const PhillyJobs& options)
      : options_(options), random_(options.seed), json_(options.layout) {
    for (std::uint64_t i = 0; i < 15; ++i) tenants_.push_back(hex(i));
    for (std::uint64_t i = 0; i < 319; ++i) users_.push_back(hex(1000 + i));
  }

  void write(const TextSink& sink) {
    json_.open('[');
    for (std::int64_t i = 0; i < options_.jobs; ++i) {
      job(i);
      if (json_.out().size() < (1 << 16)) continue;
      sink(json_.out());
      json_.out().clear();
    }
    json_.close(']');
    json_.out() += '\n';
    sink(json_.out());
  }

 private:
  static std::string hex(std::uint64_t value) {
    return fmt::format("{:06x}", value * 2'654'435 & 0xffffff);
  }

  std::int32_t gpus() {
    const std::uint64_t draw = random_.below(10'000);
    constexpr std::pair<std::uint64_t, std::int32_t> kSizes[] = {
        {8200, 1}, {8600, 2}, {9300, 4}, {9850, 8}, {9950, 16}, {9985, 32}, {9998, 64}};
    for (const auto& [below, size] : kSizes) {
      if (draw < below) return size;
    }
    return 128;
  }

  void missing_time() {
    constexpr std::array<std::string_view, 3> kWays = {"null", "\"\"", "\"None\""};
    json_.raw(kWays[random_.below(3)]);
  }

  void time(std::string_view name, std::int64_t wall, bool known) {
    json_.key(name);
    known ? json_.text(wall_text(wall)) : missing_time();
  }

  void share(std::size_t node, std::int32_t first, std::int32_t count) {
    json_.open('{');
    json_.key("ip");
    json_.text(fmt::format("m{}", node));
    json_.key("gpus");
    json_.open('[');
    for (std::int32_t i = 0; i < count; ++i) json_.text(fmt::format("gpu{}", first + i));
    json_.close(']');
    json_.close('}');
  }

  void detail(std::int32_t wanted) {
    json_.key("detail");
    json_.open('[');
    const std::int32_t most = one_in(random_, 4) ? 4 : 8;  // Some gangs use several nodes.
    std::size_t node = random_.below(kNodes);
    for (std::int32_t left = wanted; left > 0; node = (node + 1) % kNodes) {
      const std::int32_t there = real_gpus(node);
      if (there < std::min(left, 2)) continue;
      const std::int32_t count = std::min({left, most, there});
      const auto room = static_cast<std::uint64_t>(there - count + 1);
      share(node, static_cast<std::int32_t>(random_.below(room)), count);
      left -= count;
    }
    json_.close(']');
  }

  // In the trace, 136 of about 130,000 attempts have no start and 6,695 no end.
  void attempts(std::int64_t submit, std::int32_t wanted) {
    json_.key("attempts");
    json_.open('[');
    std::int64_t now = submit;
    if (!one_in(random_, 22)) {  // 5,236 of 117,325 jobs never got GPUs.
      do {
        now += std::llround(log_normal(random_, 189, 3761));
        const std::int64_t start = now;
        now += std::min<std::int64_t>(4'240'676, std::llround(log_normal(random_, 874, 18'006)));
        json_.open('{');
        time("start_time", start, !one_in(random_, 1100));
        time("end_time", now, !one_in(random_, 22));
        detail(wanted);
        json_.close('}');
      } while (one_in(random_, wanted > 8 ? 2 : 8));
    }
    json_.close(']');
  }

  void status() {
    const std::uint64_t draw = random_.below(1000);
    json_.key("status");
    if (one_in(random_, 20'000)) return json_.text("Running");
    json_.text(draw < 604 ? "Pass" : draw < 694 ? "Killed" : "Failed");
  }

  void job(std::int64_t number) {
    const auto span = static_cast<std::uint64_t>(kLastSubmit - kFirstSubmit);
    const std::int64_t submit = kFirstSubmit + static_cast<std::int64_t>(random_.below(span));
    const std::int64_t id = number > 0 && one_in(random_, 30'000) ? number - 1 : number;
    const bool turned = one_in(random_, 100);  // Fields in another order.
    json_.open('{');
    if (turned) attempts(submit, gpus());
    status();
    json_.key("vc");
    json_.text(tenants_[random_.below(tenants_.size())]);
    json_.key("jobid");
    json_.text(fmt::format("application_1506638472019_{}", id));
    if (!turned) attempts(submit, gpus());
    json_.key("submitted_time");
    json_.text(wall_text(submit));
    json_.key("user");
    json_.text(users_[random_.below(users_.size())]);
    if (one_in(random_, 10'000)) {
      json_.key("priority");
      json_.raw(R"({"level": 1.5e0, "why": [true, null, "a \"}{\" \u00e9 \\"]})");
    }
    json_.close('}');
  }

  PhillyJobs options_;
  Random random_;
  JsonText json_;
  std::vector<std::string> tenants_, users_;
};

// Writes one row per node and minute: the time with its zone, the node, and what `values` appends.
template <class Values>
void write_minutes(const PhillyMinutes& options, const TextSink& sink, Values values) {
  std::int64_t wall = 0;
  while (wall_text(kFirstSubmit / 86400 * 86400 + wall) != options.from) wall += 60;
  wall += kFirstSubmit / 86400 * 86400;
  bool summer = true;
  std::string out;
  for (std::int64_t i = 0; i < options.minutes; ++i, wall += 60) {
    if (summer && wall == kFallBack) {
      summer = false;
      wall -= 3600;
    }
    const std::string time = fmt::format("{} {}", wall_text(wall), summer ? "PDT" : "PST");
    for (std::size_t node = 0; node < kNodes; ++node) {
      fmt::format_to(std::back_inserter(out), "{},m{},", time, node);
      values(out, node);
      out += '\n';
    }
    if (out.size() < (1 << 16)) continue;
    sink(out);
    out.clear();
  }
  sink(out);
}

// The mean of a percentage over a minute: often idle, often busy, usually with nine decimals.
void append_percent(std::string& out, Random& random) {
  const std::uint64_t kind = random.below(10);
  if (kind < 3) {
    out += "0.0";
  } else if (kind < 5) {
    out += "100.0";
  } else {
    fmt::format_to(std::back_inserter(out), "{:.9f}", static_cast<double>(random.below(6001)) / 60);
  }
}

}  // namespace

void write_philly_log(const PhillyJobs& options, const TextSink& sink) {
  LogWriter(options).write(sink);
}

void write_philly_machines(const TextSink& sink) {
  std::string out = "machineId, number of GPUs, single GPU mem\n";
  for (std::size_t node = 0; node < kNodes; ++node) {
    const bool small = node * 211 % kNodes < 321;
    out += fmt::format("m{},{}, {}GB\n", node, small ? 2 : 8, small ? 12 : 24);
  }
  sink(out);
}

void write_philly_gpu_use(const PhillyMinutes& options, const TextSink& sink) {
  Random random(options.seed);
  sink(
      "time,machineId,gpu0_util,gpu1_util,gpu2_util,gpu3_util,gpu4_util,gpu5_util,gpu6_util,"
      "gpu7_util\n");
  write_minutes(options, sink, [&](std::string& out, std::size_t node) {
    const bool offline = one_in(random, 500);
    for (std::int32_t gpu = 0; gpu < 8; ++gpu) {
      if (gpu < real_gpus(node) && !offline) {
        append_percent(out, random);
      } else {
        out += "NA";
      }
      out += ',';
    }
  });
}

void write_philly_cpu_use(const PhillyMinutes& options, const TextSink& sink) {
  Random random(options.seed);
  sink("time,machine_id,cpu_util\n");
  write_minutes(options, sink, [&](std::string& out, std::size_t) {
    if (one_in(random, 500)) {
      out += "NA";
    } else {
      append_percent(out, random);
    }
  });
}

void write_philly_mem_use(const PhillyMinutes& options, const TextSink& sink) {
  Random random(options.seed);
  sink("time,machine_id,mem_total,mem_free\n");
  write_minutes(options, sink, [&](std::string& out, std::size_t) {
    const std::uint64_t kind = random.below(1000);
    if (kind < 2) {
      out += kind == 0 ? "NA,NA" : "0.0,0.0";
      return;
    }
    fmt::format_to(std::back_inserter(out), "528272672.0,{:.4f}",
                   random.uniform() * 528272672.0 * 0.4);
  });
}

}  // namespace muster
