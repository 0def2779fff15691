#include "cli/sim/sweep_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <ostream>

#include "base/terminal/progress.h"
#include "base/text/text.h"
#include "cli/sim/sweep_plan.h"
#include "cli/sim/sweep_work.h"
#include "engine/model/job_request.h"
#include "sim/results/sweep_tables.h"

namespace muster {

namespace {

constexpr int kMaxThreads = 1024;
constexpr std::array<std::string_view, 2> kPlaces = {"here", "slurm"};

}  // namespace

void SweepCommand::add_to(Command app) {
  command_ = app.add_subcommand("sweep", "simulate every cell of a grid, on all cores or on Slurm");
  command_.add_option("grid", grid_, "YAML file: options of muster sim and their values");
  command_
      .add_option("--out", out_,
                  "directory for results; a repeated sweep reuses the cells finished there")
      .capture_default_str();
  command_
      .add_option("--threads", threads_,
                  "cells at a time (default: one per core; with --on slurm: 1 per task)")
      .check_range(1, kMaxThreads);
  command_.add_option("--on", on_, "where to run: here, or slurm; its nodes must share --out")
      .capture_default_str()
      .check([](const std::string& text) {
        const bool known =
            std::find(std::begin(kPlaces), std::end(kPlaces), text) != std::end(kPlaces);
        return known ? "" : "unknown place " + in_quotes(text) + suggestion(text, kPlaces);
      });
  add_slurm_options();
  command_.footer(
      "Example: grid.yaml with\n"
      "  sim:\n"
      "    cluster: 16x8\n"
      "    policy: [fifo, srtf]\n"
      "    mechanism: [proportional, tune]\n"
      "    seed: 1-5\n"
      "then\n"
      "  muster sweep grid.yaml --out results\n"
      "or, with Slurm and a directory that its nodes share,\n"
      "  muster sweep grid.yaml --out /home/ann/results --on slurm --partition cpu");
}

void SweepCommand::add_slurm_options() {
  const auto add = [&](const char* name, auto& value, const char* what) {
    const Option option = command_.add_option(name, value, what);
    option.group("With --on slurm");
    slurm_options_.push_back(option);
    return option;
  };
  add("--partition", order_.partition, "Slurm partition (default: the default partition)");
  add("--jobs-at-once", order_.jobs_at_once, "maximum number of running tasks (default: no limit)")
      .check_range(1, 1'000'000);
  add("--mem", mem_, "memory per cell that runs at the same time").capture_default_str();
  add("--time-limit", time_limit_,
      "time limit per task: 30m, 12h (default: that of the partition)");
  add("--account", order_.account, "Slurm account to charge");
  add("--qos", order_.qos, "Slurm quality of service");
  add("--reservation", order_.reservation, "Slurm reservation to use");

  const Option plan =
      command_.add_option("--plan", plan_, "plan of a sweep with --on slurm; requires --slice");
  const Option slice =
      command_.add_option("--slice", slice_, "part of the plan: 3/12 is the third of twelve");
  for (const Option option : {plan, slice}) {
    option.group("Internal: set by the tasks in Slurm");
  }
  plan.needs(slice);
  slice.needs(plan);
}

Result<SlurmOrder> SweepCommand::read_order() const {
  for (const Option option : slurm_options_) {
    if (on_ != "slurm" && option.count() > 0) {
      return Error{option.name() + ": requires --on slurm"};
    }
  }
  SlurmOrder order = order_;
  const Result<MemAmount> mem = parse_mem(mem_);
  if (!mem.ok()) return Error{"--mem: " + mem.error().message};
  if (mem.value().mib < 1 || mem.value() > kMaxRequestMem) {
    return Error{"--mem: must be from 1M to " + mem_text(kMaxRequestMem) + ": " + in_quotes(mem_)};
  }
  order.mem_mib = mem.value().mib;
  order.cells_per_task = std::max(1, threads_);
  if (time_limit_.empty()) return order;
  const Result<Duration> limit = parse_duration(time_limit_);
  if (!limit.ok()) return Error{"--time-limit: " + limit.error().message};
  if (limit.value() == Duration()) return Error{"--time-limit: must be positive"};
  order.time_limit = limit.value();
  return order;
}

// Checks the options of every cell and the files of the first one before the sweep starts, because
// a sweep may take hours.
MaybeError SweepCommand::check(const Grid& grid, Streams streams) const {
  for (std::size_t i = 0; i < grid.cells(); ++i) {
    const Result<std::unique_ptr<CellRequest>> request = CellRequest::make(grid, i, grid_);
    if (!request.ok()) return request.error();
    if (i > 0) continue;
    const Result<std::unique_ptr<SimPlan>> plan = request.value()->sim().prepare(streams.err);
    if (!plan.ok()) return Error{fmt::format("{}: cell 1: {}", grid_, plan.error().message)};
  }
  return std::nullopt;
}

MaybeError SweepCommand::look_up(const Grid& grid, CellStore& store,
                                 std::vector<SweepCell>& cells) const {
  for (std::size_t i = 0; i < grid.cells(); ++i) {
    const Result<std::string> key = store.key(grid, i);
    if (!key.ok()) return key.error();
    cells.push_back({i, key.value(), store.find(key.value()).value_or("")});
  }
  return std::nullopt;
}

MaybeError SweepCommand::simulate_here(const Grid& grid, const CellStore& store,
                                       std::vector<SweepCell>& cells) const {
  const auto missing = static_cast<std::size_t>(std::count_if(
      cells.begin(), cells.end(), [](const SweepCell& cell) { return cell.result.empty(); }));
  ProgressBar bar("simulating", 2, Duration::seconds(1), "cells");
  std::size_t done = 0;
  const std::optional<CellFailure> failure =
      simulate_cells(grid, grid_, store, cells, threads_, [&] { bar.update(++done, missing); });
  bar.finish();
  return failure ? MaybeError(failure->error) : std::nullopt;
}

int SweepCommand::run_task(Streams streams) const {
  const Result<Slice> slice = parse_slice(slice_);
  if (!slice.ok()) return complain(streams, slice.error());
  return run_slice(plan_, slice.value(), threads_, streams);
}

int SweepCommand::run(Streams streams) {
  if (!plan_.empty()) return run_task(streams);
  if (grid_.empty()) return complain(streams, "grid is required; see 'muster sweep --help'");
  const Result<SlurmOrder> order = read_order();
  if (!order.ok()) return complain(streams, order.error());
  const Result<Grid> grid = read_grid(grid_);
  if (!grid.ok()) return complain(streams, grid.error());
  if (out_.empty()) return complain(streams, "--out: must not be empty");
  if (const MaybeError refusal = check(grid.value(), streams)) {
    return complain(streams, *refusal);
  }
  const Result<std::unique_ptr<CellStore>> store = CellStore::open(out_);
  if (!store.ok()) return complain(streams, store.error());
  std::vector<SweepCell> cells;
  if (const MaybeError refusal = look_up(grid.value(), *store.value(), cells)) {
    return complain(streams, *refusal);
  }
  const auto known = [&] {
    return std::count_if(cells.begin(), cells.end(),
                         [](const SweepCell& cell) { return !cell.result.empty(); });
  };
  const auto before = known();
  if (before > 0) {
    streams.err << fmt::format("note: {} of {} cells were already finished\n", before,
                               cells.size());
  }
  catch_interrupts();
  std::optional<SlurmSweep> slurm;
  MaybeError trouble;
  if (on_ == "slurm") {
    slurm.emplace(order.value(), plan_for(grid.value(), *store.value()), *store.value(), streams);
    trouble = slurm->run(cells);
  } else if (const MaybeError refusal = simulate_here(grid.value(), *store.value(), cells)) {
    trouble = Error{refusal->message, ErrorCode::kSystem};
  }
  if (trouble) return complain(streams, *trouble);
  if (interrupted()) {
    streams.err << fmt::format(
        "note: interrupted with {} of {} cells finished; repeat the command to resume\n", known(),
        cells.size());
    return kExitInterrupted;
  }
  const int status = gather(grid.value(), cells, streams);
  if (slurm && status == kExitDone) slurm->clean_up();
  return status;
}

SweepPlan SweepCommand::plan_for(const Grid& grid, const CellStore& store) const {
  SweepPlan plan;
  plan.file = grid_;
  std::error_code ignored;  // The store has created the directory.
  plan.cwd = std::filesystem::current_path(ignored).string();
  plan.out = std::filesystem::canonical(out_, ignored).string();
  plan.grid = grid;
  plan.inputs = store.inputs();
  return plan;
}

int SweepCommand::gather(const Grid& grid, std::vector<SweepCell>& cells, Streams streams) const {
  SweepTable table;
  for (const GridAxis& axis : grid.axes) table.axes.push_back(axis.option);
  for (SweepCell& cell : cells) {
    const std::vector<std::string_view> values = grid.cell(cell.number);
    table.rows.push_back({{values.begin(), values.end()}, std::move(cell.result)});
  }
  if (const MaybeError refusal = write_sweep(out_, table)) {
    return complain(streams, *refusal);
  }
  streams.out << sweep_text(table, color_mode_for(1)) << std::flush;
  streams.err << fmt::format("note: written to {}/results.csv and {}/means.csv\n", out_, out_);
  return kExitDone;
}

}  // namespace muster
