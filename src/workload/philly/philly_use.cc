#include "workload/philly/philly_use.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "base/text/name_table.h"
#include "base/text/text.h"
#include "base/types/check.h"
#include "engine/model/topology.h"
#include "workload/history/held_index.h"
#include "workload/history/notes.h"
#include "workload/philly/use_rows.h"

namespace muster {

namespace {

constexpr std::int64_t kFull = 100 * kPercent;

Instant instant_of(Minute minute) {
  return Instant::at(Duration::seconds(std::int64_t{60} * minute));
}

// Reads all GPU utilization files.
class GpuPass {
 public:
  GpuPass(History& history, UseStudy& study) : history_(history), study_(study), index_(history) {
    MUSTER_CHECK(history.knows.hosts && history.knows.dates);
    for (const HistoryNode& node : history.nodes) nodes_.intern(node.name);
    seen_.resize(history.nodes.size(), 0);
    study.gpus = index_.cells();
    study.jobs.resize(history.jobs.size());
  }

  MaybeError read(ByteSource source);
  void finish();  // Call after the last file.

 private:
  static MaybeError check_header(UseRows& rows);
  void add_row(const UseRows& rows);
  void add_value(const HeldIndex::Holder* holder, std::int64_t use);
  void set_node_gpus();

  History& history_;
  UseStudy& study_;
  HeldIndex index_;
  NameTable nodes_;                 // Entry i + 1 is the name of node i.
  std::vector<std::int32_t> seen_;  // By node: highest index of a GPU with a value, plus 1.
  std::int64_t missing_ = 0;
  std::int64_t beyond_ = 0;
  std::int64_t rows_of_unknown_nodes_ = 0;
};

MaybeError GpuPass::check_header(UseRows& rows) {
  const Result<std::vector<std::string>> columns = rows.read_header();
  if (!columns.ok()) return columns.error();
  if (columns.value().size() > kMaxGpusPerNode) {
    return rows.fail(fmt::format("header: more than {} GPUs", kMaxGpusPerNode));
  };
  for (std::size_t i = 0; i < columns.value().size(); ++i) {
    const std::string wanted = fmt::format("gpu{}_util", i);
    if (columns.value()[i] != wanted) {
      return rows.fail(
          fmt::format("header: expected '{}', got {}", wanted, in_quotes(columns.value()[i])));
    }
  }
  return std::nullopt;
}

void GpuPass::add_value(const HeldIndex::Holder* holder, std::int64_t use) {
  if (holder == nullptr) {
    study_.unheld.add(use);
    return;
  }
  study_.gpus[holder->cell].use.add(use);
  JobUse& job = study_.jobs[holder->job];
  job.sum += use;
  ++job.gpu_minutes;
}

void GpuPass::add_row(const UseRows& rows) {
  const std::optional<std::uint32_t> entry = nodes_.find(rows.node());
  if (!entry) ++rows_of_unknown_nodes_;
  const std::vector<std::int64_t>& values = rows.values();
  for (std::size_t gpu = 0; gpu < values.size(); ++gpu) {
    const std::int64_t use = values[gpu];
    if (use == UseRows::kMissing) {
      ++missing_;
    } else if (use < 0 || use > kFull) {
      ++beyond_;
    } else if (!entry) {
      study_.unheld.add(use);
    } else {
      const std::uint32_t node = *entry - 1;
      seen_[node] = std::max(seen_[node], static_cast<std::int32_t>(gpu) + 1);
      add_value(index_.find(node, gpu, rows.minute()), use);
    }
  }
  const Instant time = instant_of(rows.minute());
  study_.first = std::min(study_.first, time);
  study_.last = std::max(study_.last, time);
}

// GPUs with a measured value or with jobs exist. GPUs that are only in the machine list may not.
void GpuPass::set_node_gpus() {
  std::vector<bool> used(history_.nodes.size(), false);
  for (const HostShare& share : history_.hosts) used[share.node] = true;
  std::int64_t changed = 0;
  for (std::size_t i = 0; i < seen_.size(); ++i) {
    std::int32_t& gpus = history_.nodes[i].gpus;
    const std::int32_t now = used[i] ? std::max(gpus, seen_[i]) : seen_[i];
    if (seen_[i] == 0 || now == gpus) continue;
    gpus = now;
    ++changed;
  }
  add_note(history_.notes, changed, "node", "whose number of GPUs comes from the utilization file");
}

void GpuPass::finish() {
  for (std::size_t i = 0; i < study_.jobs.size(); ++i) {
    const JobUse& use = study_.jobs[i];
    if (use.gpu_minutes == 0) continue;
    history_.jobs[i].gpu_use =
        static_cast<float>(static_cast<double>(use.sum) / static_cast<double>(use.gpu_minutes) /
                           static_cast<double>(kFull));
  }
  set_node_gpus();
  history_.knows.use = true;
  add_note(study_.notes, missing_, "GPU minute", "without a value");
  add_note(study_.notes, beyond_, "GPU minute", "skipped: utilization not from 0% to 100%");
  add_note(study_.notes, rows_of_unknown_nodes_, "row", "for nodes that are not in the log");
  add_note(study_.notes, index_.unused(), "attempt", "ignored: no start or no end");
  add_note(study_.notes, index_.conflicts(), "time",
           "when two attempts held the same GPU: the later one is used");
}

MaybeError GpuPass::read(ByteSource source) {
  UseRows rows(std::move(source));
  if (MaybeError refusal = check_header(rows)) return refusal;
  while (true) {
    const Result<bool> there = rows.next();
    if (!there.ok()) return there.error();
    if (!there.value()) return std::nullopt;
    add_row(rows);
  }
}

// Reads a file with one utilization per row. `use_of` computes it from the values of the row; it is
// negative if there is none.
template <class UseOf>
MaybeError add_node_use(ByteSource source, const std::vector<std::string>& columns,
                        UseHistogram& histogram, std::vector<std::string>& notes, UseOf use_of) {
  UseRows rows(std::move(source));
  const Result<std::vector<std::string>> header = rows.read_header();
  if (!header.ok()) return header.error();
  if (header.value() != columns) {
    return rows.fail(
        fmt::format("header: expected time, machine_id, {}", fmt::join(columns, ", ")));
  }
  std::int64_t missing = 0;
  std::int64_t beyond = 0;
  while (true) {
    const Result<bool> there = rows.next();
    if (!there.ok()) return there.error();
    if (!there.value()) break;
    const std::int64_t use = use_of(rows.values());
    if (use >= 0 && use <= kFull) {
      histogram.add(use);
    } else {
      ++(use == UseRows::kMissing ? missing : beyond);
    }
  }
  add_note(notes, missing, "node minute", "without a value of " + columns.front());
  add_note(notes, beyond, "node minute",
           fmt::format("of {} skipped: utilization not from 0% to 100%", columns.front()));
  return std::nullopt;
}

std::int64_t memory_use(const std::vector<std::int64_t>& values) {
  const std::int64_t total = values[0];
  const std::int64_t free = values[1];
  if (total == 0 || total == UseRows::kMissing || free == UseRows::kMissing) {
    return UseRows::kMissing;
  }
  if (total < 0 || free < 0 || free > total) return UseRows::kBeyond;
  return std::llround(static_cast<double>(kFull) * static_cast<double>(total - free) /
                      static_cast<double>(total));
}

}  // namespace

MaybeError add_gpu_use(std::vector<ByteSource> sources, History& history, UseStudy& study) {
  GpuPass pass(history, study);
  for (ByteSource& source : sources) {
    if (MaybeError refusal = pass.read(std::move(source))) return refusal;
  }
  pass.finish();
  return std::nullopt;
}

MaybeError add_cpu_use(ByteSource source, UseStudy& study) {
  return add_node_use(std::move(source), {"cpu_util"}, study.cpu, study.notes,
                      [](const std::vector<std::int64_t>& values) { return values[0]; });
}

MaybeError add_mem_use(ByteSource source, UseStudy& study) {
  return add_node_use(std::move(source), {"mem_total", "mem_free"}, study.memory, study.notes,
                      memory_use);
}

}  // namespace muster
