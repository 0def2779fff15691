#pragma once

// muster layers: reports whether a few layers contain most of a model's parameters, where to cut
// the model between workers and parameter server, and how much traffic that saves. Can write the
// skew into the model's profile.

#include <cstdint>
#include <string>
#include <vector>

#include "base/types/result.h"
#include "cli/common/command.h"
#include "cli/common/parser.h"
#include "cli/study/layers_text.h"
#include "study/layers/cut.h"
#include "study/layers/layers_file.h"

namespace muster {

class LayersCommand {
 public:
  void add_to(Command app);
  int run(Streams streams);
  bool chosen() const { return command_.parsed(); }

 private:
  int list_models(Streams streams) const;
  int show(LayerTable table, Streams streams) const;
  Result<LayerTable> load() const;
  Result<TrainingSetup> setup() const;
  std::vector<LayerStudy> study_all(const TrainingSetup& training) const;
  std::string profile_of(const LayerStudy& study) const;
  Result<std::string> edit_profile(const LayerStudy& study) const;
  MaybeError write_profile(const std::string& text) const;

  Command command_;
  std::string model_, link_, compute_, profile_, name_;
  std::int64_t workers_ = TrainingSetup().workers;
  std::int64_t batch_ = TrainingSetup().batch;
  bool json_ = false, all_ = false, listed_ = false;
};

}  // namespace muster
