#pragma once

// What the dashboard asks, answered from files instead of by a live manager: `muster view` opens
// runs and pages (open.h), puts an ApiServer before this, and waits. Everything is opened before
// the first call; answers come from one thread of its own.

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
#include "study/compare/run_files.h"

namespace muster {

class Viewer final : public Service {
 public:
  explicit Viewer(std::string version) : version_(std::move(version)) {}
  ~Viewer() override;
  Viewer(const Viewer&) = delete;
  Viewer& operator=(const Viewer&) = delete;

  // Quotas, where they are known.
  void add_run(RunFiles run, std::optional<TenantTree> tenants = std::nullopt);
  // As browser_page() makes it. `kind` is "sweep" or "page".
  void add_page(std::string kind, std::string name, std::string about, std::string page);
  bool has_name(const std::string& name) const;

  void call(Caller caller, Call call, std::function<void(Answer)> done) override;
  void watch(std::function<void(Notes)>) override {}  // Nothing ever happens here.

 private:
  struct Opened {
    std::string kind, name, about;
    std::optional<RunFiles> run;
    std::optional<TenantTree> tenants;
    std::optional<LeaseTimeline> timeline;  // Made when it is first looked at.
    std::string page;
  };
  struct Question {
    Caller caller;
    Call call;
    std::function<void(Answer)> done;
  };

  void work();
  // One overload for each call that CallInfo says is answered from files.
  Answer on(const Caller& caller, const ShowMe& call) const;
  Answer on(const Caller& caller, const ShowHealth& call) const;
  Answer on(const Caller& caller, const ShowMetrics& call) const;
  Answer on(const Caller& caller, const ListRuns& call) const;
  Answer on(const Caller& caller, const ShowTimeline& call);
  Answer on(const Caller& caller, const ShowUsage& call);
  Answer on(const Caller& caller, const CompareRuns& call) const;
  Answer on(const Caller& caller, const ShowPage& call) const;
  // The first run if none is named; null: no such run.
  Opened* find_run(std::optional<std::size_t> key);
  const LeaseTimeline& timeline_of_opened(Opened& opened);

  std::string version_;
  std::vector<Opened> opened_;

  std::mutex mutex_;
  std::condition_variable woken_;
  std::deque<Question> questions_;  // Guarded, as is the next.
  bool ending_ = false;
  std::thread thread_;  // From the first question on.
};

}  // namespace muster
