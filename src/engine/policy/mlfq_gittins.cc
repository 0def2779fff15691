#include "engine/policy/mlfq_gittins.h"

namespace muster {

namespace {

// Two levels per queue: jobs inside a quantum, and jobs that compete for one.
constexpr std::int64_t kLevels = 2;

}  // namespace

MlfqGittins::MlfqGittins(const PolicyOptions& options)
    : Mlfq(options),
      history_(options.service,
               kLevels * static_cast<std::int64_t>(options.thresholds.size() + 1)) {
  for (const Duration threshold : options.thresholds) queues_.push_back({threshold.us(), {}});
  const bool only = queues_.empty();
  queues_.push_back({only ? options.gittins_quantum.us() : queues_.back().quantum, {}});
  for (Queue& queue : queues_) queue.of_new = history_.index(0, queue.quantum);
}

Rank MlfqGittins::rank(const JobFacts& job) const {
  const Quantum& quantum = quanta_[job.id];
  const GittinsIndex& of_new = queue(job.id).of_new;
  const bool inside = is_running(job.id) && !quantum.over;
  return rank_by_index(kLevels * queue_of(job.id) + (inside ? 0 : 1),
                       quantum.begin == 0 ? of_new : quantum.index, of_new);
}

void MlfqGittins::set_quantum(JobId job, std::int64_t begin) {
  quanta_[job] = {begin, history_.index(begin, queue(job).quantum), /*over=*/false};
  history_.set_waiting(job, begin > 0 && !is_running(job));
}

void MlfqGittins::end_quantum(const JobFacts& job) {
  set_quantum(job.id, attained(job));
  quanta_[job.id].over = true;
}

// Only for the last queue; in the others the threshold comes first.
void MlfqGittins::expect_end(const JobFacts& job) {
  if (!in_last_queue(job.id)) return;
  expect_review(job, quanta_[job.id].begin + queue(job.id).quantum - attained(job));
}

void MlfqGittins::submitted(const JobFacts& job) {
  Mlfq::submitted(job);
  if (!quanta_.contains(job.id)) quanta_.resize(std::size_t{job.id.index()} + 1);
  set_quantum(job.id, 0);
}

void MlfqGittins::started(const JobFacts& job) {
  Mlfq::started(job);
  history_.set_waiting(job.id, false);
  expect_end(job);
}

void MlfqGittins::stopped(const JobFacts& job) {
  Mlfq::stopped(job);
  set_quantum(job.id, attained(job));
}

void MlfqGittins::ended(const JobFacts& job, bool completed) {
  Mlfq::ended(job, completed);
  history_.set_waiting(job.id, false);
  if (completed) history_.completed(service(job));
}

void MlfqGittins::review(const JobFacts& job) {
  Quantum& quantum = quanta_[job.id];
  quantum.over = false;
  Mlfq::review(job);
  reviewed_.push_back(job.id);
  if (in_last_queue(job.id) && attained(job) - quantum.begin >= queue(job.id).quantum) {
    end_quantum(job);
  }
  expect_end(job);
}

void MlfqGittins::reviewed(Instant now, std::vector<JobId>& moved) {
  Mlfq::reviewed(now, moved);
  const std::size_t before = moved.size();
  if (!history_.renew(moved)) return;
  for (Queue& queue : queues_) queue.of_new = history_.index(0, queue.quantum);
  const auto renew_index = [this](JobId job) {
    quanta_[job].index = history_.index(quanta_[job].begin, queue(job).quantum);
  };
  for (const JobId job : reviewed_) renew_index(job);
  for (std::size_t i = before; i < moved.size(); ++i) renew_index(moved[i]);
}

}  // namespace muster
