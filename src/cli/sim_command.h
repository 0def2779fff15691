#pragma once

// muster sim: replays a workload under one scheduler or several and compares them; with --from-live
// that of a live manager, and then against what really happened.

#include <CLI/CLI.hpp>
#include <string>

#include "cli/command.h"
#include "cli/sim_request.h"

namespace muster {

class SimCommand {
 public:
  void add_to(CLI::App& app);
  int run(Streams streams, const std::string& command);  // The latter for the files it writes.
  bool chosen() const { return command_->parsed(); }

 private:
  // sim_live_command.cc
  int run_live(Streams streams, const std::string& command);
  int reproduce(const LivePast& past, Streams streams, const std::string& command) const;
  int what_if(const LivePast& past, Streams streams, const std::string& command);

  CLI::App* command_ = nullptr;
  SimRequest request_;
  std::string out_;
  bool json_ = false;
};

}  // namespace muster
