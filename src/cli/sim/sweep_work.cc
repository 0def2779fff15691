#include "cli/sim/sweep_work.h"

#include <fmt/format.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <sstream>
#include <thread>

#include "cli/common/command.h"
#include "sim/results/summary_json.h"
#include "sim/run/simulator.h"

namespace muster {

namespace {

// Returns the summary as JSON, or nullopt if the run was interrupted.
Result<std::optional<std::string>> simulate_cell(const Grid& grid, std::size_t number,
                                                 const std::string& file) {
  const Result<std::unique_ptr<CellRequest>> request = CellRequest::make(grid, number, file);
  if (!request.ok()) return request.error();
  std::ostringstream notes;  // Discarded: SweepCommand::check() has printed them for one cell.
  const Result<std::unique_ptr<SimPlan>> plan = request.value()->sim().prepare(notes);
  if (!plan.ok()) return Error{fmt::format("cell {}: {}", number + 1, plan.error().message)};
  SimOptions options = plan.value()->runs.front();
  options.progress = [](std::size_t, std::size_t) { return !interrupted(); };
  const SimResult result =
      simulate(plan.value()->trace, plan.value()->topology, plan.value()->profiles, options);
  if (result.partial) return std::optional<std::string>();
  const Summary summary = summarize(result, plan.value()->topology, plan.value()->window);
  return std::optional(summary_json(summary, request.value()->sim().label(*plan.value(), options)));
}

}  // namespace

std::optional<CellFailure> simulate_cells(const Grid& grid, const std::string& file,
                                          const CellStore& store, std::vector<SweepCell>& cells,
                                          int threads, const std::function<void()>& done) {
  std::vector<SweepCell*> missing;
  for (SweepCell& cell : cells) {
    if (cell.result.empty()) missing.push_back(&cell);
  }
  std::mutex mutex;  // Guards `failure` and calls of done().
  std::optional<CellFailure> failure;
  std::atomic<bool> stop = false;
  const auto work = [&](std::size_t next) {
    if (stop || interrupted()) return;
    SweepCell& cell = *missing[next];
    Result<std::optional<std::string>> result = simulate_cell(grid, cell.number, file);
    MaybeError failed;
    if (!result.ok()) {
      failed = result.error();
    } else if (result.value()) {
      cell.result = std::move(*result.value());
      failed = store.save(cell.key, cell.result);
    }
    const std::scoped_lock lock(mutex);
    if (failed && !failure) failure = CellFailure{cell.key, *failed};
    if (failed) stop = true;
    done();
  };
  const int cores = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  tbb::task_arena arena(threads > 0 ? threads : cores);
  arena.execute(
      [&] { tbb::parallel_for(std::size_t{0}, missing.size(), work, tbb::simple_partitioner()); });
  return failure;
}

}  // namespace muster
