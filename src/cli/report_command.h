#pragma once

// muster report: simulated runs, or a sweep, as one HTML file to send to colleagues.

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/command.h"
#include "compare/run_page.h"
#include "page/page.h"

namespace muster {

class ReportCommand {
 public:
  void add_to(CLI::App& app);
  int run(Streams streams);
  bool chosen() const { return command_->parsed(); }

 private:
  Result<Page> make_page() const;
  Result<Page> of_runs() const;
  Result<Page> of_sweep() const;
  Result<std::size_t> find_baseline(const std::vector<std::string>& names) const;
  Refusal read_window(RunPageOptions& options) const;

  CLI::App* command_ = nullptr;
  std::vector<std::string> dirs_;
  std::string baseline_, window_, out_ = "report.html";
};

}  // namespace muster
