#pragma once

// Predicts the work of jobs from the work of earlier jobs of the same user, name and size. The
// model is a nested random-effects model of the logarithm of the work: all jobs, user, name, size.
// A group with few jobs is shrunk towards the next wider group. A group remembers its latest jobs
// best, so that it follows changes.

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "base/types/random.h"
#include "base/types/time.h"
#include "engine/model/job_spec.h"

namespace muster {

class RunTimeModel {
 public:
  RunTimeModel();

  static constexpr int kLevels = 4;  // All jobs; user; user and name; user, name and size.
  using Key = std::tuple<std::int64_t, std::int64_t, std::int64_t>;  // User, name, size; -1 = any.

  // Records a job that ended after this much work. Amortized cost: a few look-ups.
  void learn(const JobSpec& spec, Duration work);
  bool empty() const { return learned_ == 0; }

  // Returns the median of the work left for a job that has done `done`. Deterministic.
  Duration likely(const JobSpec& spec, Duration done) const;

  // One sample of the unknown group means, from which the work of many jobs can be drawn. The jobs
  // of a group share the error of its mean. The model must outlive it.
  class Sample {
   public:
    Sample(const RunTimeModel& model, Random& random) : model_(model), random_(random) {}
    // Returns a random sample of the work left for a job that has done `done`.
    Duration left(const JobSpec& spec, Duration done);

   private:
    double mean(const JobSpec& spec, int level);
    double expected(const JobSpec& spec, const Key& key);  // The mean without the sampled error.

    const RunTimeModel& model_;
    Random& random_;
    std::array<std::map<Key, double>, kLevels> means_;
    std::map<Key, double> expected_;
  };

 private:
  // A Gaussian belief about the mean of a group, from the jobs in it only.
  struct Group {
    double precision = 0;
    double weighted = 0;        // Precision times mean.
    double count = 0;           // Innermost level only: jobs, recent ones count most,
    double sum = 0;             // and the sum of their logarithms.
    double sent_precision = 0;  // Received by the wider group.
    double sent_weighted = 0;
  };
  struct Belief {
    double mean = 0;
    double variance = 0;
  };
  using Groups = std::array<std::map<Key, Group>, kLevels>;

  static Key key_at(const JobSpec& spec, int level);
  Belief belief(const JobSpec& spec, int level) const;
  Belief combine(const Belief& wider, const JobSpec& spec, int level) const;
  void send(const Key& key, int level);
  void refit();
  // Values in order of arrival, and sorted.
  struct Values {
    std::deque<double> latest;
    std::vector<double> sorted;

    void add(double value, std::size_t kept);
    // Returns the value that this part of those above `least` do not exceed, or nullopt.
    std::optional<double> above(double least, double part) const;
  };
  // Returns the logarithm of the work that this part of the jobs above `least` do not exceed. The
  // jobs of the innermost group are preferred with a chance that grows with their number.
  double work_above(const Key& group, double mean, double shift, double least, double part,
                    double choice) const;

  Groups groups_;
  // Variance of the group means around the mean of the wider group, by level.
  std::array<double, kLevels> apart_ = {4, 0.5, 0.5, 0.1};
  double noise_ = 1;           // Variance of jobs around the mean of their group.
  double drift_ = 0;           // Mean error of the latest predictions.
  Values residuals_;           // Logarithms of the latest jobs minus the mean of their group.
  std::map<Key, Values> own_;  // Logarithms of the latest jobs of each innermost group.
  std::size_t learned_ = 0;
};

}  // namespace muster
