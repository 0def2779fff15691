#pragma once

// muster report: writes simulated runs, or a sweep, as one HTML file.

#include <string>
#include <vector>

#include "base/types/result.h"
#include "cli/common/command.h"
#include "cli/common/parser.h"
#include "study/compare/run_page.h"
#include "study/page/page.h"

namespace muster {

class ReportCommand {
 public:
  void add_to(Command app);
  int run(Streams streams);
  bool chosen() const { return command_.parsed(); }

 private:
  Result<Page> make_page() const;
  Result<Page> of_runs() const;
  Result<Page> of_sweep() const;
  Result<std::size_t> find_baseline(const std::vector<std::string>& names) const;
  MaybeError read_window(RunPageOptions& options) const;

  Command command_;
  std::vector<std::string> dirs_;
  std::string baseline_, window_, out_ = "report.html";
};

}  // namespace muster
