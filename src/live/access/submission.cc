#include "live/access/submission.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>

#include "api/port/permissions.h"
#include "base/text/text.h"
#include "engine/model/tenants.h"

namespace muster {

namespace {

constexpr std::size_t kMaxShown = 50;

Error not_a_member(const Rights& rights, const std::string& tenant) {
  const std::string head = fmt::format("tenant: you are not a member of {}; ",
                                       in_quotes(std::string(tenant_or_default(tenant))));
  if (rights.tenants.empty()) {
    return {head + "you are a member of no tenant; ask an operator", ErrorCode::kForbidden};
  }
  const std::size_t shown = std::min(rights.tenants.size(), kMaxShown);
  const auto* const first = rights.tenants.data();
  std::string names = fmt::format("{}", fmt::join(first, first + shown, ", "));
  if (shown < rights.tenants.size()) names += ", ...";
  return {head + "your tenants: " + names, ErrorCode::kForbidden};
}

}  // namespace

MaybeError check_not_viewer(const Caller& caller) {
  if (role_of(caller) != Role::kViewer) return std::nullopt;
  return Error{"viewers cannot change anything; ask an operator for another role",
               ErrorCode::kForbidden};
}

void set_default_tenant(const Caller& caller, JobRequest& request) {
  if (!request.tenant.empty() || !caller.rights || caller.rights->tenants.empty()) return;
  const std::string& tenant = caller.rights->tenants.front();
  if (tenant != kDefaultTenant) request.tenant = tenant;
}

MaybeError check_submission(const Caller& caller, const JobRequest& request) {
  if (!caller.rights) return std::nullopt;
  if (MaybeError refusal = check_not_viewer(caller)) return refusal;
  if (!may_submit_to(caller, request.tenant)) return not_a_member(*caller.rights, request.tenant);
  const PriorityRange range = priorities_of(caller, request.tenant);
  if (request.priority < range.low || request.priority > range.high) {
    return Error{fmt::format("priority: {} is outside your range, {} to {}", request.priority,
                             range.low, range.high),
                 ErrorCode::kInvalid};
  }
  return std::nullopt;
}

}  // namespace muster
