#include "api/client/sse.h"

#include <gtest/gtest.h>

#include <tuple>
#include <vector>

namespace muster {
namespace {

using Seen = std::vector<std::tuple<std::string, std::string, std::string>>;

// The events of a stream that comes in pieces of `piece` bytes.
Seen events_of(std::string_view stream, std::size_t piece) {
  SseParser parser;
  Seen seen;
  for (std::size_t at = 0; at < stream.size(); at += piece) {
    const Result<bool> more = parser.take(stream.substr(at, piece), [&](const SseEvent& event) {
      seen.emplace_back(event.kind, event.data, event.id);
      return true;
    });
    EXPECT_TRUE(more.ok() && more.value());
  }
  return seen;
}

TEST(Sse, ReadsEventsHoweverTheyAreCut) {
  const std::string_view stream =
      ": hello\n\n"
      "id: 7\ndata: one\ndata: two\n\n"
      "data\n\n"
      "event: progress\r\ndata:{\"a\":1}\r\n\r\n"
      "data:  two blanks\rid: 9\r\r"
      "retry: 100\nunknown: field\n\n"
      "event: end\n\n"
      "data: not ended";
  const Seen expected = {{"message", "one\ntwo", "7"},
                         {"message", "", "7"},
                         {"progress", "{\"a\":1}", "7"},
                         {"message", " two blanks", "9"},
                         {"end", "", "9"}};
  for (std::size_t piece = 1; piece <= stream.size(); ++piece) {
    EXPECT_EQ(events_of(stream, piece), expected) << "in pieces of " << piece;
  }
}

TEST(Sse, EndsWhenItIsEnough) {
  SseParser parser;
  int events = 0;
  const Result<bool> more = parser.take("data: 1\n\ndata: 2\n\n", [&](const SseEvent&) {
    ++events;
    return false;
  });
  EXPECT_TRUE(more.ok() && !more.value());
  EXPECT_EQ(events, 1);
}

TEST(Sse, RefusesAnEventWithoutEnd) {
  SseParser parser;
  const std::string piece = "data: " + std::string(1U << 20U, 'x') + "\n";
  const auto take = [&] { return parser.take(piece, [](const SseEvent&) { return true; }); };
  int pieces = 0;
  while (take().ok() && pieces < 100) ++pieces;
  EXPECT_EQ(pieces, 15);
}

}  // namespace
}  // namespace muster
