#include "live/access/access_gate.h"

#include <fmt/format.h>

#include <utility>

#include "base/text/text.h"

namespace muster {

namespace {

Error forbidden(std::string message) { return Error{std::move(message), ErrorCode::kForbidden}; }

}  // namespace

AccessGate::AccessGate(AccountMode mode, AccessConfig config, std::unique_ptr<GroupLookup> users)
    : mode_(std::move(mode)), rules_(std::move(config)), users_(std::move(users)) {}

MaybeError AccessGate::admit(Caller& caller) {
  const bool by_token = caller.via.starts_with("token");
  const bool own = caller.uid == mode_.uid || (caller.uid == 0 && !by_token);
  const bool personal = !mode_.as_submitter && !mode_.admits_others;
  if (personal && !own) return forbidden(refusal_of_others(mode_.user));
  SystemUser user;
  if (caller.uid != kNoUid && (rules_.needs_groups() || mode_.as_submitter)) {
    user = users_->find(caller.user, caller.uid);
  }
  const bool may_operate = !by_token || caller.is_operator;
  Rights rights = rules_.rights_of(caller.user, user.groups, caller.is_operator, may_operate);
  caller.is_operator = rights.role == Role::kOperator;
  if (!caller.is_operator && !mode_.admits_others && !personal) {
    return forbidden("this manager admits only operators");
  }
  // The executor would look up the name, which may belong to another uid.
  if (mode_.as_submitter && !caller.is_operator && !user.known) {
    return forbidden(
        fmt::format("user {} has no account on this machine, so jobs cannot run as this user",
                    in_quotes(caller.user)));
  }
  caller.rights = std::make_shared<const Rights>(std::move(rights));
  return std::nullopt;
}

}  // namespace muster
