#include "engine/model/profile_key.h"

#include <string_view>

#include "base/types/digest.h"

namespace muster {

std::string profile_key(const std::string& user, const JobRequest& request) {
  Digest digest;
  for (const std::string& word : request.command) digest.add(std::string_view(word));
  return user + "/" + request.name + "/" + digest.hex();
}

}  // namespace muster
