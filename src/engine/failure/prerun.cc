#include "engine/failure/prerun.h"

#include <algorithm>

namespace muster {

PreRun pre_run(std::int32_t gpus, const std::optional<InjectedFailure>& trouble, Duration run_time,
               const PreRunOptions& options) {
  if (gpus < options.least_gpus) return {};
  const Duration longest = std::min(options.limit, run_time);
  const bool shows = trouble && trouble->sticky && !info_of(trouble->reason).size_dependent;
  if (shows && trouble->after < longest) return {trouble->after, true};
  return {longest, false};
}

}  // namespace muster
