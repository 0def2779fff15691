#pragma once

// muster analyze: repeats Microsoft's analysis of the Philly cluster for the past of any cluster.

#include <filesystem>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "cli/common/command.h"
#include "cli/common/parser.h"
#include "cli/common/trace_inputs.h"
#include "engine/model/tenants.h"
#include "study/page/page.h"
#include "workload/history/history.h"
#include "workload/history/use_study.h"

namespace muster {

class AnalyzeCommand {
 public:
  void add_to(Command app);
  // `command` is the whole command line, which the page shows.
  int run(Streams streams, const std::string& command);
  bool chosen() const { return command_.parsed(); }
  // Returns the page that run() prints or writes.
  Result<Page> make_page(std::ostream& notes, const std::string& command) const;

 private:
  MaybeError refuse_empty() const;
  // Reads the input. If it is a live manager's past and `tenants` is empty, also sets `tenants` to
  // the manager's quotas.
  Result<History> read_input(const ProfileTable& profiles, std::optional<TenantTree>& tenants,
                             UseStudy& study) const;
  Result<History> read_live(std::optional<TenantTree>& tenants) const;
  Result<History> read_log(const std::filesystem::path& log, UseStudy& study) const;
  MaybeError refuse_log_options() const;

  Command command_;
  std::string input_, profiles_, outcomes_, tenants_, out_;
  std::vector<std::string> machines_, gpu_use_, cpu_use_, mem_use_;
  TraceOptions trace_options_;
  bool json_ = false;
};

// Returns the page that `muster analyze PATH` makes.
Result<Page> analysis_of(const std::string& path, std::ostream& notes);

}  // namespace muster
