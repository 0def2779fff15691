#include "engine/core/past_run_times.h"

namespace muster {

PastRunTimes::Key PastRunTimes::key_at(const JobSpec& spec, int level) {
  const std::int64_t user = level <= 1 ? spec.user.index() : -1;
  const std::int64_t name = level <= 0 ? spec.name.index() : -1;
  const std::int64_t size = level <= 2 ? spec.gpus : -1;
  return {user, name, size};
}

void PastRunTimes::add(const JobSpec& spec, Duration work) {
  for (int level = 0; level < kLevels; ++level) {
    Record& record = records_[key_at(spec, level)];
    if (record.latest.size() < kept_) {
      record.latest.push_back(work);
    } else {
      record.latest[record.next] = work;
      record.next = (record.next + 1) % kept_;
    }
  }
}

const std::vector<Duration>* PastRunTimes::find(const JobSpec& spec, int level) const {
  const auto found = records_.find(key_at(spec, level));
  return found == records_.end() ? nullptr : &found->second.latest;
}

}  // namespace muster
