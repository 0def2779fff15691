#pragma once

// Answers the dashboard's requests from files instead of from a live manager. `muster view` loads
// runs and pages (opened_views.h), starts an ApiServer for this service, and waits. Everything is
// loaded before the first call. A separate thread computes the answers.

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "api/port/service.h"
#include "api/port/timeline.h"
#include "engine/model/tenants.h"
#include "study/compare/loaded_runs.h"

namespace muster {

class Viewer final : public Service {
 public:
  explicit Viewer(std::string version) : version_(std::move(version)) {}
  ~Viewer() override;
  Viewer(const Viewer&) = delete;
  Viewer& operator=(const Viewer&) = delete;

  // `tenants` has the quotas, if known.
  void add_run(RunFiles run, std::optional<TenantTree> tenants = std::nullopt);
  // `page` comes from browser_page(). `kind` is "sweep" or "page".
  void add_page(std::string kind, std::string name, std::string about, std::string page);
  bool has_name(const std::string& name) const;

  void call(Caller caller, Call call, std::function<void(Answer)> done) override;
  void watch(std::function<void(Notes)>) override {}  // Loaded files never change.

 private:
  struct Opened {
    std::string kind, name, about;
    std::optional<RunFiles> run;
    std::optional<TenantTree> tenants;
    std::optional<LeaseTimeline> timeline;  // Computed on first use.
    std::string page;
  };
  struct Question {
    Caller caller;
    Call call;
    std::function<void(Answer)> done;
  };

  void work();
  // One overload for each call that CallInfo lists as answered from files.
  Answer on(const Caller& caller, const ShowMe& call) const;
  Answer on(const Caller& caller, const ShowHealth& call) const;
  Answer on(const Caller& caller, const ShowMetrics& call) const;
  Answer on(const Caller& caller, const ListRuns& call) const;
  Answer on(const Caller& caller, const ShowTimeline& call);
  Answer on(const Caller& caller, const ShowUsage& call);
  Answer on(const Caller& caller, const CompareRuns& call) const;
  Answer on(const Caller& caller, const ShowPage& call) const;
  // Returns the first run if `key` is empty; null if there is no such run.
  Opened* find_run(std::optional<std::size_t> key);
  const LeaseTimeline& timeline_of_opened(Opened& opened);

  std::string version_;
  std::vector<Opened> opened_;

  std::mutex mutex_;
  std::condition_variable woken_;
  std::deque<Question> questions_;  // Guarded by mutex_, like ending_.
  bool ending_ = false;
  std::thread thread_;  // Started by the first call.
};

}  // namespace muster
