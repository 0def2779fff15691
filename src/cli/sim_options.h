#pragma once

// Words that several options of `muster sim` have in common.

#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace muster {

// A scheduler as its paper describes it: the parts it is put together from.
struct Preset {
  std::string_view name;
  std::string_view doc;
  std::string_view policy, mechanism, placement;  // Empty: it does not consist of parts.
  std::string_view round;
  std::string_view elastic;  // As --elastic.
};
std::span<const Preset> presets();

// "fifo, srtf" as a person writes it.
std::vector<std::string_view> words_of(std::string_view list);

// A duration, with the option named in what is wrong with it.
Result<Duration> parse_option(std::string_view option, std::string_view text);

}  // namespace muster
