// Streams of events and logs, through the server.

#include <gtest/gtest.h>

#include <algorithm>

#include "api/server/log_feed.h"
#include "api/server/server.h"
#include "api/server/testing.h"

namespace muster {
namespace {

std::string event_json(std::uint64_t number, std::uint64_t job) {
  return "{\"number\":" + std::to_string(number) + ",\"job\":" + std::to_string(job) + "}";
}

Note note(std::uint64_t number, std::uint64_t job, const std::string& user = "ann",
          bool last = false) {
  return {number, job, user, last, event_json(number, job)};
}

// A manager with a history: what happened up to `newest`, on jobs 1 and 2 by turns.
struct PastService {
  std::uint64_t newest = 0;
  std::string state = "running";
  std::function<void(const Call&)> at_call;

  Answer operator()(const Caller&, const Call& call) {
    if (at_call) at_call(call);
    if (const auto* show = std::get_if<ShowJob>(&call)) {
      if (show->job != "1") return {404, R"({"error":"no such job"})", std::nullopt};
      return {200, R"({"id":1,"state":")" + state + "\"}", std::nullopt};
    }
    const auto& list = std::get<ListEvents>(call);
    std::string events;
    std::size_t count = 0;
    for (std::uint64_t number = list.after + 1; number <= newest && count < list.limit; ++number) {
      const std::uint64_t job = 1 + number % 2;
      if (!list.job.empty() && list.job != std::to_string(job)) continue;
      events += (events.empty() ? "" : ",") + event_json(number, job);
      ++count;
    }
    return {200, "{\"events\":[" + events + "]}", std::nullopt};
  }
};

Note next_note(PastService& past) {
  const std::uint64_t number = ++past.newest;
  return note(number, 1 + number % 2);
}

// The events from `first` to `last`, of one job or of both.
std::string stream_of(std::uint64_t first, std::uint64_t last, std::uint64_t only_job = 0) {
  std::string out;
  for (std::uint64_t number = first; number <= last; ++number) {
    const std::uint64_t job = 1 + number % 2;
    if (only_job != 0 && job != only_job) continue;
    out += "id: " + std::to_string(number) + "\ndata: " + event_json(number, job) + "\n\n";
  }
  return out;
}

// All up to the event of that number and with it.
std::string read_through(RawClient& client, std::uint64_t number) {
  std::string seen = client.read_until("id: " + std::to_string(number) + "\n");
  seen += client.read_until("\n\n");
  return seen;
}

constexpr const char* kEnd = "event: end\ndata: {}\n\n";

TEST(Events, AreHistoryThenNewsWithoutGapOrTwice) {
  auto past = std::make_shared<PastService>();
  past->newest = 1'000;
  FakeService* service = nullptr;
  // New events occur while the feed reads past events.
  past->at_call = [&](const Call&) {
    for (int i = 0; i < 3; ++i) service->tell({next_note(*past)});
  };
  ServerTest test([past](const Caller& caller, const Call& call) { return (*past)(caller, call); });
  service = &test.service;
  RawClient client = test.connect();
  client.send(get("/v1/events?follow=1&after=10"));
  EXPECT_NE(client.read_until("\r\n\r\n").find("Content-Type: text/event-stream"),
            std::string::npos);
  std::string seen = read_through(client, 1'015);  // Five pages, three more events at each.
  std::vector<Note> more;
  service->do_now([&] {
    for (int i = 0; i < 5; ++i) more.push_back(next_note(*past));
  });
  service->tell(more);
  seen += read_through(client, past->newest);
  EXPECT_TRUE(seen == stream_of(11, past->newest));
}

TEST(Events, GoOnAfterTheLastEventId) {
  auto past = std::make_shared<PastService>();
  past->newest = 9;
  ServerTest test([past](const Caller& caller, const Call& call) { return (*past)(caller, call); });
  RawClient client = test.connect();
  client.send(get("/v1/events?follow=1", "Last-Event-ID: 7\r\n"));
  client.read_until("\r\n\r\n");
  EXPECT_EQ(read_through(client, 9), stream_of(8, 9));
}

TEST(Events, OfAJobEndWithIt) {
  auto past = std::make_shared<PastService>();
  past->newest = 6;
  ServerTest test([past](const Caller& caller, const Call& call) { return (*past)(caller, call); });
  RawClient client = test.connect();
  client.send(get("/v1/jobs/1/events?follow=1"));
  client.read_until("\r\n\r\n");
  std::string seen = read_through(client, 6);
  test.service.tell({note(7, 2, "ann", true), note(8, 1)});
  test.service.tell({note(9, 2), note(10, 1, "ann", true)});
  test.service.tell({note(12, 1)});
  seen += client.read_all();
  EXPECT_EQ(seen, stream_of(1, 6, 1) + stream_of(8, 10, 1) + kEnd);
  EXPECT_TRUE(client.ended());
}

TEST(Events, OfAJobThatIsOverEndAtOnce) {
  auto past = std::make_shared<PastService>();
  past->newest = 600;
  past->state = "cancelled";
  ServerTest test([past](const Caller& caller, const Call& call) { return (*past)(caller, call); });
  RawClient client = test.connect();
  client.send(get("/v1/jobs/1/events?follow=1"));
  EXPECT_EQ(body_of(client.read_all()), stream_of(1, 600, 1) + kEnd);
  EXPECT_EQ(status_of(test.connect().ask(get("/v1/jobs/2/events?follow=1"))), 404);
}

// The last event is already in the history when the service reports it.
TEST(Events, OfAJobThatEndsBetweenTheQuestions) {
  auto past = std::make_shared<PastService>();
  past->newest = 4;
  FakeService* service = nullptr;
  past->at_call = [&](const Call& call) {
    if (!std::holds_alternative<ListEvents>(call) || past->newest > 4) return;
    past->newest = 6;
    service->tell({note(5, 2), note(6, 1, "ann", true)});
  };
  ServerTest test([past](const Caller& caller, const Call& call) { return (*past)(caller, call); });
  service = &test.service;
  RawClient client = test.connect();
  client.send(get("/v1/jobs/1/events?follow=1"));
  EXPECT_EQ(body_of(client.read_all()), stream_of(1, 6, 1) + kEnd);
}

TEST(Events, OfOthersAreForOperators) {
  auto past = std::make_shared<PastService>();
  const std::string token = make_token().value();
  ServerSettings settings;
  const Folder folder;
  folder.write("t", token_line(token, {.user = "ann", .name = "x", .is_operator = false}).value());
  settings.tcp_address = "127.0.0.1:0";
  settings.token_file = folder / "t";
  ServerTest test([past](const Caller& caller, const Call& call) { return (*past)(caller, call); },
                  settings);
  RawClient ann = RawClient::to_tcp(test.server->tcp_port());
  RawClient op = test.connect();
  ann.send(get("/v1/events?follow=1", "Authorization: Bearer " + token + "\r\n"));
  op.send(get("/v1/events?follow=1"));
  EXPECT_EQ(status_of(ann.read_until("\r\n\r\n")), 200);
  op.read_until("\r\n\r\n");
  test.service.tell({note(1, 2, "bob"), note(2, 1, "ann"), note(3, 0, ""), note(4, 1, "ann")});
  const std::string seen = ann.read_until("id: 4\n");
  EXPECT_EQ(seen.find("id: 1\n"), std::string::npos);
  EXPECT_NE(seen.find("id: 3\n"), std::string::npos) << "all users see events of nodes";
  EXPECT_NE(op.read_until("id: 4\n").find("id: 3\n"), std::string::npos);
}

TEST(Events, DropAClientThatDoesNotRead) {
  auto past = std::make_shared<PastService>();
  ServerSettings settings;
  settings.limits.queue_bytes = 64U << 10U;
  ServerTest test([past](const Caller& caller, const Call& call) { return (*past)(caller, call); },
                  settings);
  RawClient lazy = test.connect();
  RawClient busy = test.connect();
  for (RawClient* client : {&lazy, &busy}) {
    client->send(get("/v1/events?follow=1"));
    client->read_until("\r\n\r\n");
  }
  std::uint64_t number = 0;
  for (int i = 0; i < 2'000; ++i) {
    Note one = note(++number, 1);
    one.json = "\"" + std::string(1'000, 'x') + "\"";
    test.service.tell({one});
    busy.read_until("id: " + std::to_string(number) + "\n");
  }
  EXPECT_FALSE(busy.ended());
  const std::string got = lazy.read_all();
  EXPECT_TRUE(lazy.ended());
  EXPECT_LT(got.size(), 1'000'000u);
}

TEST(Events, ShowLifeWhileNothingHappens) {
  ServerSettings settings;
  settings.limits.heartbeat = Duration::micros(100'000);
  auto past = std::make_shared<PastService>();
  ServerTest test([past](const Caller& caller, const Call& call) { return (*past)(caller, call); },
                  settings);
  RawClient client = test.connect();
  client.send(get("/v1/events?follow=1"));
  client.read_until("\r\n\r\n");
  EXPECT_EQ(client.read_until(":\n\n:\n\n"), ":\n\n:\n\n");
}

// A log that the test writes while the server reads it.
class FakeLog {
 public:
  void append(const std::string& text) {
    const std::lock_guard lock(mutex_);
    text_ += text;
  }
  std::string from(std::uint64_t place, std::size_t max) const {
    const std::lock_guard lock(mutex_);
    return text_.substr(std::min<std::size_t>(place, text_.size()), max);
  }

 private:
  mutable std::mutex mutex_;
  std::string text_;
};

class FakeLogSource final : public LogSource {
 public:
  explicit FakeLogSource(std::shared_ptr<const FakeLog> log)
      : log_(std::move(log)), size_(log_->from(0, std::string::npos).size()) {}

  std::uint64_t size() const override { return size_; }
  std::uint64_t seek(std::int64_t offset) override {
    const auto size = static_cast<std::int64_t>(size_);
    at_ = static_cast<std::uint64_t>(
        std::clamp<std::int64_t>(offset < 0 ? size + offset : offset, 0, size));
    return at_;
  }
  std::string read(std::size_t max) override {
    std::string bytes = log_->from(at_, max);
    at_ += bytes.size();
    return bytes;
  }

 private:
  std::shared_ptr<const FakeLog> log_;
  std::uint64_t size_;
  std::uint64_t at_ = 0;
};

// A manager that knows one log.
struct LogService {
  std::shared_ptr<FakeLog> log = std::make_shared<FakeLog>();
  std::atomic<bool> over = false;

  Answer operator()(const Caller&, const Call& call) {
    const auto& find = std::get<FindLog>(call);
    if (find.job != "5") return {404, R"({"error":"no such job"})", std::nullopt};
    const auto open = [log = log] { return std::make_unique<FakeLogSource>(log); };
    return {200, "{}", LogPlace{open, 5, 2, over}};
  }
};

struct LogTest {
  explicit LogTest() {
    test = std::make_unique<ServerTest>(
        [one = service](const Caller& caller, const Call& call) { return (*one)(caller, call); });
  }
  void append(const std::string& text) const { service->log->append(text); }
  std::shared_ptr<LogService> service = std::make_shared<LogService>();
  std::unique_ptr<ServerTest> test;
};

TEST(Log, GivesThePartAskedFor) {
  LogTest log;
  std::string all = std::string("\xff\0binary", 8) + std::string(300'000, 'x') + "end";
  log.append(all);
  RawClient client = log.test->connect();
  const std::string whole = client.ask(get("/v1/jobs/5/log"));
  EXPECT_EQ(body_of(whole), all);
  EXPECT_NE(whole.find("Muster-Log-Size: " + std::to_string(all.size())), std::string::npos);
  EXPECT_NE(whole.find("Muster-Log-Over: false"), std::string::npos);
  EXPECT_EQ(body_of(client.ask(get("/v1/jobs/5/log?offset=-3"))), "end");
  EXPECT_EQ(body_of(client.ask(get("/v1/jobs/5/log?offset=2&limit=6"))), "binary");
  EXPECT_EQ(body_of(client.ask(get("/v1/jobs/5/log?offset=99999999"))), "");
  EXPECT_EQ(body_of(client.ask(get("/v1/jobs/5/log?limit=0"))), "");
  client.send("HEAD /v1/jobs/5/log HTTP/1.1\r\nHost: x\r\n\r\n" + get("/v1/jobs/5/log?offset=-1"));
  EXPECT_NE(client.read_until("\r\n\r\n").find("Content-Length: 300011"), std::string::npos);
  EXPECT_EQ(body_of(client.answer()), "d");
  EXPECT_EQ(status_of(client.ask(get("/v1/jobs/6/log"))), 404);
}

TEST(Log, IsFollowedUntilTheLeaseIsOver) {
  LogTest log;
  log.append("one\n");
  RawClient client = log.test->connect();
  client.send(get("/v1/jobs/5/log?follow=1"));
  client.read_until("\r\n\r\n");
  EXPECT_EQ(client.read_until("\n\n"), "data: \"one\\n\"\n\n");
  log.append("caf\xC3");
  EXPECT_EQ(client.read_until("\n\n"), "data: \"caf\"\n\n");
  log.append("\xA9\n");
  log.append("bad \xff byte\n\xE2");
  std::string rest = client.read_until("byte\\n\"\n\n");
  EXPECT_NE(rest.find("\xC3\xA9"), std::string::npos) << rest;
  EXPECT_NE(rest.find("bad \xEF\xBF\xBD byte"), std::string::npos) << rest;
  log.service->over = true;
  EXPECT_EQ(client.read_all(), "data: \"\xEF\xBF\xBD\"\n\n" + std::string(kEnd));
  EXPECT_TRUE(client.ended());
}

TEST(Log, OfALeaseThatIsOverEndsAtOnce) {
  LogTest log;
  log.append(std::string(200'000, 'y'));
  log.service->over = true;
  RawClient client = log.test->connect();
  client.send(get("/v1/jobs/5/log?follow=1&offset=-100000"));
  const std::string all = body_of(client.read_all());
  EXPECT_EQ(std::count(all.begin(), all.end(), 'y'), 100'000);
  EXPECT_TRUE(all.ends_with(kEnd));
}

TEST(LogFeed, CutsBetweenCharacters) {
  EXPECT_EQ(whole_characters(""), 0u);
  EXPECT_EQ(whole_characters("abc"), 3u);
  EXPECT_EQ(whole_characters("a\xC3"), 1u);
  EXPECT_EQ(whole_characters("a\xC3\xA9"), 3u);
  EXPECT_EQ(whole_characters("a\xE2\x82"), 1u);
  EXPECT_EQ(whole_characters("\xF0\x9F\x98"), 0u);
  EXPECT_EQ(whole_characters("\xF0\x9F\x98\x80"), 4u);
  EXPECT_EQ(whole_characters("\x80\x80\x80\x80"), 4u);  // Not UTF-8 anyway.
}

}  // namespace
}  // namespace muster
