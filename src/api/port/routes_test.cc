#include "api/port/routes.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

std::variant<Routed, Problem> find(const std::string& method, const std::string& target,
                                   const std::string& body = "") {
  HttpRequest request;
  request.method = method;
  request.target = target;
  request.body = body;
  if (!body.empty()) request.content_type = "application/json; charset=utf-8";
  return find_route(request);
}

Routed routed(const std::string& method, const std::string& target, const std::string& body = "") {
  auto found = find(method, target, body);
  const auto* problem = std::get_if<Problem>(&found);
  EXPECT_EQ(problem, nullptr) << target << ": "
                              << (problem != nullptr ? problem->error.message : "");
  return problem != nullptr ? Routed{} : std::get<Routed>(found);
}

Problem refused(const std::string& method, const std::string& target,
                const std::string& body = "") {
  auto found = find(method, target, body);
  EXPECT_TRUE(std::holds_alternative<Problem>(found)) << method << " " << target;
  const auto* problem = std::get_if<Problem>(&found);
  return problem != nullptr ? *problem : Problem(0, {});
}

TEST(Routes, ReadsParameters) {
  const auto list = std::get<ListJobs>(
      routed("GET", "/v1/jobs?state=running&user=ann&tenant=a%2Fb&limit=7&offset=21").call);
  EXPECT_EQ(list.state, "running");
  EXPECT_EQ(list.user, "ann");
  EXPECT_EQ(list.tenant, "a/b");
  EXPECT_EQ(list.limit, 7u);
  EXPECT_EQ(list.offset, 21u);
  const auto usual = std::get<ListJobs>(routed("GET", "/v1/jobs?state=&user=").call);
  EXPECT_EQ(usual.state, "active");
  EXPECT_EQ(usual.limit, 50u);
  const Routed log = routed("GET", "/v1/jobs/3/log?lease=2&node=1&offset=-100&limit=10");
  EXPECT_EQ(log.reply, Reply::kLog);
  EXPECT_EQ(std::get<FindLog>(log.call).lease, 2u);
  EXPECT_EQ(std::get<FindLog>(log.call).node, 1u);
  EXPECT_EQ(log.offset, -100);
  EXPECT_EQ(log.limit, 10u);
  EXPECT_EQ(routed("GET", "/v1/jobs/3/log").limit, kUsualLogBytes);
  EXPECT_EQ(routed("GET", "/v1/jobs/3/log?follow=1").reply, Reply::kFollowLog);
  EXPECT_EQ(routed("GET", "/v1/events?follow=0").reply, Reply::kAnswer);
  EXPECT_EQ(routed("GET", "/v1/events?follow=1").reply, Reply::kFollowEvents);
  EXPECT_EQ(std::get<DrainNode>(routed("POST", "/v1/nodes/rack%2Fn1/drain").call).node, "rack/n1");
  EXPECT_TRUE(routed("HEAD", "/v1/nodes").without_body);
}

TEST(Routes, ReadsFiltersOfTheAudit) {
  const auto all = std::get<ListAudit>(routed("GET", "/v1/audit").call);
  EXPECT_EQ(all.limit, 100u);
  EXPECT_FALSE(all.job || all.before || all.since);
  const auto some = std::get<ListAudit>(
      routed("GET", "/v1/audit?user=ann&job=12&since=1.5&verb=cancelJob&before=9&limit=7").call);
  EXPECT_EQ(some.user + some.verb, "anncancelJob");
  EXPECT_EQ(some.job, 12u);
  EXPECT_EQ(some.since, 1.5);
  EXPECT_EQ(some.before, 9u);
  EXPECT_EQ(some.limit, 7u);
  EXPECT_TRUE(std::get<ShowJob>(routed("GET", "/v1/jobs/3?show_env=1").call).show_env);
  EXPECT_FALSE(std::get<ShowJob>(routed("GET", "/v1/jobs/3").call).show_env);
  EXPECT_EQ(routed("POST", "/v1/logout").reply, Reply::kLogOut);
}

TEST(Routes, NamesTheCallOfARejectedRequest) {
  const auto asked = [](const char* method, const char* target) {
    HttpRequest request;
    request.method = method;
    request.target = target;
    const AskedCall call = asked_call(request);
    return call.call + "|" + call.object;
  };
  EXPECT_EQ(asked("POST", "/v1/jobs/12_*/cancel"), "cancelJob|job 12_*");
  EXPECT_EQ(asked("HEAD", "/v1/jobs/12/log?limit=0"), "readLog|job 12");
  EXPECT_EQ(asked("GET", "/v1/jobs/muster-0123"), "showJob|");
  EXPECT_EQ(asked("POST", "/v1/nodes/secret/drain"), "drainNode|");
  EXPECT_EQ(asked("GET", "/v1/nowhere"), "|");
  EXPECT_EQ(asked("GET", "%"), "|");
}

TEST(Routes, ReadsLooksAtThePast) {
  const auto timeline =
      std::get<ShowTimeline>(routed("GET", "/v1/timeline?run=2&from=1.5&to=1e6").call);
  EXPECT_EQ(timeline.run, 2u);
  EXPECT_EQ(timeline.from, 1.5);
  EXPECT_EQ(timeline.to, 1e6);
  EXPECT_FALSE(std::get<ShowTimeline>(routed("GET", "/v1/timeline?from=").call).from);
  EXPECT_EQ(std::get<ShowUsage>(routed("GET", "/v1/usage").call).points, 120u);
  const auto compare = std::get<CompareRuns>(routed("GET", "/v1/compare?runs=3,1").call);
  EXPECT_EQ(compare.runs, (std::vector<std::size_t>{3, 1}));
  EXPECT_EQ(compare.baseline, 3u);
  EXPECT_EQ(std::get<ShowPage>(routed("GET", "/v1/pages/12").call).key, 12u);
  EXPECT_EQ(std::get<ShowWhatIf>(routed("GET", "/v1/whatif?policy=las&since=5").call).policy,
            "las");
  for (const char* wrong :
       {"/v1/timeline?from=5&to=5", "/v1/timeline?from=-1", "/v1/timeline?to=nan",
        "/v1/timeline?run=x", "/v1/usage?points=0", "/v1/compare", "/v1/compare?runs=1,1",
        "/v1/compare?runs=1,2&baseline=3", "/v1/compare?runs=0,1,2,3,4,5,6,7,8", "/v1/pages/x",
        "/v1/pages/-1", "/v1/whatif?policy=a%20b"}) {
    EXPECT_EQ(refused("GET", wrong).status, 400) << wrong;
  }
}

TEST(Routes, ReadsWhatIsSearchedAndInWhichOrder) {
  const auto list = std::get<ListJobs>(
      routed("GET", "/v1/jobs?state=queued,failed&search=a%25%20b&sort=gpus&order=desc&counts=1")
          .call);
  EXPECT_EQ(list.state, "queued,failed");
  EXPECT_EQ(list.search, "a% b");
  EXPECT_EQ(list.sort, "gpus");
  EXPECT_TRUE(list.descending);
  EXPECT_TRUE(list.counts);
  EXPECT_NE(refused("GET", "/v1/jobs?state=queued,faild").error.message.find("'failed'"),
            std::string::npos);
  EXPECT_NE(refused("GET", "/v1/jobs?sort=gpu").error.message.find("'gpus'"), std::string::npos);
  EXPECT_EQ(refused("GET", "/v1/jobs?sort=id&order=up").status, 400);
  EXPECT_EQ(refused("GET", "/v1/jobs?order=asc").status, 400);
  EXPECT_EQ(refused("GET", "/v1/jobs?array=3&sort=id").status, 400);
  EXPECT_EQ(refused("GET", "/v1/jobs?counts=2").status, 400);
  EXPECT_EQ(refused("GET", "/v1/jobs?search=" + std::string(129, 'x')).status, 400);
}

TEST(Routes, GoesOnAfterTheLastEvent) {
  HttpRequest request;
  request.method = "GET";
  request.target = "/v1/jobs/4/events?after=3&follow=1";
  request.last_event_id = "17";
  const auto found = find_route(request);
  const auto& events = std::get<ListEvents>(std::get<Routed>(found).call);
  EXPECT_EQ(events.after, 17u);
  EXPECT_EQ(events.job, "4");
  for (const char* wrong : {"-1", "x", "1 2", "99999999999999999999"}) {
    request.last_event_id = wrong;
    EXPECT_TRUE(std::holds_alternative<Problem>(find_route(request))) << wrong;
  }
}

TEST(Routes, ReadsASubmit) {
  HttpRequest request;
  request.method = "POST";
  request.target = "/v1/jobs";
  request.content_type = "Application/JSON";
  request.body = R"({"command":["true"],"gpus":2})";
  request.idempotency_key = "k-1";
  const auto found = find_route(request);
  const auto& submit = std::get<SubmitJob>(std::get<Routed>(found).call);
  EXPECT_EQ(submit.request.gpus, 2);
  EXPECT_EQ(submit.key, "k-1");
  request.idempotency_key = "has blanks";
  EXPECT_EQ(std::get<Problem>(find_route(request)).status, 400);
  request.idempotency_key = std::string(129, 'k');
  EXPECT_EQ(std::get<Problem>(find_route(request)).status, 400);
  request.idempotency_key.clear();
  for (const char* type : {"", "text/plain", "application/x-www-form-urlencoded"}) {
    request.content_type = type;
    EXPECT_EQ(std::get<Problem>(find_route(request)).status, 415) << type;
  }
}

TEST(Routes, ReadsADrainWithAnEnd) {
  HttpRequest request;
  request.method = "POST";
  request.target = "/v1/nodes/n1/drain";
  request.content_type = "application/json";
  const auto until = [&](const std::string& body) {
    request.body = body;
    return std::get<DrainNode>(std::get<Routed>(find_route(request)).call).until;
  };
  EXPECT_EQ(until(R"({"until":1790000000})"), 1'790'000'000);
  EXPECT_FALSE(until("{}"));
  EXPECT_FALSE(until(""));
  for (const char* wrong : {R"({"until":-1})", R"({"until":"18:40"})", R"({"until":1.5})",
                            R"({"until":18446744073709551615})", R"({"end":1})", "[1]", "{"}) {
    request.body = wrong;
    EXPECT_EQ(std::get<Problem>(find_route(request)).status, 400) << wrong;
  }
  request.target = "/v1/nodes/n1/undrain";
  request.body = R"({"until":1790000000})";
  EXPECT_EQ(std::get<Problem>(find_route(request)).status, 400);
}

TEST(Routes, RefusesWhatItDoesNotKnow) {
  EXPECT_EQ(refused("GET", "/").status, 404);
  EXPECT_EQ(refused("GET", "/v1").status, 404);
  EXPECT_EQ(refused("GET", "/v1/jobs/").status, 400);
  EXPECT_EQ(refused("GET", "/v1/jobs/1/").status, 404);
  EXPECT_EQ(refused("GET", "//v1/jobs").status, 404);
  EXPECT_EQ(refused("GET", "/v1/nodes/../jobs").status, 404);
  EXPECT_EQ(refused("GET", "/V1/jobs").status, 404);
  EXPECT_EQ(refused("GET", "v1/jobs").status, 400);
  EXPECT_EQ(refused("GET", "http://h/v1/jobs").status, 400);
  EXPECT_EQ(refused("OPTIONS", "*").status, 400);
  EXPECT_EQ(refused("GET", "/v1/jobs/1/stop").status, 404);
  EXPECT_EQ(refused("GET", "/v1/jobs?limit=1001").status, 400);
  EXPECT_EQ(refused("GET", "/v1/jobs?limit=1&limit=1").status, 400);
  EXPECT_EQ(refused("GET", "/v1/jobs?limit").status, 400);
  EXPECT_EQ(refused("GET", "/v1/jobs?user=a%20b").status, 400);
  EXPECT_EQ(refused("GET", "/v1/nodes?x=1").status, 400);
  EXPECT_EQ(refused("GET", "/v1/jobs/1/log?limit=99999999").status, 400);
  EXPECT_EQ(refused("GET", "/v1/jobs/1/log?follow=1&limit=1").status, 400);
  EXPECT_EQ(refused("HEAD", "/v1/events?follow=1").status, 400);
  EXPECT_EQ(refused("GET", "/v1/nodes", "{}").status, 400);
  EXPECT_EQ(refused("POST", "/v1/jobs/1/cancel", "{\"x\":1}").status, 400);
  EXPECT_EQ(refused("GET", "/" + std::string(3'000, 'a')).status, 400);
}

TEST(Routes, NamesTheNearest) {
  EXPECT_NE(refused("GET", "/v1/jobs?stat=all").error.message.find("'state'"), std::string::npos);
  EXPECT_NE(refused("GET", "/v1/jobs?state=runing").error.message.find("'running'"),
            std::string::npos);
}

TEST(Routes, TakesNoTricksForIdsAndNames) {
  for (const char* id : {"..", "%2e%2e", "1%2F2", "a", "1%00", "-1", "1.5", "%31x"}) {
    EXPECT_EQ(refused("GET", std::string("/v1/jobs/") + id).status, 400) << id;
  }
  EXPECT_EQ(std::get<ShowJob>(routed("GET", "/v1/jobs/%31_2").call).job, "1_2");
  for (const char* name : {"a%20b", "%00", "%ff", "a%0d%0ab", "%zz", "%4", "a%22"}) {
    EXPECT_EQ(refused("POST", std::string("/v1/nodes/") + name + "/drain").status, 400) << name;
  }
}

TEST(Routes, SaysWhichMethodsThereAre) {
  const Problem jobs = refused("DELETE", "/v1/jobs");
  EXPECT_EQ(jobs.status, 405);
  EXPECT_EQ(jobs.allow, "POST, GET, HEAD");
  EXPECT_EQ(refused("GET", "/v1/jobs/1/cancel").allow, "POST");
  EXPECT_EQ(refused("POST", "/v1/nodes").allow, "GET, HEAD");
}

TEST(Routes, OnlyHealthIsOpenToAll) {
  EXPECT_TRUE(is_open_to_all("/healthz"));
  EXPECT_TRUE(is_open_to_all("/healthz?x"));
  for (const char* target : {"/healthz/", "/healthzz", "/metrics", "/v1/jobs?/healthz", ""}) {
    EXPECT_FALSE(is_open_to_all(target)) << target;
  }
}

}  // namespace
}  // namespace muster
