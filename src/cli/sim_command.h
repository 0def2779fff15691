#pragma once

// muster sim: replays a workload under one scheduler or several and compares them.

#include <CLI/CLI.hpp>
#include <memory>

#include "cli/command.h"

namespace muster {

class SimCommand {
 public:
  void add_to(CLI::App& app);
  int run(Streams streams);
  bool chosen() const { return command_->parsed(); }

 private:
  CLI::App* command_ = nullptr;
  std::string trace_, format_, cluster_ = "16x8", profiles_, out_;
  std::string policy_ = "fifo", mechanism_ = "proportional", placement_, estimates_ = "oracle";
  std::string round_, compat_, window_;
  std::string checkpoint_ = "10s", restart_ = "20s", migration_ = "10s";
  std::uint64_t seed_ = 1;
  bool json_ = false;
};

}  // namespace muster
