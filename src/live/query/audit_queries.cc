#include "live/query/audit_queries.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "live/store/audit_reader.h"
#include "live/views/answers.h"

namespace muster {

namespace {

using nlohmann::json;

AuditFilter audit_filter(const ReadContext& context, const Caller& caller, const ListAudit& call) {
  AuditFilter filter;
  filter.before = call.before;
  filter.job = call.job;
  filter.limit = call.limit;
  if (!call.user.empty()) filter.user = call.user;
  if (!call.verb.empty()) filter.verb = call.verb;
  if (call.since) {
    const std::int64_t born_unix_us = context.clock.unix_us(Instant());
    filter.since =
        std::max(Instant(), Instant::micros(std::llround(*call.since * 1e6) - born_unix_us));
  }
  if (!caller.is_operator) {
    filter.visible_to = caller.user;
    if (caller.uid != kNoUid) filter.visible_to_uid = caller.uid;
  }
  return filter;
}

json audit_view(const AuditRow& row, const LiveClock& clock) {
  json view = {{"number", row.number},
               {"at", static_cast<double>(clock.unix_us(row.at)) / 1e6},
               {"call", row.verb},
               {"status", row.status},
               {"answer", row.answer}};
  if (row.uid) view["uid"] = *row.uid;
  for (const auto& [name, text] : {std::pair("user", &row.user),
                                   {"via", &row.via},
                                   {"address", &row.address},
                                   {"object", &row.object},
                                   {"owner", &row.owner}}) {
    if (!text->empty()) view[name] = *text;
  }
  if (row.owner_uid) view["owner_uid"] = *row.owner_uid;
  if (row.job != 0) view["job"] = row.job;
  if (row.dropped != 0) view["dropped"] = row.dropped;
  return view;
}

Result<Answer> audit_answer(const std::string& path, const AuditFilter& filter,
                            const LiveClock& clock) {
  Result<AuditReader> reader = AuditReader::open(path);
  if (!reader.ok()) return unreadable(reader.error());
  const Result<std::vector<AuditRow>> rows = reader.value().rows(filter);
  if (!rows.ok()) return unreadable(rows.error());
  json list = json::array();
  for (const AuditRow& row : rows.value()) list.push_back(audit_view(row, clock));
  return json_answer({{"rows", std::move(list)}});
}

}  // namespace

void AuditQueries::list(const Caller& caller, const ListAudit& call, const Done& done) {
  if (!worker_.has_room(caller.user)) {
    return done(
        error_answer({"too many questions about the audit; retry later", ErrorCode::kBusy}));
  }
  const AuditFilter filter = audit_filter(context_, caller, call);
  worker_.ask([path = path_, filter, clock = context_.clock,
               done] { done(answer_of(audit_answer(path, filter, clock))); },
              caller.user);
}

}  // namespace muster
