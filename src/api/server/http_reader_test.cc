#include "api/server/http_reader.h"

#include <gtest/gtest.h>

#include <functional>

namespace muster {
namespace {

using State = HttpReader::State;

// In pieces of every size: the result is the same.
void for_all_cuts(const std::string& bytes, const std::function<void(HttpReader&)>& check) {
  for (std::size_t piece = 1; piece <= bytes.size(); ++piece) {
    HttpReader reader({});
    for (std::size_t at = 0; at < bytes.size(); at += piece) reader.feed(bytes.substr(at, piece));
    check(reader);
  }
}

TEST(HttpReader, ReadsWhatTheServerLooksAt) {
  const std::string bytes =
      "POST /v1/jobs?x=1 HTTP/1.1\r\nhost: h:1\r\nORIGIN: o\r\nAuthorization: Bearer t\r\n"
      "Content-Type: application/json\r\nIdempotency-Key: k\r\nLast-Event-ID: 5\r\n"
      "Expect: 100-Continue\r\nContent-Length: 4\r\n\r\nbody";
  for_all_cuts(bytes, [](HttpReader& reader) {
    ASSERT_EQ(reader.state(), State::kWhole) << reader.trouble();
    const HttpRequest request = reader.take();
    EXPECT_EQ(request.method, "POST");
    EXPECT_EQ(request.target, "/v1/jobs?x=1");
    EXPECT_EQ(request.host, "h:1");
    EXPECT_EQ(request.origin, "o");
    EXPECT_EQ(request.authorization, "Bearer t");
    EXPECT_EQ(request.content_type, "application/json");
    EXPECT_EQ(request.idempotency_key, "k");
    EXPECT_EQ(request.last_event_id, "5");
    EXPECT_EQ(request.body, "body");
    EXPECT_TRUE(request.keep_alive);
    EXPECT_TRUE(request.expects_continue);
    reader.next();
    EXPECT_EQ(reader.state(), State::kHead);
    EXPECT_FALSE(reader.begun());
  });
}

TEST(HttpReader, KeepsWhatComesAfterARequest) {
  for_all_cuts("GET /a HTTP/1.0\r\n\r\nGET /b HTTP/1.1\r\n\r\nGET /c", [](HttpReader& reader) {
    ASSERT_EQ(reader.state(), State::kWhole);
    const HttpRequest first = reader.take();
    EXPECT_EQ(first.target, "/a");
    EXPECT_FALSE(first.keep_alive);
    reader.next();
    ASSERT_EQ(reader.state(), State::kWhole);
    EXPECT_EQ(reader.take().target, "/b");
    reader.next();
    EXPECT_EQ(reader.state(), State::kHead);
    EXPECT_TRUE(reader.begun());
  });
}

// Fields after a chunked body could otherwise name another caller than those before it.
TEST(HttpReader, PassesOverFieldsAfterTheBody) {
  const std::string bytes =
      "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n0\r\n"
      "Authorization: Bearer t\r\nHost: b\r\n\r\n";
  for_all_cuts(bytes, [](HttpReader& reader) {
    ASSERT_EQ(reader.state(), State::kWhole) << reader.trouble();
    const HttpRequest request = reader.take();
    EXPECT_EQ(request.host, "a");
    EXPECT_EQ(request.authorization, "");
    EXPECT_EQ(request.body, "abc");
  });
}

// Else what comes after the head would be read as the next request.
TEST(HttpReader, RefusesBodiesThatNobodyHereCanRead) {
  for (const char* coding : {"xchunked", "gzip", "identity", "chunked, gzip", "gzip, chunked",
                             "\"chunked\"", "chunked\r\nTransfer-Encoding: gzip"}) {
    const std::string bytes =
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: " + std::string(coding) +
        "\r\n\r\nGET /v1/me HTTP/1.1\r\nHost: a\r\n\r\n";
    for_all_cuts(bytes, [&](HttpReader& reader) {
      EXPECT_EQ(reader.state(), State::kBroken) << coding;
      EXPECT_TRUE(reader.status() == 501 || reader.status() == 400) << reader.status();
    });
  }
}

TEST(HttpReader, KeepsABoundedAmount) {
  const std::string chunked = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (const std::string& begin :
       {std::string("GET /"), std::string("GET / HTTP/1.1\r\nA: "),
        chunked + "3;x=", chunked + "0\r\nA: ", chunked + std::string(30, '0')}) {
    HttpReader reader({});
    reader.feed(begin);
    std::size_t fed = 0;
    while (reader.state() != State::kBroken && fed < 100'000) {
      reader.feed(std::string(1'000, '0'));
      fed += 1'000;
    }
    EXPECT_EQ(reader.state(), State::kBroken) << begin;
    EXPECT_LT(fed, 20'000u) << begin;
  }
  HttpReader body({4'096, 10});
  body.feed(chunked + "a\r\n0123456789\r\n");
  EXPECT_EQ(body.state(), State::kBody);
  body.feed("1\r\nx\r\n");
  EXPECT_EQ(body.state(), State::kBroken);
  EXPECT_EQ(body.status(), 413);
}

TEST(HttpReader, RefusesFieldsThatCannotComeTwice) {
  for (const char* name : {"Host", "Authorization", "Content-Type", "Idempotency-Key"}) {
    const std::string field = std::string(name) + ": a\r\n";
    HttpReader reader({});
    reader.feed("GET / HTTP/1.1\r\n" + field + field + "\r\n");
    EXPECT_EQ(reader.state(), State::kBroken) << name;
    EXPECT_EQ(reader.status(), 400);
  }
}

// The same result for input in pieces of any size.
TEST(HttpReader, TheLimitOfAHeadIsExact) {
  for (const std::size_t size : {199U, 200U, 201U, 260U}) {
    std::string head = "GET /v1/jobs HTTP/1.1\r\nHost: here\r\nX: ";
    head += std::string(size - head.size() - 4, 'x') + "\r\n\r\n";
    for (const std::size_t piece : {std::size_t{1}, std::size_t{7}, std::size_t{64}, head.size()}) {
      HttpReader reader({.header_bytes = 200, .body_bytes = 100});
      for (std::size_t at = 0; at < head.size(); at += piece) reader.feed(head.substr(at, piece));
      EXPECT_EQ(reader.state() == HttpReader::State::kWhole, size <= 200) << size << " " << piece;
    }
  }
}

}  // namespace
}  // namespace muster
