#pragma once

// muster sim: replays a workload under one scheduler or several and compares them.

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
  CLI::App* command_ = nullptr;
  SimRequest request_;
  std::string out_;
  bool json_ = false;
};

}  // namespace muster
