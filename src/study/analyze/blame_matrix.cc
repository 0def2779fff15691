#include "study/analyze/blame_matrix.h"

#include <algorithm>
#include <tuple>

namespace muster {

namespace {

struct Change {
  Instant at;
  bool question = false;  // Sorts after all changes of holds at that instant.
  std::uint32_t party = 0;
  std::int64_t gpus = 0;  // Change of held GPUs. For a question the sign: -1 begins, 1 ends.
};

std::vector<Change> changes_of(const std::vector<PartyWait>& waits,
                               const std::vector<PartyHold>& holds) {
  std::vector<Change> changes;
  changes.reserve(2 * (waits.size() + holds.size()));
  for (const PartyHold& hold : holds) {
    changes.push_back({hold.begin, false, hold.party, hold.gpus});
    changes.push_back({hold.end, false, hold.party, -hold.gpus});
  }
  for (const PartyWait& wait : waits) {
    changes.push_back({wait.begin, true, wait.party, -1});
    changes.push_back({wait.end, true, wait.party, 1});
  }
  std::sort(changes.begin(), changes.end(), [](const Change& a, const Change& b) {
    return std::tie(a.at, a.question, a.party, a.gpus) <
           std::tie(b.at, b.question, b.party, b.gpus);
  });
  return changes;
}

}  // namespace

std::vector<std::vector<double>> waited_for(const std::vector<PartyWait>& waits,
                                            const std::vector<PartyHold>& holds,
                                            std::size_t parties) {
  std::vector<std::vector<double>> matrix(parties, std::vector<double>(parties + 1, 0));
  // Waiting time per column so far for a job that waits all the time. It is multiplied by the
  // number of waiting jobs, so a wait costs time only at its begin and end.
  std::vector<double> blamed(parties + 1, 0);
  std::vector<std::int64_t> held(parties, 0);
  std::int64_t all = 0;
  const std::vector<Change> changes = changes_of(waits, holds);
  Instant since = changes.empty() ? Instant() : changes.front().at;
  for (const Change& change : changes) {
    if (change.at != since) {
      const auto time = static_cast<double>((change.at - since).us());
      for (std::size_t i = 0; i < parties && all > 0; ++i) {
        blamed[i] += time * static_cast<double>(held[i]) / static_cast<double>(all);
      }
      if (all == 0) blamed[parties] += time;
      since = change.at;
    }
    if (!change.question) {
      held[change.party] += change.gpus;
      all += change.gpus;
      continue;
    }
    std::vector<double>& row = matrix[change.party];
    for (std::size_t i = 0; i <= parties; ++i) {
      row[i] += static_cast<double>(change.gpus) * blamed[i];
    }
  }
  return matrix;
}

}  // namespace muster
