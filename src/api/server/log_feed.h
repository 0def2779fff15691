#pragma once

// Feeds for GET /v1/jobs/ID/log: a byte range of a lease's output, or a stream of events that
// follows the output while the job writes it. Connection creates them.

#include <cstdint>
#include <memory>
#include <string_view>

#include "api/port/service.h"
#include "api/server/feed.h"

namespace muster {

// Sends at most `limit` bytes from `offset` on, unchanged.
std::unique_ptr<Feed> log_page(ResponseWriter& outlet, FindLog find, std::int64_t offset,
                               std::uint64_t limit);

// Sends the output from `offset` on. Each event is a JSON string; the last one is "event: end".
std::unique_ptr<Feed> follow_log(ResponseWriter& outlet, FindLog find, std::int64_t offset);

// Returns the length of `bytes` without an incomplete UTF-8 character at the end.
std::size_t whole_characters(std::string_view bytes);

}  // namespace muster
