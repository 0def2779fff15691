#include "history/philly_use.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/text.h"
#include "history/held_index.h"
#include "history/notes.h"
#include "history/use_rows.h"

namespace muster {

namespace {

constexpr std::int64_t kFull = 100 * kPercent;
constexpr std::size_t kMostGpus = 64;

Instant instant_of(Minute minute) {
  return Instant::at(Duration::seconds(std::int64_t{60} * minute));
}

// A pass over one file of GPUs.
class GpuPass {
 public:
  GpuPass(ByteSource source, History& history, UseStudy& study)
      : rows_(std::move(source)), history_(history), study_(study), index_(history) {
    MUSTER_CHECK(history.knows.hosts && history.knows.dates);
    for (const Server& server : history.servers) servers_.intern(server.name);
    seen_.resize(history.servers.size(), 0);
    cells_ = index_.cells();
  }

  Refusal run();

 private:
  Refusal check_header();
  void add_row();
  void add_value(std::size_t server, std::size_t gpu, std::int64_t use);
  void finish();
  void set_server_gpus();
  void merge_cells();

  UseRows rows_;
  History& history_;
  UseStudy& study_;
  HeldIndex index_;
  NameTable servers_;               // Name i + 1 is that of server i.
  std::vector<std::int32_t> seen_;  // GPUs with a value, by the highest index.
  std::vector<UseCell> cells_;
  std::int64_t missing_ = 0;
  std::int64_t beyond_ = 0;
  std::int64_t rows_of_strangers_ = 0;
};

Refusal GpuPass::check_header() {
  const Result<std::vector<std::string>> columns = rows_.read_header();
  if (!columns.ok()) return columns.error();
  if (columns.value().size() > kMostGpus) return rows_.fail("header: more than 64 GPUs");
  for (std::size_t i = 0; i < columns.value().size(); ++i) {
    const std::string wanted = fmt::format("gpu{}_util", i);
    if (columns.value()[i] != wanted) {
      return rows_.fail(fmt::format("header: not '{}': {}", wanted, in_quotes(columns.value()[i])));
    }
  }
  return std::nullopt;
}

void GpuPass::add_value(std::size_t server, std::size_t gpu, std::int64_t use) {
  const HeldIndex::Holder* const holder = index_.find(server, gpu, rows_.minute());
  if (holder == nullptr) {
    study_.unheld.add(use);
    return;
  }
  cells_[holder->cell].use.add(use);
  JobUse& job = study_.jobs[holder->job];
  job.sum += use;
  ++job.gpu_minutes;
}

void GpuPass::add_row() {
  const std::optional<std::uint32_t> entry = servers_.find(rows_.server());
  if (!entry) ++rows_of_strangers_;
  const std::vector<std::int64_t>& values = rows_.values();
  for (std::size_t gpu = 0; gpu < values.size(); ++gpu) {
    const std::int64_t use = values[gpu];
    if (use == UseRows::kMissing) {
      ++missing_;
    } else if (use < 0 || use > kFull) {
      ++beyond_;
    } else if (!entry) {
      study_.unheld.add(use);
    } else {
      const std::uint32_t server = *entry - 1;
      seen_[server] = std::max(seen_[server], static_cast<std::int32_t>(gpu) + 1);
      add_value(server, gpu, use);
    }
  }
  const Instant time = instant_of(rows_.minute());
  study_.first = std::min(study_.first, time);
  study_.last = std::max(study_.last, time);
}

// What was measured is there; what jobs used is there as well. What is only listed may not be.
void GpuPass::set_server_gpus() {
  std::vector<bool> used(history_.servers.size(), false);
  for (const HostShare& share : history_.hosts) used[share.server] = true;
  std::int64_t changed = 0;
  for (std::size_t i = 0; i < seen_.size(); ++i) {
    std::int32_t& gpus = history_.servers[i].gpus;
    const std::int32_t now = used[i] ? std::max(gpus, seen_[i]) : seen_[i];
    if (seen_[i] == 0 || now == gpus) continue;
    gpus = now;
    ++changed;
  }
  add_note(history_.notes, changed, "server", "with the number of GPUs of the file of their use");
}

// Cells of files added before and of this one: the same, since they come from the same history.
void GpuPass::merge_cells() {
  if (study_.gpus.empty()) {
    study_.gpus = std::move(cells_);
    return;
  }
  MUSTER_CHECK(study_.gpus.size() == cells_.size());
  for (std::size_t i = 0; i < cells_.size(); ++i) study_.gpus[i].use.add(cells_[i].use);
}

void GpuPass::finish() {
  merge_cells();
  for (std::size_t i = 0; i < study_.jobs.size(); ++i) {
    const JobUse& use = study_.jobs[i];
    if (use.gpu_minutes == 0) continue;
    history_.jobs[i].gpu_use =
        static_cast<float>(static_cast<double>(use.sum) / static_cast<double>(use.gpu_minutes) /
                           static_cast<double>(kFull));
  }
  set_server_gpus();
  history_.knows.use = true;
  add_note(study_.notes, missing_, "GPU minute", "without a value");
  add_note(study_.notes, beyond_, "GPU minute", "with a use beyond 0 to 100% left out");
  add_note(study_.notes, rows_of_strangers_, "row", "of servers that the log does not name");
  add_note(study_.notes, index_.unused(), "attempt", "without start or end not joined");
  add_note(study_.notes, index_.conflicts(), "time",
           "that two attempts held one GPU: the later counts");
}

Refusal GpuPass::run() {
  if (Refusal refusal = check_header()) return refusal;
  study_.jobs.resize(history_.jobs.size());
  while (true) {
    const Result<bool> there = rows_.next();
    if (!there.ok()) return there.error();
    if (!there.value()) break;
    add_row();
  }
  finish();
  return std::nullopt;
}

// A pass over a file with one use a row, which `use_of` makes of its values: negative for none.
template <class UseOf>
Refusal add_server_use(ByteSource source, const std::vector<std::string>& columns,
                       UseHistogram& histogram, std::vector<std::string>& notes, UseOf use_of) {
  UseRows rows(std::move(source));
  const Result<std::vector<std::string>> header = rows.read_header();
  if (!header.ok()) return header.error();
  if (header.value() != columns) {
    return rows.fail(fmt::format("header: not time, machine_id, {}", fmt::join(columns, ", ")));
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
  add_note(notes, missing, "server minute", "without a value of " + columns.front());
  add_note(notes, beyond, "server minute", "beyond 0 to 100% left out of " + columns.front());
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

template <class Add>
Refusal with_file(const std::string& path, Add add) {
  Result<ByteSource> source = ByteSource::open(path);
  if (!source.ok()) return source.error();
  return add(std::move(source).value());
}

}  // namespace

Refusal add_gpu_use(ByteSource source, History& history, UseStudy& study) {
  return GpuPass(std::move(source), history, study).run();
}

Refusal add_gpu_use(const std::string& path, History& history, UseStudy& study) {
  return with_file(path, [&](ByteSource s) { return add_gpu_use(std::move(s), history, study); });
}

Refusal add_cpu_use(ByteSource source, UseStudy& study) {
  return add_server_use(std::move(source), {"cpu_util"}, study.cpu, study.notes,
                        [](const std::vector<std::int64_t>& values) { return values[0]; });
}

Refusal add_cpu_use(const std::string& path, UseStudy& study) {
  return with_file(path, [&](ByteSource s) { return add_cpu_use(std::move(s), study); });
}

Refusal add_mem_use(ByteSource source, UseStudy& study) {
  return add_server_use(std::move(source), {"mem_total", "mem_free"}, study.memory, study.notes,
                        memory_use);
}

Refusal add_mem_use(const std::string& path, UseStudy& study) {
  return with_file(path, [&](ByteSource s) { return add_mem_use(std::move(s), study); });
}

}  // namespace muster
