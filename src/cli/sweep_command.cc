#include "cli/sweep_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>

#include "cli/sweep_plan.h"
#include "cli/sweep_work.h"
#include "report/progress.h"
#include "report/sweep.h"

namespace muster {

namespace {

constexpr int kMostThreads = 1024;

}  // namespace

void SweepCommand::add_to(CLI::App& app) {
  command_ = app.add_subcommand("sweep", "simulate every cell of a grid on all cores");
  command_->add_option("grid", grid_, "YAML file: options of muster sim, each with its values");
  command_->add_option("--out", out_, "directory of results; going on finds finished cells there")
      ->capture_default_str();
  command_->add_option("--threads", threads_, "cells at a time (default: one a core)")
      ->check(CLI::Range(1, kMostThreads));
  CLI::Option* const plan =
      command_->add_option("--plan", plan_, "do a part of what --on slurm planned, with --slice");
  CLI::Option* const slice =
      command_->add_option("--slice", slice_, "which part: 3/12 is the third of twelve");
  for (CLI::Option* const option : {plan, slice}) {
    option->group("What tasks of Slurm are started with");
  }
  plan->needs(slice);
  slice->needs(plan);
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

Refusal SweepCommand::look_up(const Grid& grid, CellStore& store,
                              std::vector<SweepCell>& cells) const {
  for (std::size_t i = 0; i < grid.cells(); ++i) {
    const Result<std::string> key = store.key(grid, i);
    if (!key.ok()) return key.error();
    cells.push_back({i, key.value(), store.find(key.value()).value_or("")});
  }
  return std::nullopt;
}

Refusal SweepCommand::simulate_here(const Grid& grid, const CellStore& store,
                                    std::vector<SweepCell>& cells) const {
  const auto missing = static_cast<std::size_t>(std::count_if(
      cells.begin(), cells.end(), [](const SweepCell& cell) { return cell.result.empty(); }));
  ProgressBar bar("cells");
  std::size_t done = 0;
  const std::optional<CellFailure> failure =
      simulate_cells(grid, grid_, store, cells, threads_, [&] { bar.update(++done, missing); });
  bar.finish();
  return failure ? Refusal(failure->error) : std::nullopt;
}

int SweepCommand::run_task(Streams streams) const {
  const Result<Slice> slice = parse_slice(slice_);
  if (!slice.ok()) return complain(streams, slice.error().message);
  return run_slice(plan_, slice.value(), threads_, streams);
}

int SweepCommand::run(Streams streams) {
  if (!plan_.empty()) return run_task(streams);
  if (grid_.empty()) return complain(streams, "grid is required; see 'muster sweep --help'");
  const Result<Grid> grid = read_grid(grid_);
  if (!grid.ok()) return complain(streams, grid.error().message);
  if (out_.empty()) return complain(streams, "--out: empty");
  if (const Refusal refusal = check(grid.value(), streams)) {
    return complain(streams, refusal->message);
  }
  const Result<std::unique_ptr<CellStore>> store = CellStore::open(out_);
  if (!store.ok()) return complain(streams, store.error().message);
  std::vector<SweepCell> cells;
  if (const Refusal refusal = look_up(grid.value(), *store.value(), cells)) {
    return complain(streams, refusal->message);
  }
  const auto known = [&] {
    return std::count_if(cells.begin(), cells.end(),
                         [](const SweepCell& cell) { return !cell.result.empty(); });
  };
  const auto before = known();
  if (before > 0) {
    streams.err << fmt::format("note: {} of {} cells were done before\n", before, cells.size());
  }
  catch_interrupts();
  if (const Refusal refusal = simulate_here(grid.value(), *store.value(), cells)) {
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
