// muster audit: lists changes, refusals and looks at other users' output. muster logout: ends all
// sessions of the dashboard.

#include <fmt/format.h>

#include <algorithm>
#include <ostream>

#include "api/client/target.h"
#include "base/terminal/table_columns.h"
#include "base/text/utf8.h"
#include "cli/live/answer_text.h"
#include "cli/live/live_session.h"
#include "cli/live/live_verbs.h"

namespace muster {
namespace {

using Json = nlohmann::json;

constexpr std::uint64_t kAuditPage = 1'000;  // The manager's maximum per request.

std::string audit_how(const Json& row) {
  const std::string address = text_at(row, "address");
  const std::string via = text_at(row, "via");
  if (address.empty()) return via.empty() ? "-" : via;
  return (via.empty() ? "" : via + " ") + "from " + address;
}

std::string audit_text(const Json& answer) {
  const Json& rows = list_at(answer, "rows");
  if (rows.empty()) return "no rows\n";
  Table table(
      {left("TIME"), left("USER"), left("HOW"), left("WHAT"), left("OBJECT"), left("ANSWER")});
  for (const Json& row : rows) {
    const std::string user = text_at(row, "user");
    const std::string what = text_at(row, "call");
    const std::string object = text_at(row, "object");
    const std::uint64_t status = count_at(row, "status");
    const std::string code = status == 0 ? "" : fmt::format("{} ", status);
    table.add_row({local_time(number_at(row, "at")), user.empty() ? "-" : user, audit_how(row),
                   what.empty() ? "-" : what, object.empty() ? "-" : object,
                   code + text_at(row, "answer")});
  }
  return table.render(color_mode_for(1), output_width());
}

std::string audit_target(const AuditOptions& wanted, std::uint64_t limit, std::uint64_t before) {
  std::vector<std::pair<std::string, std::string>> query = {{"limit", std::to_string(limit)}};
  const auto add = [&](const char* name, const std::string& value) {
    if (!value.empty()) query.emplace_back(name, value);
  };
  add("user", wanted.user);
  add("verb", wanted.verb);
  if (wanted.job) add("job", std::to_string(*wanted.job));
  if (wanted.since) add("since", fmt::format("{}", *wanted.since));
  if (before != 0) add("before", std::to_string(before));
  return target("/v1/audit", query);
}

}  // namespace

int run_audit(const LiveOptions& options, Streams streams) {
  return with_manager(options, streams, [&](ApiClient& client) {
    Json rows = Json::array();
    std::uint64_t before = 0;
    while (rows.size() < options.audit.limit) {
      const std::uint64_t wanted =
          std::min<std::uint64_t>(options.audit.limit - rows.size(), kAuditPage);
      const Result<Json> page = object_of(client.get(audit_target(options.audit, wanted, before)));
      if (!page.ok()) return complain(streams, page.error());
      const Json& part = list_at(page.value(), "rows");
      for (const Json& row : part) rows.push_back(row);
      if (part.size() < wanted) break;
      before = count_at(part.back(), "number");
    }
    const Json answer = {{"rows", std::move(rows)}};
    streams.out << (options.json ? json_line(answer) + "\n" : audit_text(answer));
    return kExitDone;
  });
}

int run_logout(const LiveOptions& options, Streams streams) {
  return with_manager(options, streams, [&](ApiClient& client) {
    const Result<Json> left = object_of(client.post("/v1/logout", ""));
    if (!left.ok()) return complain(streams, left.error());
    if (options.json) {
      streams.out << json_line(left.value()) << std::endl;
    } else {
      streams.out << "all dashboard sessions of " << printable(text_at(left.value(), "user"))
                  << " are signed out\n";
    }
    return kExitDone;
  });
}

}  // namespace muster
