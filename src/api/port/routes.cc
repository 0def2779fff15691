#include "api/port/routes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <type_traits>

#include "api/port/access_routes.h"
#include "api/port/past_routes.h"
#include "base/text/text.h"

namespace muster {
namespace {

constexpr std::array<std::string_view, 14> kStates = {
    "active",  "ended",    "all",      "held", "blocked", "queued",    "starting",
    "running", "stopping", "retrying", "done", "failed",  "cancelled", "rejected"};

constexpr std::array<int, 6> kReads = {200, 400, 401, 403, 429, 503};
constexpr std::array<int, 8> kOfAJob = {200, 400, 401, 403, 404, 409, 429, 503};
constexpr std::array<int, 9> kRetries = {201, 400, 401, 403, 404, 409, 413, 429, 503};
constexpr std::array<int, 11> kSubmits = {200, 201, 400, 401, 403, 408, 409, 413, 415, 429, 503};
constexpr std::array<int, 9> kPlans = {200, 400, 401, 403, 408, 413, 415, 429, 503};
constexpr std::array<int, 8> kOfANode = {200, 400, 401, 403, 404, 409, 429, 503};
constexpr std::array<int, 11> kDrains = {200, 400, 401, 403, 404, 408, 409, 413, 415, 429, 503};
constexpr std::array<int, 7> kTickets = {201, 400, 401, 403, 409, 429, 503};
constexpr std::array<int, 7> kLogOuts = {200, 400, 401, 403, 409, 429, 503};
constexpr std::array<int, 7> kOfThePast = {200, 400, 401, 403, 404, 429, 503};
constexpr std::array<int, 4> kHealth = {200, 400, 429, 503};

constexpr std::array<std::string_view, 10> kListNames = {
    "state", "user", "tenant", "array", "limit", "offset", "search", "sort", "order", "counts"};
constexpr std::array<std::string_view, 5> kLogNames = {"lease", "node", "offset", "limit",
                                                       "follow"};
constexpr std::array<std::string_view, 3> kEventNames = {"after", "limit", "follow"};

constexpr std::array<std::string_view, 1> kShowNames = {"show_env"};
constexpr std::array<std::string_view, 6> kAuditNames = {"user", "job",    "since",
                                                         "verb", "before", "limit"};

constexpr std::array<std::string_view, 3> kTimelineNames = {"run", "from", "to"};
constexpr std::array<std::string_view, 4> kUsageNames = {"run", "from", "to", "points"};
constexpr std::array<std::string_view, 2> kCompareNames = {"runs", "baseline"};
constexpr std::array<std::string_view, 4> kWhatIfNames = {"policy", "mechanism", "placement",
                                                          "since"};

constexpr std::int64_t kMaxNumber = std::numeric_limits<std::int64_t>::max();

// Makes a call that has no fields, or only the {id} or {name} from the path.
template <class C>
Result<Routed> make_call(const RequestTarget& target, const HttpRequest&) {
  if constexpr (std::is_empty_v<C>) {
    return Routed{.call = C{}};
  } else {
    return Routed{.call = C{target.path[2]}};
  }
}

template <class C>
constexpr Route route(
    std::string_view method, std::string_view path, std::span<const int> statuses,
    std::span<const std::string_view> parameters = std::span<const std::string_view>(),
    MakeRouted maker = make_call<C>) {
  return {method, path, C::kInfo.name, parameters, statuses, maker};
}

Error invalid(std::string message) { return {std::move(message), ErrorCode::kInvalid}; }

bool is_json(std::string_view content_type) {
  return lowered(trim(content_type.substr(0, content_type.find(';')))) == "application/json";
}

Result<Routed> submit(const RequestTarget&, const HttpRequest& request) {
  constexpr std::size_t kMaxKeyBytes = 128;
  const std::string& key = request.idempotency_key;
  const auto printable = [](char c) { return c > ' ' && c <= '~'; };
  if (key.size() > kMaxKeyBytes || !std::all_of(key.begin(), key.end(), printable)) {
    return Error{
        fmt::format("Idempotency-Key: must have at most {} printable characters and no blanks",
                    kMaxKeyBytes),
        ErrorCode::kInvalid};
  }
  Result<JobRequest> job = read_request(request.body);
  if (!job.ok()) return job.error();
  return Routed{.call = SubmitJob{std::move(job.value()), key}};
}

Result<Routed> plan(const RequestTarget&, const HttpRequest& request) {
  Result<JobRequest> job = read_request(request.body);
  if (!job.ok()) return job.error();
  return Routed{.call = PlanJob{std::move(job.value())}};
}

Result<Routed> keep_profile(const RequestTarget&, const HttpRequest& request) {
  return Routed{.call = KeepProfile{request.body}};
}

Result<Routed> drain(const RequestTarget& target, const HttpRequest& request) {
  constexpr std::size_t kMaxBodyBytes = 1024;
  DrainNode call{target.path[2]};
  if (request.body.empty()) return Routed{.call = std::move(call)};
  if (request.body.size() > kMaxBodyBytes) return invalid("the body is too long");
  const auto body = nlohmann::json::parse(request.body, nullptr, false);
  if (!body.is_object()) return invalid("the body must be a JSON object");
  for (const auto& [key, value] : body.items()) {
    if (key != "until") return invalid("unknown field: " + in_quotes(key));
    if (!value.is_number_unsigned() || value.get<std::uint64_t>() > std::uint64_t{kMaxNumber}) {
      return invalid("until: must be a whole number of seconds since 1970");
    }
    call.until = value.get<std::int64_t>();
  }
  return Routed{.call = std::move(call)};
}

// Reads the parameters for searching, sorting and counting jobs.
MaybeError read_order(const RequestTarget& target, ListJobs& list) {
  constexpr std::array<std::string_view, 2> kOrders = {"asc", "desc"};
  constexpr std::size_t kMaxSearchBytes = 128;
  const auto word = [&](std::string_view name) {
    const std::string* found = target.find(name);
    return found == nullptr ? std::string() : *found;
  };
  list.search = word("search");
  if (list.search.size() > kMaxSearchBytes) {
    return Error{fmt::format("search: at most {} bytes", kMaxSearchBytes), ErrorCode::kInvalid};
  }
  list.sort = word("sort");
  if (!list.sort.empty() &&
      std::find(kJobSorts.begin(), kJobSorts.end(), list.sort) == kJobSorts.end()) {
    return Error{"sort: unknown: " + in_quotes(list.sort) + suggestion(list.sort, kJobSorts),
                 ErrorCode::kInvalid};
  }
  if (!list.sort.empty() && list.array != 0)
    return Error{"sort: cannot be combined with 'array'", ErrorCode::kInvalid};
  if (!list.search.empty() && list.array != 0)
    return Error{"search: cannot be combined with 'array'", ErrorCode::kInvalid};
  const std::string order = word("order");
  if (!order.empty() && std::find(kOrders.begin(), kOrders.end(), order) == kOrders.end()) {
    return Error{"order: must be 'asc' or 'desc', not " + in_quotes(order), ErrorCode::kInvalid};
  }
  if (!order.empty() && list.sort.empty())
    return Error{"order: requires 'sort'", ErrorCode::kInvalid};
  list.descending = order == "desc";
  const Result<bool> counts = yes_or_no(target, "counts");
  if (!counts.ok()) return counts.error();
  list.counts = counts.value();
  return std::nullopt;
}

Result<Routed> list_jobs(const RequestTarget& target, const HttpRequest&) {
  ListJobs list;
  const std::string* state = target.find("state");
  list.state = state == nullptr || state->empty() ? "active" : *state;
  for (const std::string_view each : split(list.state, ',')) {
    if (std::find(kStates.begin(), kStates.end(), each) != kStates.end()) continue;
    return Error{"state: unknown: " + in_quotes(each) + suggestion(each, kStates),
                 ErrorCode::kInvalid};
  }
  Result<std::string> user = name_or_none(target, "user");
  if (!user.ok()) return user.error();
  Result<std::string> tenant = name_or_none(target, "tenant");
  if (!tenant.ok()) return tenant.error();
  const Result<std::int64_t> array = whole(target, "array", 1, kMaxNumber, 0);
  if (!array.ok()) return array.error();
  const Result<std::int64_t> limit = whole(target, "limit", 0, 1'000, 50);
  if (!limit.ok()) return limit.error();
  const Result<std::int64_t> offset = whole(target, "offset", 0, 1'000'000'000, 0);
  if (!offset.ok()) return offset.error();
  list.array = static_cast<std::uint64_t>(array.value());
  if (const MaybeError refusal = read_order(target, list)) return *refusal;
  list.user = std::move(user.value());
  list.tenant = std::move(tenant.value());
  list.limit = static_cast<std::size_t>(limit.value());
  list.offset = static_cast<std::size_t>(offset.value());
  return Routed{.call = std::move(list)};
}

Result<Routed> log(const RequestTarget& target, const HttpRequest&) {
  constexpr std::int64_t kMaxLease = std::numeric_limits<std::uint32_t>::max();
  constexpr std::int64_t kMaxNode = 65'535;
  FindLog find{target.path[2], std::nullopt, 0};
  const Result<std::int64_t> lease = whole(target, "lease", 1, kMaxLease, 0);
  if (!lease.ok()) return lease.error();
  if (lease.value() > 0) find.lease = static_cast<std::uint32_t>(lease.value());
  const Result<std::int64_t> node = whole(target, "node", 0, kMaxNode, 0);
  if (!node.ok()) return node.error();
  find.node = static_cast<std::uint32_t>(node.value());
  const Result<std::int64_t> offset = whole(target, "offset", -kMaxNumber, kMaxNumber, 0);
  if (!offset.ok()) return offset.error();
  const Result<std::int64_t> limit =
      whole(target, "limit", 0, std::int64_t{kMaxLogBytes}, std::int64_t{kUsualLogBytes});
  if (!limit.ok()) return limit.error();
  const Result<bool> follow = yes_or_no(target, "follow");
  if (!follow.ok()) return follow.error();
  if (follow.value() && target.find("limit") != nullptr) {
    return Error{"limit: cannot be combined with follow=1", ErrorCode::kInvalid};
  }
  return Routed{.reply = follow.value() ? Reply::kFollowLog : Reply::kLog,
                .call = std::move(find),
                .offset = offset.value(),
                .limit = static_cast<std::uint64_t>(limit.value())};
}

// Last-Event-ID takes precedence over `after`: a client that lost its connection sends it to
// resume, with the original `after` still in the URL.
Result<std::uint64_t> first_event(const RequestTarget& target, const HttpRequest& request,
                                  bool follow) {
  const Result<std::int64_t> after = whole(target, "after", 0, kMaxNumber, 0);
  if (!after.ok()) return after.error();
  if (!follow || request.last_event_id.empty()) return static_cast<std::uint64_t>(after.value());
  const Result<std::int64_t> last = parse_int(request.last_event_id);
  if (!last.ok()) return Error{"Last-Event-ID: " + last.error().message, ErrorCode::kInvalid};
  if (last.value() < 0) return Error{"Last-Event-ID: must not be negative", ErrorCode::kInvalid};
  return static_cast<std::uint64_t>(last.value());
}

Result<Routed> list_events(const RequestTarget& target, const HttpRequest& request,
                           std::string job) {
  const Result<bool> follow = yes_or_no(target, "follow");
  if (!follow.ok()) return follow.error();
  const Result<std::uint64_t> after = first_event(target, request, follow.value());
  if (!after.ok()) return after.error();
  const Result<std::int64_t> limit = whole(target, "limit", 0, 1'000, 1'000);
  if (!limit.ok()) return limit.error();
  if (follow.value() && target.find("limit") != nullptr) {
    return Error{"limit: cannot be combined with follow=1", ErrorCode::kInvalid};
  }
  return Routed{
      .reply = follow.value() ? Reply::kFollowEvents : Reply::kAnswer,
      .call = ListEvents{after.value(), std::move(job), static_cast<std::size_t>(limit.value())}};
}

Result<Routed> all_events(const RequestTarget& target, const HttpRequest& request) {
  return list_events(target, request, "");
}

Result<Routed> job_events(const RequestTarget& target, const HttpRequest& request) {
  return list_events(target, request, target.path[2]);
}

Result<Routed> metrics(const RequestTarget&, const HttpRequest&) {
  return Routed{.reply = Reply::kMetrics, .call = ShowMetrics{}};
}

Result<Routed> openapi(const RequestTarget&, const HttpRequest&) {
  return Routed{.reply = Reply::kOpenApi, .call = ShowHealth{}};
}

Result<Routed> ticket(const RequestTarget&, const HttpRequest&) {
  return Routed{.reply = Reply::kTicket, .call = GiveTicket{}};
}

Result<Routed> log_out(const RequestTarget&, const HttpRequest&) {
  return Routed{.reply = Reply::kLogOut, .call = LogOut{}};
}

Result<Routed> show_job(const RequestTarget& target, const HttpRequest&) {
  const Result<bool> show_env = yes_or_no(target, "show_env");
  if (!show_env.ok()) return show_env.error();
  return Routed{.call = ShowJob{target.path[2], show_env.value()}};
}

constexpr std::array kRoutes = {
    route<SubmitJob>("POST", "/v1/jobs", kSubmits, {}, submit),
    route<ListJobs>("GET", "/v1/jobs", kReads, kListNames, list_jobs),
    route<ShowJob>("GET", "/v1/jobs/{id}", kOfAJob, kShowNames, show_job),
    route<ExplainJob>("GET", "/v1/jobs/{id}/why", kOfAJob),
    route<PlanJob>("POST", "/v1/plan", kPlans, {}, plan),
    route<CancelJob>("POST", "/v1/jobs/{id}/cancel", kOfAJob),
    route<HoldJob>("POST", "/v1/jobs/{id}/hold", kOfAJob),
    route<ReleaseJob>("POST", "/v1/jobs/{id}/release", kOfAJob),
    route<FindLog>("GET", "/v1/jobs/{id}/log", kOfAJob, kLogNames, log),
    route<ListEvents>("GET", "/v1/jobs/{id}/events", kOfAJob, kEventNames, job_events),
    route<ListEvents>("GET", "/v1/events", kReads, kEventNames, all_events),
    route<ListNodes>("GET", "/v1/nodes", kReads),
    route<DrainNode>("POST", "/v1/nodes/{name}/drain", kDrains, {}, drain),
    route<UndrainNode>("POST", "/v1/nodes/{name}/undrain", kOfANode),
    route<ListTenants>("GET", "/v1/tenants", kReads),
    route<ListParts>("GET", "/v1/parts", kReads),
    route<ListProfiles>("GET", "/v1/profiles", kReads),
    route<KeepProfile>("POST", "/v1/profiles", kPlans, {}, keep_profile),
    route<GiveTicket>("POST", "/v1/ticket", kTickets, {}, ticket),
    route<LogOut>("POST", "/v1/logout", kLogOuts, {}, log_out),
    route<ListAudit>("GET", "/v1/audit", kReads, kAuditNames, read_audit),
    route<ShowMe>("GET", "/v1/me", kReads),
    route<ShowTimeline>("GET", "/v1/timeline", kOfThePast, kTimelineNames, read_timeline),
    route<ShowUsage>("GET", "/v1/usage", kOfThePast, kUsageNames, read_usage),
    route<ListRuns>("GET", "/v1/runs", kOfThePast),
    route<CompareRuns>("GET", "/v1/compare", kOfThePast, kCompareNames, read_compare),
    route<ShowPage>("GET", "/v1/pages/{key}", kOfThePast, {}, read_page),
    route<ShowWhatIf>("GET", "/v1/whatif", kOfThePast, kWhatIfNames, read_what_if),
    route<ShowWholeJob>("GET", "/v1/jobs/{id}/page", kOfAJob),
    route<RetryJob>("POST", "/v1/jobs/{id}/retry", kRetries),
    route<ShowFleet>("GET", "/v1/fleet", kReads),
    route<ShowMetrics>("GET", "/metrics", kReads, {}, metrics),
    route<ShowHealth>("GET", "/healthz", kHealth),
    Route{"GET", "/openapi.json", {}, {}, kReads, openapi},
};

bool matches(std::string_view pattern, const std::vector<std::string>& path) {
  std::size_t part = 0;
  for (const std::string_view wanted : split(pattern.substr(1), '/')) {
    if (part == path.size()) return false;
    if (!wanted.starts_with('{') && wanted != path[part]) return false;
    ++part;
  }
  return part == path.size();
}

std::optional<Problem> check_parts(const Route& route, const RequestTarget& target,
                                   const HttpRequest& request) {
  if (route.path.find("{id}") != std::string_view::npos && !is_job_word(target.path[2])) {
    return invalid("not a job id: " + in_quotes(target.path[2]));
  }
  if (route.path.find("{name}") != std::string_view::npos && !is_name(target.path[2])) {
    return invalid("not a node name: " + in_quotes(target.path[2]));
  }
  if (MaybeError refusal = check_names(target, route.parameters)) return *refusal;
  if (request.body.empty()) return std::nullopt;
  if (route.method == "GET") return invalid("a GET request must not have a body");
  if (!is_json(request.content_type)) {
    return Problem(415, invalid("the body must have Content-Type: application/json"));
  }
  constexpr std::array<std::string_view, 4> kTakeRequests = {"/v1/jobs", "/v1/plan", "/v1/profiles",
                                                             "/v1/nodes/{name}/drain"};
  const bool takes_request =
      std::find(kTakeRequests.begin(), kTakeRequests.end(), route.path) != kTakeRequests.end();
  if (!takes_request && trim(request.body) != "{}") {
    return invalid("this request must not have a body");
  }
  return std::nullopt;
}

}  // namespace

std::span<const Route> routes() { return kRoutes; }

bool is_open_to_all(std::string_view target) {
  return target.substr(0, target.find('?')) == "/healthz";
}

AskedCall asked_call(const HttpRequest& request) {
  const Result<RequestTarget> target = read_target(request.target);
  if (!target.ok()) return {};
  const std::vector<std::string>& path = target.value().path;
  const std::string_view method =
      request.method == "HEAD" ? "GET" : std::string_view(request.method);
  for (const Route& route : kRoutes) {
    if (route.method != method || !matches(route.path, path)) continue;
    AskedCall asked{std::string(route.call), ""};
    if (route.path.find("{id}") != std::string_view::npos && is_job_word(path[2])) {
      asked.object = "job " + path[2];
    }
    return asked;
  }
  return {};
}

std::variant<Routed, Problem> find_route(const HttpRequest& request) {
  const Result<RequestTarget> target = read_target(request.target);
  if (!target.ok()) return target.error();
  const bool head = request.method == "HEAD";
  const std::string_view method = head ? "GET" : std::string_view(request.method);
  std::string allow;
  for (std::size_t i = 0; i < kRoutes.size(); ++i) {
    const Route& route = kRoutes[i];
    if (!matches(route.path, target.value().path)) continue;
    if (route.method != method) {
      allow += fmt::format("{}{}", allow.empty() ? "" : ", ",
                           route.method == "GET" ? "GET, HEAD" : route.method);
      continue;
    }
    if (auto problem = check_parts(route, target.value(), request)) return *problem;
    Result<Routed> routed = route.make(target.value(), request);
    if (!routed.ok()) return routed.error();
    const Reply reply = routed.value().reply;
    if (head && (reply == Reply::kFollowLog || reply == Reply::kFollowEvents)) {
      return invalid("follow: cannot be combined with HEAD");
    }
    routed.value().route = i;
    routed.value().without_body = head;
    return std::move(routed.value());
  }
  if (!allow.empty()) return Problem(405, invalid("method not allowed for this path"), allow);
  return Error{"no such path", ErrorCode::kNotFound};
}

}  // namespace muster
