#pragma once

// muster serve: the live manager on this machine.

#include <CLI/CLI.hpp>
#include <string>

#include "cli/command.h"
#include "live/daemon.h"

namespace muster {

class ServeCommand {
 public:
  void add_to(CLI::App& app);
  int run(Streams streams);
  bool chosen() const { return command_->parsed(); }

 private:
  int run_in_background(Streams streams, const DaemonOptions& options) const;

  static int check_as_json(Streams streams, DaemonOptions options);

  CLI::App* command_ = nullptr;
  std::string config_, home_;
  bool check_ = false, json_ = false, background_ = false, stop_ = false;
};

}  // namespace muster
