#pragma once

// Answers of GET /v1/jobs/ID/log: a part of a lease's output as it is, or all of it as it is
// written, as events. Made by Connection.

#include <cstdint>
#include <memory>
#include <string_view>

#include "api/port/service.h"
#include "api/server/feed.h"

namespace muster {

std::unique_ptr<Feed> log_page(Outlet& outlet, FindLog find, std::int64_t offset,
                               std::uint64_t limit);

// Each event is a JSON string; the last one is "event: end".
std::unique_ptr<Feed> follow_log(Outlet& outlet, FindLog find, std::int64_t offset);

// How much of it does not end amid a character of UTF-8 that may still be finished.
std::size_t whole_characters(std::string_view bytes);

}  // namespace muster
