#pragma once

// muster serve: runs the live manager on this machine, checks its configuration or stops it.

#include <string>

#include "cli/common/command.h"
#include "cli/common/parser.h"
#include "live/daemon/daemon.h"

namespace muster {

class ServeCommand {
 public:
  void add_to(Command app);
  int run(Streams streams);
  bool chosen() const { return command_.parsed(); }

 private:
  int run_in_background(Streams streams, const DaemonOptions& options) const;

  static int check_as_json(Streams streams, DaemonOptions options);

  Command command_;
  std::string config_, home_;
  bool check_ = false, json_ = false, background_ = false, stop_ = false;
};

}  // namespace muster
