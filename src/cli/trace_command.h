#pragma once

// muster trace: looks at workloads and makes them.

#include <CLI/CLI.hpp>

#include "cli/command.h"
#include "trace/philly_like.h"
#include "trace/trace.h"

namespace muster {

class TraceCommand {
 public:
  void add_to(CLI::App& app);
  int run(Streams streams);
  bool chosen() const { return command_->parsed(); }

 private:
  int info(Streams streams);
  int generate(Streams streams);
  // By --kind.
  Result<Trace> generated(const ProfileTable& profiles);
  Result<Trace> synergy_like(const ProfileTable& profiles);
  Result<Trace> philly_like();

  CLI::App* command_ = nullptr;
  CLI::App* info_ = nullptr;
  CLI::App* generate_ = nullptr;
  std::string file_, format_, profiles_, against_;
  bool json_ = false;
  std::string kind_ = "synergy";
  std::int64_t jobs_ = 1000;
  double rate_ = 9;
  double load_ = 0;
  int tenants_ = PhillyLikeOptions().tenants;
  std::string split_ = "20,70,10", gpu_mix_ = "single", durations_ = "0.8:1.5-3,3-4";
  std::string out_, outcomes_;
  std::uint64_t seed_ = 42;
  bool static_ = false;
};

}  // namespace muster
