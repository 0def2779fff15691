#pragma once

// Parsers for requests about the past: timeline, usage, comparison, pages, what-if. For routes.cc.

#include "api/port/routes.h"

namespace muster {

Result<Routed> read_timeline(const RequestTarget& target, const HttpRequest& request);
Result<Routed> read_usage(const RequestTarget& target, const HttpRequest& request);
Result<Routed> read_compare(const RequestTarget& target, const HttpRequest& request);
Result<Routed> read_page(const RequestTarget& target, const HttpRequest& request);
Result<Routed> read_what_if(const RequestTarget& target, const HttpRequest& request);

}  // namespace muster
