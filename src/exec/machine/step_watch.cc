#include "exec/machine/step_watch.h"

#include <nlohmann/json.hpp>

namespace muster {

std::optional<StepSeen> StepWatch::look() {
  const std::optional<ProgressFile::News> news = file_.look();
  if (!news) return std::nullopt;
  // Backwards: only the last line with a step is used.
  for (auto line = news->lines.rbegin(); line != news->lines.rend(); ++line) {
    const nlohmann::json said = progress_object(*line);
    if (!said.is_object()) continue;
    if (const std::optional<double> step = number_in(said, "step")) {
      return StepSeen{news->unix_us, *step, number_in(said, "epoch")};
    }
  }
  return std::nullopt;
}

}  // namespace muster
