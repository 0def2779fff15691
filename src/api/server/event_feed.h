#pragma once

// Answers of the addresses of events with follow=1: what happened, then what happens, each once
// and in order. Those of one job end with it. Made by Connection, fed by ApiServer's watch.

#include <memory>

#include "api/port/service.h"
#include "api/server/feed.h"

namespace muster {

// From what `first` asks for on.
std::unique_ptr<Feed> follow_events(Outlet& outlet, ListEvents first);

}  // namespace muster
