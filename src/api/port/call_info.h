#pragma once

// The facts that a call declares about itself. For calls.h.

#include <string_view>

namespace muster {

struct CallInfo {
  std::string_view name;    // The operationId in openapi.json.
  bool writes = false;      // Changes jobs, nodes or profiles: answered after it is on disk.
  bool from_files = false;  // `muster view` answers it.
};

}  // namespace muster
