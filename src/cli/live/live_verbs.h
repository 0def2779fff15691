#pragma once

// One function per command for the live manager; see live_options.h. Exit status: 0 success, 1 the
// manager refused the request or is not running, 130 interrupted. Comments list other statuses.

#include "cli/live/live_options.h"

namespace muster {

// 2 if the request is invalid. With --wait or --follow: 0 if the job is done, 1 if it failed.
int run_submit(const LiveOptions& options, Streams streams);
// 0 if the job would start now, 3 if it would wait, 4 if it can never run.
int run_plan(const LiveOptions& options, Streams streams);
// 2 if the request is invalid, 1 if nothing could be measured.
int run_profile(const LiveOptions& options, Streams streams);
int run_why(const LiveOptions& options, Streams streams);
int run_eta(const LiveOptions& options, Streams streams);
int run_queue(const LiveOptions& options, Streams streams);
int run_status(const LiveOptions& options, Streams streams);
int run_nodes(const LiveOptions& options, Streams streams);
int run_tenants(const LiveOptions& options, Streams streams);
int run_logs(const LiveOptions& options, Streams streams);
int run_events(const LiveOptions& options, Streams streams);
// 124 after the timeout, like timeout(1).
int run_wait(const LiveOptions& options, Streams streams);
int run_top(const LiveOptions& options, Streams streams);
int run_cancel(const LiveOptions& options, Streams streams);
int run_hold(const LiveOptions& options, Streams streams);
int run_release(const LiveOptions& options, Streams streams);
int run_retry(const LiveOptions& options, Streams streams);
int run_drain(const LiveOptions& options, Streams streams);
int run_undrain(const LiveOptions& options, Streams streams);
// Prints the address of the dashboard, with a login ticket.
int run_view_live(const LiveOptions& options, Streams streams);
// The next three read or edit the token file, without calling the manager. 2 if a name is invalid.
int run_token(const LiveOptions& options, Streams streams);
int run_token_list(const LiveOptions& options, Streams streams);
int run_token_revoke(const LiveOptions& options, Streams streams);
int run_audit(const LiveOptions& options, Streams streams);
int run_logout(const LiveOptions& options, Streams streams);

}  // namespace muster
