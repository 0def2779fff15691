#pragma once

// The addresses of the past, read: timelines, usage, runs side by side, what-ifs. For routes.cc.

#include "api/port/routes.h"

namespace muster {

Result<Routed> read_timeline(const Target& target, const HttpRequest& request);
Result<Routed> read_usage(const Target& target, const HttpRequest& request);
Result<Routed> read_compare(const Target& target, const HttpRequest& request);
Result<Routed> read_page(const Target& target, const HttpRequest& request);
Result<Routed> read_what_if(const Target& target, const HttpRequest& request);

}  // namespace muster
