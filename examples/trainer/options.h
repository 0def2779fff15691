#pragma once

// Options of the trainer, from the command line and the environment. An invalid option ends the
// program with an error message of one line.

#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>

namespace trainer {

inline constexpr const char* kHelp =
    R"(trainer: trains a small network to distinguish two spirals

  --steps N             batches to train on (default: 2000)
  --batch N             points per batch (default: 32)
  --seed N              seed of data, weights and order; it determines all losses (default: 1)
  --loaders N           threads that load data (default: 1)
  --load-ms N           CPU time to load a batch, in ms (default: 0)
  --gpu-ms N            minimum time of a step, in ms, to simulate a GPU (default: 0)
  --checkpoint FILE     file to save to at the end and on SIGTERM, and to resume from
  --checkpoint-every N  steps between checkpoints (default: 200)
  --report-every N      steps between progress reports (default: 50)
  --fail-at N           fail at this step (default: never)
  --fail-how HOW        traceback, segfault or oom (default: traceback)

The trainer also appends progress reports to the file $MUSTER_PROGRESS as JSON lines. Each of the
$WORLD_SIZE ranks trains on its own batches; only $RANK 0 saves and reports.

  trainer --steps 5000 --loaders 2 --load-ms 4 --checkpoint /tmp/spirals.ckpt

Exit status: 0 finished or stopped by SIGTERM, 1 failed, 2 bad usage.
)";

[[noreturn]] inline void quit(int status, const std::string& line) {
  std::fprintf(stderr, "trainer: %s\n", line.c_str());
  std::exit(status);
}

struct Options {
  std::uint64_t steps = 2000;
  std::uint64_t batch = 32;
  std::uint64_t seed = 1;
  std::uint64_t loaders = 1;
  std::uint64_t load_ms = 0;
  std::uint64_t gpu_ms = 0;
  std::uint64_t checkpoint_every = 200;
  std::uint64_t report_every = 50;
  std::uint64_t fail_at = 0;  // 0: never. Steps count from 1.
  std::uint64_t rank = 0;
  std::uint64_t world = 1;
  std::string checkpoint;
  std::string fail_how = "traceback";
};

inline std::uint64_t whole_number(const std::string& name, std::string_view text,
                                  std::uint64_t least, std::uint64_t most) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < least || value > most) {
    quit(2, name + ": not a whole number from " + std::to_string(least) + " to " +
                std::to_string(most) + ": '" + std::string(text) + "'");
  }
  return value;
}

inline Options read_options(int count, char** words) {
  struct Number {
    std::uint64_t Options::*place;
    std::uint64_t least, most;
  };
  constexpr std::uint64_t kMany = 1'000'000'000;
  const std::map<std::string, Number> numbers = {
      {"--steps", {&Options::steps, 1, kMany}},
      {"--batch", {&Options::batch, 1, 100'000}},
      {"--seed", {&Options::seed, 0, kMany}},
      {"--loaders", {&Options::loaders, 1, 256}},
      {"--load-ms", {&Options::load_ms, 0, 60'000}},
      {"--gpu-ms", {&Options::gpu_ms, 0, 60'000}},
      {"--checkpoint-every", {&Options::checkpoint_every, 1, kMany}},
      {"--report-every", {&Options::report_every, 1, kMany}},
      {"--fail-at", {&Options::fail_at, 1, kMany}}};
  const std::map<std::string, std::string Options::*> texts = {
      {"--checkpoint", &Options::checkpoint}, {"--fail-how", &Options::fail_how}};

  Options options;
  for (int i = 1; i < count; ++i) {
    std::string name = words[i];
    if (name == "--help" || name == "-h") {
      std::fputs(kHelp, stdout);
      std::exit(0);
    }
    const std::size_t equals = name.find('=');
    std::string value = equals == std::string::npos ? "" : name.substr(equals + 1);
    if (equals != std::string::npos) name.resize(equals);
    const auto number = numbers.find(name);
    const auto text = texts.find(name);
    if (number == numbers.end() && text == texts.end()) {
      quit(2, "unknown option: '" + name + "'; see --help");
    }
    if (equals == std::string::npos) {
      if (i + 1 == count) quit(2, name + ": a value is missing");
      value = words[++i];
    }
    if (number != numbers.end()) {
      const Number& range = number->second;
      options.*range.place = whole_number(name, value, range.least, range.most);
    } else {
      options.*text->second = value;
    }
  }
  if (options.fail_how != "traceback" && options.fail_how != "segfault" &&
      options.fail_how != "oom") {
    quit(2, "--fail-how: must be traceback, segfault or oom: '" + options.fail_how + "'");
  }
  if (const char* world = std::getenv("WORLD_SIZE")) {
    options.world = whole_number("WORLD_SIZE", world, 1, 1'000'000);
  }
  if (const char* rank = std::getenv("RANK")) {
    options.rank = whole_number("RANK", rank, 0, options.world - 1);
  }
  return options;
}

}  // namespace trainer
