#pragma once

// muster serve: the live manager on this machine.

#include <CLI/CLI.hpp>
#include <string>

#include "cli/command.h"

namespace muster {

class ServeCommand {
 public:
  void add_to(CLI::App& app);
  int run(Streams streams);
  bool chosen() const { return command_->parsed(); }

 private:
  CLI::App* command_ = nullptr;
  std::string config_, home_;
  bool check_ = false;
};

}  // namespace muster
