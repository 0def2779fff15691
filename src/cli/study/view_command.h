#pragma once

// muster view: prints the address of the live manager's dashboard, or serves runs, sweeps and
// analyses in the dashboard to a browser on this machine.

#include <cstdint>
#include <string>
#include <vector>

#include "base/types/result.h"
#include "cli/common/command.h"
#include "cli/common/parser.h"
#include "study/compare/viewer.h"

namespace muster {

class ViewCommand {
 public:
  void add_to(Command app);
  int run(Streams streams);
  bool chosen() const { return command_.parsed(); }

 private:
  int show_live(Streams streams) const;  // If no path was given.
  MaybeError open_all(Viewer& viewer, Streams streams) const;
  int serve(Viewer& viewer, Streams streams) const;  // Until Ctrl-C.

  Command command_;
  std::vector<std::string> paths_;
  std::uint16_t port_ = 7071;
  std::string server_;
  bool json_ = false;
};

}  // namespace muster
