#pragma once

// The fields of a BlameMemory in a snapshot; roster_codec.cc has the writer and the reader.

#include <cstdint>

#include "engine/failure/node_blame.h"

namespace muster {

template <class Codec>
void list(Codec& codec, TenantId& tenant) {
  std::uint32_t index = tenant.index();
  codec.item(index);
  tenant = TenantId(index);
}

template <class Codec>
void list(Codec& codec, BlameMemory::Event& event) {
  codec.item(event.node);
  codec.item(event.at);
  codec.item(event.what);
}

template <class Codec>
void list(Codec& codec, BlameMemory::Closing& closing) {
  codec.item(closing.node);
  codec.item(closing.at);
  codec.item(closing.tenants);
}

template <class Codec>
void list(Codec& codec, BlameMemory::Standing& standing) {
  codec.item(standing.tenant);
  codec.item(standing.refuted);
  codec.item(standing.ignored_until);
}

template <class Codec>
void list(Codec& codec, BlameMemory& memory) {
  codec.field("events", memory.events);
  codec.field("closings", memory.closings);
  codec.field("tenants", memory.tenants);
}

}  // namespace muster
