#pragma once

// muster trace: describes, generates and converts workloads.

#include "cli/common/command.h"
#include "cli/common/parser.h"
#include "cli/common/trace_inputs.h"
#include "workload/generate/philly_like.h"
#include "workload/trace/trace.h"

namespace muster {

class TraceCommand {
 public:
  void add_to(Command app);
  int run(Streams streams);
  bool chosen() const { return command_.parsed(); }

 private:
  int info(Streams streams);
  int generate(Streams streams);
  int convert(Streams streams);
  static int list_formats(Streams streams);
  int write_out(const std::string& text, Streams streams) const;  // To --out or standard output.
  // Generates the trace that --kind selects.
  Result<Trace> generated(const ProfileTable& profiles);
  Result<Trace> synergy_like(const ProfileTable& profiles);
  Result<Trace> philly_like();

  Command command_;
  Command info_;
  Command generate_;
  Command convert_;
  Command formats_;
  std::string file_, profiles_, against_, to_ = "muster";
  TraceOptions trace_options_;
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
