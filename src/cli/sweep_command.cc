#include "cli/sweep_command.h"

#include <fmt/format.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <ostream>
#include <sstream>
#include <thread>

#include "base/text.h"
#include "report/files.h"
#include "report/json.h"
#include "report/progress.h"
#include "report/sweep.h"
#include "sim/simulator.h"

namespace muster {

namespace {

constexpr int kMostThreads = 1024;

// Nothing when the run was interrupted.
Result<std::optional<std::string>> simulate_cell(const Grid& grid, std::size_t number,
                                                 const std::string& file) {
  const Result<std::unique_ptr<CellRequest>> request = CellRequest::make(grid, number, file);
  if (!request.ok()) return request.error();
  std::ostringstream notes;  // The same for most cells; shown once, by check().
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

void SweepCommand::add_to(CLI::App& app) {
  command_ = app.add_subcommand("sweep", "simulate every cell of a grid on all cores");
  command_->add_option("grid", grid_, "YAML file: options of muster sim, each with its values")
      ->required();
  command_->add_option("--out", out_, "directory of results; going on finds finished cells there")
      ->capture_default_str();
  command_->add_option("--threads", threads_, "cells at a time (default: one a core)")
      ->check(CLI::Range(1, kMostThreads));
  command_->footer(
      "Example: grid.yaml with\n"
      "  sim:\n"
      "    cluster: 16x8\n"
      "    policy: [fifo, srtf]\n"
      "    mechanism: [proportional, tune]\n"
      "    seed: 1-5\n"
      "then\n"
      "  muster sweep grid.yaml --out results");
}

// Before hours of work: whether every cell's options make sense, and the first one's files.
Refusal SweepCommand::check(const Grid& grid, Streams streams) const {
  for (std::size_t i = 0; i < grid.cells(); ++i) {
    const Result<std::unique_ptr<CellRequest>> request = CellRequest::make(grid, i, grid_);
    if (!request.ok()) return request.error();
    if (i > 0) continue;
    const Result<std::unique_ptr<SimPlan>> plan = request.value()->sim().prepare(streams.err);
    if (!plan.ok()) return Error{fmt::format("{}: cell 1: {}", grid_, plan.error().message)};
  }
  return std::nullopt;
}

Refusal SweepCommand::look_up(const Grid& grid, CellStore& store, std::vector<Cell>& cells) const {
  for (std::size_t i = 0; i < grid.cells(); ++i) {
    const Result<std::string> key = store.key(grid, i);
    if (!key.ok()) return key.error();
    cells.push_back({key.value(), store.find(key.value()).value_or("")});
  }
  return std::nullopt;
}

Refusal SweepCommand::simulate_missing(const Grid& grid, const CellStore& store,
                                       std::vector<Cell>& cells) const {
  std::vector<std::size_t> missing;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (cells[i].result.empty()) missing.push_back(i);
  }
  std::mutex mutex;  // Of the bar and the refusal.
  Refusal refusal;
  std::atomic<bool> stop = false;
  std::size_t done = 0;
  ProgressBar bar("cells");
  const auto work = [&](std::size_t next) {
    if (stop || interrupted()) return;
    Cell& cell = cells[missing[next]];
    Result<std::optional<std::string>> result = simulate_cell(grid, missing[next], grid_);
    Refusal failed;
    if (!result.ok()) {
      failed = result.error();
    } else if (result.value()) {
      cell.result = std::move(*result.value());
      failed = store.save(cell.key, cell.result);
    }
    const std::scoped_lock lock(mutex);
    if (failed && !refusal) refusal = failed;
    if (failed) stop = true;
    bar.update(++done, missing.size());
  };
  const int cores = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  tbb::task_arena arena(threads_ > 0 ? threads_ : cores);
  arena.execute(
      [&] { tbb::parallel_for(std::size_t{0}, missing.size(), work, tbb::simple_partitioner()); });
  bar.finish();
  return refusal;
}

int SweepCommand::run(Streams streams) {
  const Result<Grid> grid = read_grid(grid_);
  if (!grid.ok()) return complain(streams, grid.error().message);
  if (out_.empty()) return complain(streams, "--out: empty");
  if (const Refusal refusal = check(grid.value(), streams)) {
    return complain(streams, refusal->message);
  }
  const Result<std::unique_ptr<CellStore>> store = CellStore::open(out_);
  if (!store.ok()) return complain(streams, store.error().message);
  std::vector<Cell> cells;
  if (const Refusal refusal = look_up(grid.value(), *store.value(), cells)) {
    return complain(streams, refusal->message);
  }
  const auto known = [&] {
    return std::count_if(cells.begin(), cells.end(),
                         [](const Cell& cell) { return !cell.result.empty(); });
  };
  const auto before = known();
  if (before > 0) {
    streams.err << fmt::format("note: {} of {} cells were done before\n", before, cells.size());
  }
  catch_interrupts();
  if (const Refusal refusal = simulate_missing(grid.value(), *store.value(), cells)) {
    complain(streams, refusal->message);
    return kExitFailed;
  }
  if (interrupted()) {
    streams.err << fmt::format(
        "note: interrupted with {} of {} cells done; the same command goes on from there\n",
        known(), cells.size());
    return kExitInterrupted;
  }
  SweepTable table;
  for (const GridAxis& axis : grid.value().axes) table.axes.push_back(axis.option);
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const std::vector<std::string_view> values = grid.value().cell(i);
    table.rows.push_back({{values.begin(), values.end()}, std::move(cells[i].result)});
  }
  if (const Refusal refusal = write_sweep(out_, table)) {
    complain(streams, refusal->message);
    return kExitFailed;
  }
  streams.out << sweep_text(table, ink_for(1));
  streams.err << fmt::format("note: written to {}/results.csv and {}/means.csv\n", out_, out_);
  return kExitDone;
}

}  // namespace muster
