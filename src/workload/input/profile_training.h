#pragma once

// Reads the part of a profile that describes training on several GPUs: scaling, loss, GPU use and
// the data for the cost of communication.

#include "base/file/document.h"
#include "base/file/item_reader.h"
#include "engine/model/profile.h"

namespace muster {

// Adds the facts of `entry` to `profile`, which already has its iteration time. Errors are in
// `reader`.
void read_training(ItemReader& reader, const Item& entry, Profile& profile);

}  // namespace muster
