#pragma once

// muster doctor: is this site's Slurm fit for Muster? Exit status 0 if nothing fails, 1 if
// something does, 2 for bad usage.

#include "cli/common/command.h"
#include "cli/common/parser.h"
#include "exec/slurm/site_check.h"

namespace muster {

class DoctorCommand {
 public:
  void add_to(Command app);
  int run(Streams streams);
  bool chosen() const { return command_.parsed(); }

 private:
  Refusal read_config();
  Refusal fill_question();

  Command command_;
  SiteQuestion question_;
  std::string config_, timeout_, home_;
  bool other_executor_ = false;  // The file's.
  bool json_ = false;
};

}  // namespace muster
