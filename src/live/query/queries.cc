#include "live/query/queries.h"

#include <nlohmann/json.hpp>
#include <type_traits>
#include <utility>
#include <variant>

#include "live/views/answers.h"
#include "live/views/parts_view.h"

namespace muster {

// Reads that Queries::Now does not answer: they need a worker, or are for runs opened from files.
template <class C, class... Others>
constexpr bool kIsOneOf = (std::is_same_v<C, Others> || ...);
template <class C>
constexpr bool kNotNow = kIsOneOf<C, ExplainJob, PlanJob, ShowTimeline, ShowUsage, ShowWhatIf,
                                  ListRuns, CompareRuns, ShowPage, ListAudit>;

// Answers on this thread. A new read without an overload does not compile.
struct Queries::Now {
  Queries& queries;
  const Caller& caller;

  Answer operator()(const ListJobs& call) const {
    return answer_of(queries.list_.list_now(caller, call));
  }
  Answer operator()(const ShowJob& call) const {
    return answer_of(queries.jobs_.show(caller, call));
  }
  Answer operator()(const FindLog& call) const {
    return answer_of(queries.jobs_.find_log(caller, call));
  }
  Answer operator()(const ListEvents& call) const {
    return answer_of(queries.jobs_.events(caller, call));
  }
  Answer operator()(const ShowWholeJob& call) const {
    return answer_of(queries.jobs_.page_now(caller, call));
  }
  Answer operator()(const ListNodes&) const { return queries.cluster_.nodes(caller); }
  Answer operator()(const ListTenants&) const { return queries.cluster_.tenants(); }
  Answer operator()(const ListProfiles&) const { return queries.cluster_.profiles(caller); }
  Answer operator()(const ListParts&) const { return json_answer(parts_view()); }
  Answer operator()(const ShowMetrics&) const {
    return queries.cluster_.metrics(queries.forecasts_.score());
  }
  Answer operator()(const ShowMe&) const { return queries.cluster_.me(caller); }
  Answer operator()(const ShowFleet&) const {
    return queries.cluster_.fleet(caller, queries.forecasts_.score());
  }
  Answer operator()(const ShowHealth&) const { return queries.cluster_.health(); }
  template <class C>
  requires(C::kInfo.writes || kNotNow<C>) Answer operator()(const C&) const {
    if (queries.cluster_.is_blocked()) return queries.cluster_.health();
    return error_answer({"not available on a live manager", ErrorCode::kNotFound});
  }
};

// Answers here or on a worker.
struct Queries::Later {
  Queries& queries;
  const Caller& caller;
  Done& done;

  void operator()(const ListJobs& call) const { queries.list_.list(caller, call, std::move(done)); }
  void operator()(const ShowWholeJob& call) const {
    queries.jobs_.page(caller, call, std::move(done));
  }
  void operator()(const ExplainJob& call) const {
    queries.forecasts_.explain(caller, call, std::move(done));
  }
  void operator()(const PlanJob& call) const {
    queries.forecasts_.plan(caller, call, std::move(done));
  }
  void operator()(const ShowTimeline& call) const {
    queries.past_.timeline(caller, call, std::move(done));
  }
  void operator()(const ShowUsage& call) const {
    queries.past_.usage(caller, call, std::move(done));
  }
  void operator()(const ShowWhatIf& call) const {
    queries.past_.what_if(caller, call, std::move(done));
  }
  void operator()(const ListAudit& call) const { queries.audit_.list(caller, call, done); }
  template <class Other>
  void operator()(const Other& call) const {
    done(Now{queries, caller}(call));
  }
};

Queries::Queries(const ReadContext& context, const QuerySettings& settings, JobReader worker_rows)
    : cluster_(context, settings.use),
      forecasts_(context),
      past_(context, settings.past),
      audit_(context, settings.past.home),
      jobs_(context, settings.files, lookups_),
      list_(context, forecasts_, lookups_, std::move(worker_rows)) {}

void Queries::answer(const Caller& caller, const Call& call, Done done) {
  std::visit(Later{*this, caller, done}, call);
}

Answer Queries::answer_now(const Caller& caller, const Call& call) {
  return std::visit(Now{*this, caller}, call);
}

}  // namespace muster
