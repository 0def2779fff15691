#include "live/query/job_lookup.h"

#include <fmt/format.h>

#include <vector>

#include "base/text/text.h"
#include "live/views/answers.h"
#include "live/views/job_owner.h"

namespace muster {

namespace {

// Among the array indexes up to 9999, 1,111 start with the same digit.
constexpr std::size_t kMaxAlike = 2'000;

FoundJob found_job(LiveId id, const JobOwner& owner) {
  return {id, std::string(owner.user), owner.uid, std::string(owner.tenant)};
}

}  // namespace

Result<FoundJob> find_job(const ReadContext& context, const Caller& caller, const std::string& text,
                          Match match) {
  const Error none{"no such job: " + text, ErrorCode::kNotFound};
  if (const Result<std::int64_t> number = parse_int(text); number.ok() && number.value() > 0) {
    const auto id = static_cast<LiveId>(number.value());
    if (const LiveJob* job = context.roster->find(id)) {
      if (may_see(caller, owner_of(*job))) return found_job(id, owner_of(*job));
    } else {
      const Result<std::optional<JobRow>> row = context.rows.job(id);
      if (!row.ok()) return unreadable(row.error());
      if (row.value() && may_see(caller, owner_of(*row.value()))) {
        return found_job(id, owner_of(*row.value()));
      }
    }
  }
  if (text.empty()) return none;
  Result<std::vector<JobRow>> rows = context.rows.jobs_beginning(text, kMaxAlike);
  if (!rows.ok()) return unreadable(rows.error());
  std::erase_if(rows.value(), [&](const JobRow& row) { return !may_see(caller, owner_of(row)); });
  for (const JobRow& row : rows.value()) {
    if (row.key == text) return found_job(row.id, owner_of(row));
  }
  if (rows.value().empty()) return none;
  if (match == Match::kBeginning && rows.value().size() == 1)
    return found_job(rows.value()[0].id, owner_of(rows.value()[0]));
  std::vector<std::string> names;
  for (const JobRow& row : rows.value()) names.push_back(std::to_string(row.id));
  if (match == Match::kWhole) {
    return Error{
        fmt::format("no such job: {}; use a full id to change a job: {}", text, first_few(names)),
        ErrorCode::kNotFound};
  }
  return Error{fmt::format("{} matches several jobs: {}", text, first_few(names)),
               ErrorCode::kConflict};
}

}  // namespace muster
