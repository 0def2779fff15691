#pragma once

// muster analyze: the study that Microsoft made of Philly, of any cluster's past.

#include <filesystem>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "cli/common/command.h"
#include "cli/common/inputs.h"
#include "cli/common/parser.h"
#include "engine/model/tenants.h"
#include "study/page/page.h"
#include "workload/history/history.h"
#include "workload/history/use_study.h"

namespace muster {

class AnalyzeCommand {
 public:
  void add_to(Command app);
  int run(Streams streams, const std::string& command);  // The latter for the page it writes.
  bool chosen() const { return command_.parsed(); }
  // What run() shows.
  Result<Page> make_page(std::ostream& notes, const std::string& command) const;

 private:
  Refusal refuse_empty() const;
  // Of a manager's own past also its quotas, unless others were given.
  Result<History> read_input(const ProfileTable& profiles, std::optional<TenantTree>& tenants,
                             UseStudy& study) const;
  Result<History> read_live(std::optional<TenantTree>& tenants) const;
  Result<History> read_log(const std::filesystem::path& log, UseStudy& study) const;
  Refusal refuse_log_options() const;

  Command command_;
  std::string input_, profiles_, outcomes_, tenants_, out_;
  std::vector<std::string> machines_, gpu_use_, cpu_use_, mem_use_;
  TraceOptions trace_options_;
  bool json_ = false;
};

// The study of one input, as `muster analyze PATH` makes it.
Result<Page> analysis_of(const std::string& path, std::ostream& notes);

}  // namespace muster
