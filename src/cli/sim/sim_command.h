#pragma once

// muster sim: replays a workload under one or more schedulers and compares them. With --from-live,
// replays the past of a live manager and compares the result with what happened.

#include <string>

#include "cli/common/command.h"
#include "cli/common/parser.h"
#include "cli/sim/sim_request.h"

namespace muster {

class SimCommand {
 public:
  void add_to(Command app);
  // `command` is the whole command line, which the written files contain.
  int run(Streams streams, const std::string& command);
  bool chosen() const { return command_.parsed(); }

 private:
  void print(const SimPlan& plan, const std::vector<RunRow>& rows, std::ostream& out) const;
  // These are defined in sim_live_command.cc.
  int run_live(Streams streams, const std::string& command);
  int reproduce(const LivePast& past, Streams streams, const std::string& command) const;
  int what_if(const LivePast& past, Streams streams, const std::string& command);

  Command command_;
  SimRequest request_;
  std::string out_;
  bool json_ = false;
};

}  // namespace muster
