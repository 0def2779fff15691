#pragma once

// muster layers: reports whether a few layers contain most of a model's parameters, where to cut
// the model between workers and parameter server, and how much traffic that saves. Can write the
// skew into the model's profile. With --communication: the time that training spends on
// communication.

#include <cstdint>
#include <span>
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
  void add_communication(Option workers);
  int list_models(Streams streams) const;
  int show(LayerTable table, Streams streams) const;
  int show_communication(std::span<const LayerStudy> studies, Streams streams) const;
  Result<LayerTable> load() const;
  // `usual_batch` applies unless --batch is given.
  Result<TrainingSetup> setup(std::int64_t usual_batch = TrainingSetup().batch) const;
  Result<std::vector<LayerStudy>> study_all() const;
  std::string profile_of(const LayerStudy& study) const;
  Result<std::string> edit_profile(const LayerStudy& study) const;
  MaybeError write_profile(const std::string& text) const;

  Command command_;
  std::string model_, link_, compute_, profile_, name_;
  std::int64_t workers_ = TrainingSetup().workers;
  std::int64_t batch_ = 0;  // 0: not given.
  std::int64_t nodes_ = 8, gpus_ = 4, servers_ = 0;
  bool json_ = false, all_ = false, listed_ = false, communication_ = false;
};

}  // namespace muster
