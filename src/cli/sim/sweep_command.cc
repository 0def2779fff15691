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
#include "sim/results/sweep.h"

namespace muster {

namespace {

constexpr int kMostThreads = 1024;
constexpr std::array<std::string_view, 2> kPlaces = {"here", "slurm"};

}  // namespace

void SweepCommand::add_to(Command app) {
  command_ = app.add_subcommand("sweep", "simulate every cell of a grid on all cores, or by Slurm");
  command_.add_option("grid", grid_, "YAML file: options of muster sim, each with its values");
  command_.add_option("--out", out_, "directory of results; going on finds finished cells there")
      .capture_default_str();
  command_
      .add_option("--threads", threads_,
                  "cells at a time (default: one a core; of a task of Slurm's: 1)")
      .check_range(1, kMostThreads);
  command_.add_option("--on", on_, "where: here, or slurm, whose nodes share the directory --out")
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
  add("--partition", order_.partition, "where to submit (default: Slurm's own)");
  add("--jobs-at-once", order_.jobs_at_once, "tasks at a time at the most (default: any number)")
      .check_range(1, 1'000'000);
  add("--mem", mem_, "memory for each cell at a time").capture_default_str();
  add("--time-limit", time_limit_, "of a task: 30m, 12h (default: the partition's)");
  add("--account", order_.account, "whose account to charge");
  add("--qos", order_.qos, "quality of service");
  add("--reservation", order_.reservation, "take the nodes of a reservation");

  const Option plan =
      command_.add_option("--plan", plan_, "do a part of what --on slurm planned, with --slice");
  const Option slice =
      command_.add_option("--slice", slice_, "which part: 3/12 is the third of twelve");
  for (const Option option : {plan, slice}) {
    option.group("What tasks of Slurm are started with");
  }
  plan.needs(slice);
  slice.needs(plan);
}

Result<SlurmOrder> SweepCommand::read_order() const {
  for (const Option option : slurm_options_) {
    if (on_ != "slurm" && option.count() > 0) {
      return Error{option.name() + ": only with --on slurm"};
    }
  }
  SlurmOrder order = order_;
  const Result<MemAmount> mem = parse_mem(mem_);
  if (!mem.ok()) return Error{"--mem: " + mem.error().message};
  if (mem.value().mib < 1 || mem.value() > kMostRequestMem) {
    return Error{"--mem: not from 1M to " + mem_text(kMostRequestMem) + ": " + in_quotes(mem_)};
  }
  order.mem_mib = mem.value().mib;
  order.cells_per_task = std::max(1, threads_);
  if (time_limit_.empty()) return order;
  const Result<Duration> limit = parse_duration(time_limit_);
  if (!limit.ok()) return Error{"--time-limit: " + limit.error().message};
  if (limit.value() == Duration()) return Error{"--time-limit: zero"};
  order.time_limit = limit.value();
  return order;
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
  ProgressBar bar("simulating", 2, Duration::seconds(1), "cells");
  std::size_t done = 0;
  const std::optional<CellFailure> failure =
      simulate_cells(grid, grid_, store, cells, threads_, [&] { bar.update(++done, missing); });
  bar.finish();
  return failure ? Refusal(failure->error) : std::nullopt;
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
  if (out_.empty()) return complain(streams, "--out: empty");
  if (const Refusal refusal = check(grid.value(), streams)) {
    return complain(streams, *refusal);
  }
  const Result<std::unique_ptr<CellStore>> store = CellStore::open(out_);
  if (!store.ok()) return complain(streams, store.error());
  std::vector<SweepCell> cells;
  if (const Refusal refusal = look_up(grid.value(), *store.value(), cells)) {
    return complain(streams, *refusal);
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
  std::optional<SlurmSweep> slurm;
  Refusal trouble;
  if (on_ == "slurm") {
    slurm.emplace(order.value(), plan_for(grid.value(), *store.value()), *store.value(), streams);
    trouble = slurm->run(cells);
  } else if (const Refusal refusal = simulate_here(grid.value(), *store.value(), cells)) {
    trouble = Error{refusal->message, ErrorCode::kSystem};
  }
  if (trouble) return complain(streams, *trouble);
  if (interrupted()) {
    streams.err << fmt::format(
        "note: interrupted with {} of {} cells done; the same command goes on from there\n",
        known(), cells.size());
    return kExitInterrupted;
  }
  const int status = gather(grid.value(), cells, streams);
  if (slurm && status == kExitDone) slurm->clean_up();
  return status;
}

SweepPlan SweepCommand::plan_for(const Grid& grid, const CellStore& store) const {
  SweepPlan plan;
  plan.file = grid_;
  std::error_code ignored;  // The store is there, and so are we.
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
  if (const Refusal refusal = write_sweep(out_, table)) {
    return complain(streams, *refusal);
  }
  streams.out << sweep_text(table, ink_for(1)) << std::flush;
  streams.err << fmt::format("note: written to {}/results.csv and {}/means.csv\n", out_, out_);
  return kExitDone;
}

}  // namespace muster
