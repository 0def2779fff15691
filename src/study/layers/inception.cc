// The Inception models: a stem of plain convolutions, then modules whose branches all read the
// module's input and whose outputs are concatenated. A model is cut only after whole modules.

#include <fmt/format.h>

#include <string>
#include <utility>

#include "study/layers/building.h"
#include "study/layers/models.h"

namespace muster {

namespace {

struct Branching {
  std::int64_t taps;
  std::int64_t outputs;
  std::int64_t side;
  bool reference =
      false;  // Reads the same input as the previous one; both go to the module's output.
};

using Branch = std::vector<Branching>;

// True if a module also passes on its own input, pooled.
enum class Pooled : std::uint8_t { kNo, kYes };

class Inception {
 public:
  void convolution(std::string name, std::int64_t taps, std::int64_t outputs, std::int64_t side,
                   std::int64_t pooled) {
    layers_.push_back(convolution_layer(std::move(name), {taps, channels_, outputs, side, pooled},
                                        kNormalisation));
    channels_ = outputs;
    side_ = pooled;
  }

  void module(const std::string& name, const std::vector<Branch>& branches,
              Pooled pooled = Pooled::kNo);

  std::vector<Layer> averaged_and_connected() {
    layers_.back().output_bytes = kFloatBytes * channels_;
    layers_.push_back(linear_layer("fc", channels_, 1000));
    return std::move(layers_);
  }

 private:
  std::vector<Layer> layers_;
  std::int64_t channels_ = 3;
  std::int64_t side_ = 299;
};

void Inception::module(const std::string& name, const std::vector<Branch>& branches,
                       Pooled pooled) {
  const std::int64_t input = channels_ * side_ * side_;
  std::int64_t done = 0;      // Output numbers of earlier branches.
  std::int64_t channels = 0;  // Channels of the module's output so far.
  for (std::size_t b = 0; b < branches.size(); ++b) {
    const bool input_needed = b + 1 < branches.size() || pooled == Pooled::kYes;
    std::int64_t inputs = channels_;
    for (std::size_t i = 0; i < branches[b].size(); ++i) {
      const Branching& c = branches[b][i];
      const bool has_reference = i + 1 < branches[b].size() && branches[b][i + 1].reference;
      const bool ends = has_reference || i + 1 == branches[b].size();
      const Convolution made = {c.taps, inputs, c.outputs, c.side, c.side};
      const std::int64_t read_again = has_reference ? inputs * c.side * c.side : 0;
      layers_.push_back(convolution_layer(fmt::format("{}/{}.{}", name, b + 1, i + 1), made,
                                          kNormalisation,
                                          done + read_again + (input_needed ? input : 0)));
      if (ends) {
        done += made.output_numbers();
        channels += c.outputs;
      }
      if (!has_reference) inputs = c.outputs;
    }
  }
  side_ = branches.back().back().side;
  channels_ = channels + (pooled == Pooled::kYes ? channels_ : 0);
  layers_.back().output_bytes = kFloatBytes * channels_ * side_ * side_;
  layers_.back().may_cut_behind = true;
}

// Version 3's modules on 17 x 17, with one-dimensional kernels of size 7.
std::vector<Branch> sevens(std::int64_t width) {
  return {{{1, 192, 17}},
          {{1, width, 17}, {7, width, 17}, {7, 192, 17}},
          {{1, width, 17}, {7, width, 17}, {7, width, 17}, {7, width, 17}, {7, 192, 17}},
          {{1, 192, 17}}};
}

}  // namespace

std::vector<Layer> inception3() {
  Inception model;
  model.convolution("conv1a", 9, 32, 149, 149);
  model.convolution("conv2a", 9, 32, 147, 147);
  model.convolution("conv2b", 9, 64, 147, 73);
  model.convolution("conv3b", 1, 80, 73, 73);
  model.convolution("conv4a", 9, 192, 71, 35);
  const auto fives = [](std::int64_t pooled) -> std::vector<Branch> {
    return {{{1, 64, 35}},
            {{1, 48, 35}, {25, 64, 35}},
            {{1, 64, 35}, {9, 96, 35}, {9, 96, 35}},
            {{1, pooled, 35}}};
  };
  model.module("mixed5b", fives(32));
  model.module("mixed5c", fives(64));
  model.module("mixed5d", fives(64));
  model.module("mixed6a", {{{9, 384, 17}}, {{1, 64, 35}, {9, 96, 35}, {9, 96, 17}}}, Pooled::kYes);
  model.module("mixed6b", sevens(128));
  model.module("mixed6c", sevens(160));
  model.module("mixed6d", sevens(160));
  model.module("mixed6e", sevens(192));
  model.module(
      "mixed7a",
      {{{1, 192, 17}, {9, 320, 8}}, {{1, 192, 17}, {7, 192, 17}, {7, 192, 17}, {9, 192, 8}}},
      Pooled::kYes);
  for (const char* name : {"mixed7b", "mixed7c"}) {
    model.module(name, {{{1, 320, 8}},
                        {{1, 384, 8}, {3, 384, 8}, {3, 384, 8, true}},
                        {{1, 448, 8}, {9, 384, 8}, {3, 384, 8}, {3, 384, 8, true}},
                        {{1, 192, 8}}});
  }
  return model.averaged_and_connected();
}

std::vector<Layer> inception4() {
  Inception model;
  model.convolution("conv1", 9, 32, 149, 149);
  model.convolution("conv2", 9, 32, 147, 147);
  model.convolution("conv3", 9, 64, 147, 147);
  model.module("mixed3a", {{{9, 96, 73}}}, Pooled::kYes);
  model.module("mixed4a",
               {{{1, 64, 73}, {9, 96, 71}}, {{1, 64, 73}, {7, 64, 73}, {7, 64, 73}, {9, 96, 71}}});
  model.module("mixed5a", {{{9, 192, 35}}}, Pooled::kYes);
  for (int i = 1; i <= 4; ++i) {
    model.module(fmt::format("a{}", i), {{{1, 96, 35}},
                                         {{1, 64, 35}, {9, 96, 35}},
                                         {{1, 64, 35}, {9, 96, 35}, {9, 96, 35}},
                                         {{1, 96, 35}}});
  }
  model.module("reduce_a", {{{9, 384, 17}}, {{1, 192, 35}, {9, 224, 35}, {9, 256, 17}}},
               Pooled::kYes);
  for (int i = 1; i <= 7; ++i) {
    model.module(fmt::format("b{}", i),
                 {{{1, 384, 17}},
                  {{1, 192, 17}, {7, 224, 17}, {7, 256, 17}},
                  {{1, 192, 17}, {7, 192, 17}, {7, 224, 17}, {7, 224, 17}, {7, 256, 17}},
                  {{1, 128, 17}}});
  }
  model.module(
      "reduce_b",
      {{{1, 192, 17}, {9, 192, 8}}, {{1, 256, 17}, {7, 256, 17}, {7, 320, 17}, {9, 320, 8}}},
      Pooled::kYes);
  for (int i = 1; i <= 3; ++i) {
    model.module(fmt::format("c{}", i),
                 {{{1, 256, 8}},
                  {{1, 384, 8}, {3, 256, 8}, {3, 256, 8, true}},
                  {{1, 384, 8}, {3, 448, 8}, {3, 512, 8}, {3, 256, 8}, {3, 256, 8, true}},
                  {{1, 256, 8}}});
  }
  return model.averaged_and_connected();
}

}  // namespace muster
