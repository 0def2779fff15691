#include "live/views/job_owner.h"

#include <nlohmann/json.hpp>

namespace muster {

JobOwner owner_of(const JobRow& row) {
  const nlohmann::json details = nlohmann::json::parse(row.spec, nullptr, false);
  JobOwner owner{row.user, kNoUid, row.tenant};
  if (!details.is_object()) return owner;
  const auto uid = details.find("uid");
  if (uid != details.end() && uid->is_number_unsigned()) owner.uid = uid->get<std::uint32_t>();
  return owner;
}

}  // namespace muster
