#pragma once

// What each verb of the live manager does; see live_options.h. Exit status: 0 done, 1 refused by
// the manager or nobody there, 130 interrupted.

#include "cli/live/live_options.h"

namespace muster {

// 2 if the request is wrong in itself; with --wait or --follow, as the job ended.
int run_submit(const LiveOptions& options, Streams streams);
// 0 it would start now, 3 it would wait, 4 it can never run.
int run_plan(const LiveOptions& options, Streams streams);
// 2 if the request is wrong in itself, 1 if nothing could be measured.
int run_profile(const LiveOptions& options, Streams streams);
int run_why(const LiveOptions& options, Streams streams);
int run_eta(const LiveOptions& options, Streams streams);
int run_queue(const LiveOptions& options, Streams streams);
int run_status(const LiveOptions& options, Streams streams);
int run_nodes(const LiveOptions& options, Streams streams);
int run_tenants(const LiveOptions& options, Streams streams);
int run_logs(const LiveOptions& options, Streams streams);
int run_events(const LiveOptions& options, Streams streams);
// 124 if the time is up, as timeout(1) has it.
int run_wait(const LiveOptions& options, Streams streams);
int run_top(const LiveOptions& options, Streams streams);
int run_cancel(const LiveOptions& options, Streams streams);
int run_hold(const LiveOptions& options, Streams streams);
int run_release(const LiveOptions& options, Streams streams);
int run_retry(const LiveOptions& options, Streams streams);
int run_drain(const LiveOptions& options, Streams streams);
int run_undrain(const LiveOptions& options, Streams streams);
// Where the dashboard is, and a ticket for it.
int run_view_live(const LiveOptions& options, Streams streams);
// Calls nobody: works on the token file. 2 if a name is none.
int run_token(const LiveOptions& options, Streams streams);

}  // namespace muster
