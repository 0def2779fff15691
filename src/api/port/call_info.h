#pragma once

// Static properties of an API call. For calls.h and past_calls.h.

#include <string_view>

namespace muster {

struct CallInfo {
  std::string_view name;    // The operationId in openapi.json.
  bool writes = false;      // Changes or records something; answered after it is on disk.
  bool from_files = false;  // `muster view` also answers it.
};

}  // namespace muster
