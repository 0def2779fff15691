#pragma once

// muster doctor: checks whether this site's Slurm meets the requirements of Muster. Exit status: 0
// no check fails, 1 a check fails, 2 bad usage.

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
  MaybeError read_config();
  MaybeError fill_question();

  Command command_;
  SiteQuestion question_;
  std::string config_, timeout_, home_;
  bool other_executor_ = false;  // The configuration file does not select the Slurm executor.
  bool json_ = false;
};

}  // namespace muster
