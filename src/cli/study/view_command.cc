#include "cli/study/view_command.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>
#include <utility>

#include "api/server/server.h"
#include "base/terminal/progress.h"
#include "base/types/version.h"
#include "cli/live/live_session.h"
#include "cli/live/live_verbs.h"
#include "cli/study/analyze_command.h"
#include "sim/results/summary_json.h"
#include "study/compare/opened_views.h"
#include "study/page/dashboard_page.h"
#include "study/past/study_history.h"
#include "study/past/what_if.h"

namespace muster {

namespace {

// Opens a live manager's past as a run of its own scheduler.
MaybeError open_live(const std::string& path, Viewer& viewer) {
  const Result<std::string> database = find_live_database(path);
  if (!database.ok()) return database.error();
  const Result<LivePast> past = read_live_past(database.value());
  if (!past.ok()) return bad_input(past.error());
  const LiveHistory& live = past.value().history;
  if (live.jobs.empty()) return Error{database.value() + ": no jobs yet"};
  Workload workload = as_workload(live);
  add_counts(past.value().era, workload.happened);
  const Summary summary = summarize(workload.happened, live.settings.topology);
  RunFiles run;
  run.name = view_name(path, viewer);
  run.summary = nlohmann::json::parse(summary_json(summary, label_of(live)));
  run.history = as_history(live);
  viewer.add_run(std::move(run), live.settings.tenants);
  return std::nullopt;
}

// Opens the page that `muster analyze` makes of `path`. For a live manager's state directory, also
// opens its past as a run.
MaybeError open_other(const std::string& path, Viewer& viewer, std::ostream& notes) {
  if (names_live_database(path)) {
    if (MaybeError refusal = open_live(path, viewer)) return refusal;
  }
  const Result<Page> page = analysis_of(path, notes);
  if (!page.ok()) return page.error();
  viewer.add_page("page", view_name(path, viewer), page.value().title, browser_page(page.value()));
  return std::nullopt;
}

}  // namespace

void ViewCommand::add_to(Command app) {
  command_ = app.add_subcommand(
      "view", "open the dashboard of the live manager, or of runs, sweeps and analyses");
  command_.add_option(
      "DIR|FILE", paths_,
      "output of muster sim --out, sweep or analyze; a directory with several of these; a trace or "
      "log; a live manager's state directory (default: the live manager's dashboard)");
  command_.add_option("--port", port_,
                      "port to serve on at 127.0.0.1 (default: 7071, or any free port)");
  command_.add_option("--server", server_, "address of the live manager (default: the local one)")
      .type_name("WHERE");
  command_.add_flag("--json", json_,
                    "live manager only: print address and ticket as a JSON object");
  command_.footer(
      "Without files, it prints the address of the live manager's dashboard, with a ticket that\n"
      "signs you in for twelve hours. Keep the address secret: it gives your rights to others.\n"
      "Example:\n"
      "  muster view\n"
      "  muster sim --policy fifo,srtf --round 300s --out runs && muster view runs");
}

int ViewCommand::show_live(Streams streams) const {
  LiveOptions options;
  options.server = server_;
  options.json = json_;
  return run_view_live(options, streams);
}

MaybeError ViewCommand::open_all(Viewer& viewer, Streams streams) const {
  const Result<std::vector<OpenedView>> found = find_views(paths_);
  if (!found.ok()) return found.error();
  ProgressBar bar("opening", STDERR_FILENO, Duration::seconds(1), "files");
  std::size_t done = 0;
  for (const OpenedView& one : found.value()) {
    bar.update(done++, found.value().size());
    MaybeError refusal = one.kind == ViewKind::kOther ? open_other(one.path, viewer, streams.err)
                                                      : open_view(one, viewer);
    if (refusal) return refusal;
  }
  return std::nullopt;
}

int ViewCommand::serve(Viewer& viewer, Streams streams) const {
  constexpr std::int64_t kMonth = 30 * 86'400;  // In seconds; longer than any viewing session.
  ServerSettings settings;
  settings.tcp_address = fmt::format("127.0.0.1:{}", port_);
  settings.or_any_port = command_.count("--port") == 0;
  settings.ticket_key = "";
  // Block the signals before the server and viewer threads start, so only sigwait() below gets
  // them.
  sigset_t ends;
  ::sigemptyset(&ends);
  ::sigaddset(&ends, SIGINT);
  ::sigaddset(&ends, SIGTERM);
  ::pthread_sigmask(SIG_BLOCK, &ends, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
  Result<std::unique_ptr<ApiServer>> server = ApiServer::open(settings, viewer);
  if (!server.ok() || server.value()->tcp_port() == 0) {
    return complain(
        streams,
        server.ok() ? Error{"cannot listen on " + server.value()->tcp_trouble(), ErrorCode::kSystem}
                    : server.error());
  }
  streams.out << server.value()->url_for(my_name(), kMonth) << std::endl;
  streams.err << "note: open the address in a browser; Ctrl-C stops the server\n";
  int which = 0;
  ::sigwait(&ends, &which);
  // A second signal ends the process immediately, without waiting for the current answer.
  ::pthread_sigmask(SIG_UNBLOCK, &ends, nullptr);
  server.value()->stop();
  return kExitDone;
}

int ViewCommand::run(Streams streams) {
  if (paths_.empty()) return show_live(streams);
  Viewer viewer{kMusterVersion};
  if (const MaybeError refusal = open_all(viewer, streams)) return complain(streams, *refusal);
  return serve(viewer, streams);
}

}  // namespace muster
