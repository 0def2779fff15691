#include "workload/generate/philly_like.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <queue>
#include <string>
#include <utility>
#include <vector>

#include "base/types/random.h"
#include "workload/generate/balanced_sampler.h"
#include "workload/generate/generator.h"
#include "workload/generate/philly_sources.h"

namespace muster {

namespace {

constexpr double kSourceSlack = 1000;  // In jobs; about a few sweeps.
constexpr double kLevelSlack = 40;     // Small, because there are only hundreds of large jobs.
constexpr std::size_t kStrata = 20;    // Kinds of the samplers of run time levels.
constexpr double kRepeats = 0.5;       // Share of campaigns that repeat the user's last experiment.
constexpr double kProbeJitter = 0.6;   // Standard deviation in seconds.
constexpr double kMaxJobsPerHour = 1e6;

// The future jobs of one submission script, or of a probe.
struct Campaign {
  double at = 0;           // Time of its next job, in seconds.
  std::int64_t order = 0;  // Number of the campaign, to break ties.
  std::int64_t left = 0;   // Number of remaining jobs.
  double gap = 0;          // Mean time between jobs, in seconds.
  bool probe = false;
  std::size_t run_times = 0;  // Class: index in philly_run_times().
  double level = 0;           // Mean quantile of the run times in their class.
  double spread = 0;          // Width of the range of quantiles around `level`.
  std::int32_t gpus = 1;
  std::uint32_t tenant = 0, user = 0, name = 0;
};

struct Later {
  bool operator()(const Campaign& a, const Campaign& b) const {
    return a.at != b.at ? a.at > b.at : a.order > b.order;
  }
};

// The last experiment of a user for one source.
struct Experiment {
  std::uint32_t name = 0;  // Index in Trace::names; 0: none yet.
  double level = 0;
};

double log_uniform(double low, double high, Random& random) {
  return low * portable_exp(random.uniform() * portable_log(high / low));
}

class Generator {
 public:
  explicit Generator(const PhillyLikeOptions& options);
  Trace run();

 private:
  void add_probes(double jobs_per_hour);
  void begin_campaign(double at);
  void choose_jobs(const PhillySource& source, Campaign& campaign);
  void choose_experiment(std::size_t source, Campaign& campaign);
  double draw_level(const PhillySource& source, std::int64_t jobs);
  void submit(const Campaign& campaign);

  PhillyLikeOptions options_;
  std::vector<PhillySource> sources_;
  BalancedSampler source_sampler_;
  std::vector<BalancedSampler> level_samplers_;  // By run time class.
  std::array<QuantileCurve, kPhillyRunTimeClasses> run_times_ = philly_run_times();
  std::vector<Experiment> experiments_;  // By source and user.
  std::int64_t experiments_begun_ = 0;
  std::priority_queue<Campaign, std::vector<Campaign>, Later> campaigns_;
  std::int64_t campaigns_begun_ = 0;
  Random seed_, source_draws_, size_draws_, user_draws_, level_draws_, gap_draws_, job_draws_;
  Trace trace_;
};

Generator::Generator(const PhillyLikeOptions& options)
    : options_(options),
      sources_(philly_sources(options.tenants)),
      source_sampler_(source_kinds(sources_), kSourceSlack),
      seed_(options.seed),
      source_draws_(seed_.fork("sources")),
      size_draws_(seed_.fork("sizes")),
      user_draws_(seed_.fork("users")),
      level_draws_(seed_.fork("levels")),
      gap_draws_(seed_.fork("gaps")),
      job_draws_(seed_.fork("jobs")) {
  for (std::size_t i = 0; i < kPhillyRunTimeClasses; ++i) {
    level_samplers_.emplace_back(std::vector<BalancedSampler::Kind>(kStrata, {1, 1}), kLevelSlack);
  }
  experiments_.resize(sources_.back().first_experiment + sources_.back().users());
  trace_.source = "generated";
  trace_.format = "muster";
  trace_.jobs.reserve(static_cast<std::size_t>(options.jobs));
}

// Scales the number of probes with the rate, so that their share of all jobs stays the same.
void Generator::add_probes(double jobs_per_hour) {
  Random starts = seed_.fork("probes");
  const auto count = std::max<std::int64_t>(1, std::llround(jobs_per_hour / kPhillyJobsPerHour));
  Campaign probe;
  probe.left = std::numeric_limits<std::int64_t>::max();
  probe.gap = 3600.0 * static_cast<double>(count) / (kPhillyProbeShare * jobs_per_hour);
  probe.probe = true;
  probe.run_times = kPhillyProbeClass;
  probe.spread = 1;  // The run times of probes are independent.
  probe.level = 0.5;
  const auto tenant = kPhillyProbeTenant % static_cast<std::size_t>(options_.tenants);
  probe.tenant = trace_.tenants.intern(fmt::format("t{}", tenant));
  probe.user = trace_.users.intern("prober");
  probe.name = trace_.names.intern("probe");
  for (std::int64_t i = 0; i < count; ++i) {
    probe.at = starts.uniform(0, probe.gap);
    probe.order = campaigns_begun_++;
    campaigns_.push(probe);
  }
}

double Generator::draw_level(const PhillySource& source, std::int64_t jobs) {
  std::array<double, kStrata> liking = {};
  for (std::size_t i = 0; i < kStrata; ++i) {
    const double middle = (static_cast<double>(i) + 0.5) / kStrata;
    liking[i] = 1 + source.figures->leaning * (2 * middle - 1);
  }
  BalancedSampler& sampler = level_samplers_[source.run_times];
  const std::size_t stratum = sampler.draw(level_draws_, liking);
  sampler.count(stratum, static_cast<double>(jobs));
  return (static_cast<double>(stratum) + level_draws_.uniform()) / kStrata;
}

void Generator::choose_experiment(std::size_t source, Campaign& campaign) {
  const PhillySource& of = sources_[source];
  const std::size_t user = zipf(of.users(), user_draws_);
  campaign.user = trace_.users.intern(fmt::format("u{}", of.first_user + user));
  Experiment& last = experiments_[of.first_experiment + user];
  if (last.name == 0 || user_draws_.uniform() >= kRepeats) {
    last.name = trace_.names.intern(fmt::format("e{}", experiments_begun_++));
    last.level = draw_level(of, campaign.left);
  } else {
    const auto stratum = static_cast<std::size_t>(last.level * kStrata);
    level_samplers_[of.run_times].count(std::min(stratum, kStrata - 1),
                                        static_cast<double>(campaign.left));
  }
  campaign.name = last.name;
  campaign.level = last.level;
}

void Generator::choose_jobs(const PhillySource& source, Campaign& campaign) {
  if (source.has_sweeps() && size_draws_.uniform() < source.figures->sweeps) {
    campaign.left =
        static_cast<std::int64_t>(log_uniform(kMinSweep, source.figures->largest, size_draws_));
    campaign.gap = source.figures->pace * portable_exp(kPaceSpread * gap_draws_.normal());
    return;
  }
  campaign.left = 1;
  while (size_draws_.uniform() < 1 - 1 / kSmallCampaign) ++campaign.left;
  campaign.gap = log_uniform(1, kLongestSmallPause, gap_draws_);
}

void Generator::begin_campaign(double at) {
  const std::size_t i = source_sampler_.draw(source_draws_);
  const PhillySource& source = sources_[i];
  Campaign campaign;
  campaign.at = at;
  campaign.order = campaigns_begun_++;
  campaign.run_times = source.run_times;
  campaign.spread = kCampaignSpread;
  campaign.gpus = source.gpus;
  campaign.tenant = trace_.tenants.intern(fmt::format("t{}", source.tenant));
  choose_jobs(source, campaign);
  choose_experiment(i, campaign);
  source_sampler_.count(i, static_cast<double>(campaign.left));
  campaigns_.push(campaign);
}

void Generator::submit(const Campaign& campaign) {
  TraceJob job;
  job.id = std::to_string(trace_.jobs.size());
  const double latest = kLongestDuration.in_seconds();
  job.submit =
      Instant::at(Duration::seconds(static_cast<std::int64_t>(std::min(campaign.at, latest))));
  const double level = reflect(campaign.level + campaign.spread * (job_draws_.uniform() - 0.5));
  job.duration = Duration::seconds(std::llround(run_times_[campaign.run_times].at(level)));
  job.gpus = campaign.gpus;
  job.user = campaign.user;
  job.tenant = campaign.tenant;
  job.name = campaign.name;
  trace_.jobs.push_back(std::move(job));
}

Trace Generator::run() {
  add_probes(options_.jobs_per_hour);
  const double others = (1 - kPhillyProbeShare) * options_.jobs_per_hour;
  RhythmicArrivals starts(philly_rhythm(), others / source_sampler_.mean_lot(),
                          seed_.fork("arrivals"));
  double next_start = starts.next();
  while (static_cast<std::int64_t>(trace_.jobs.size()) < options_.jobs) {
    if (next_start <= campaigns_.top().at) {
      begin_campaign(next_start);
      next_start = starts.next();
    }
    Campaign campaign = campaigns_.top();
    campaigns_.pop();
    submit(campaign);
    if (--campaign.left == 0) continue;
    campaign.at += campaign.probe ? campaign.gap + kProbeJitter * gap_draws_.normal()
                                  : gap_draws_.exponential(campaign.gap);
    campaigns_.push(campaign);
  }
  return std::move(trace_);
}

MaybeError check_rate(const PhillyLikeOptions& options) {
  const double rate = options.jobs_per_hour;
  if (!(rate > 0 && rate <= kMaxJobsPerHour)) {
    return Error{fmt::format("rate: must be above 0 and at most {} jobs per hour: '{}'",
                             kMaxJobsPerHour, rate)};
  }
  // The length of a trace varies, because it may have a few large campaigns more or less.
  const double most_hours = 1.5 * static_cast<double>(options.jobs) + 10'000;
  const double least = most_hours * 3600 / kLongestDuration.in_seconds();
  if (rate >= least) return std::nullopt;
  return Error{fmt::format("rate: too low for {} jobs: '{}'; use at least {:.2g} jobs per hour",
                           options.jobs, rate, least * 1.05)};
}

}  // namespace

double rate_for_load(double gpus) { return gpus / philly_gpu_hours(); }

MaybeError check_options(const PhillyLikeOptions& options) {
  if (options.jobs < 1 || options.jobs > kMaxGeneratedJobs) {
    return Error{fmt::format("jobs: must be 1 to {}: '{}'", kMaxGeneratedJobs, options.jobs)};
  }
  if (options.tenants < 1 || options.tenants > kMaxPhillyTenants) {
    return Error{fmt::format("tenants: must be 1 to {}: '{}'", kMaxPhillyTenants, options.tenants)};
  }
  return check_rate(options);
}

Result<Trace> generate_philly_like(const PhillyLikeOptions& options) {
  if (const MaybeError refusal = check_options(options)) return *refusal;
  return Generator(options).run();
}

}  // namespace muster
