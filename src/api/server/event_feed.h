#pragma once

// Feed for event requests with follow=1: past events, then new ones, each once and in order. A feed
// of one job ends when the job finishes. Connection creates it; ApiServer passes it new events.

#include <memory>

#include "api/port/service.h"
#include "api/server/feed.h"

namespace muster {

// `first` specifies the job and the number after which events start.
std::unique_ptr<Feed> follow_events(ResponseWriter& outlet, ListEvents first);

}  // namespace muster
