// Arbitrary output of Slurm's commands, and arbitrary names of external jobs. Each output is read,
// or rejected with one printable line. No name, comment or reason creates an additional row. No
// value for sbatch becomes an option.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/types/check.h"
#include "exec/slurm/slurm.h"

namespace muster {
namespace {

constexpr std::string_view kSecret = "5ca1ab1e0ddba11f";

void check_printable(const std::string& text) {
  for (const char c : text) MUSTER_CHECK(static_cast<unsigned char>(c) >= 0x20 && c != 0x7f);
}

void read_anything(std::string_view text) {
  const auto jobs = read_squeue(text);
  if (!jobs.ok()) check_printable(jobs.error().message);
  if (jobs.ok()) {
    for (const SlurmJob& job : jobs.value()) MUSTER_CHECK(job.id > 0 && !job.state.empty());
  }
  const auto nodes = read_sinfo(text);
  if (!nodes.ok()) check_printable(nodes.error().message);
  if (nodes.ok()) {
    for (const SlurmNode& node : nodes.value()) {
      MUSTER_CHECK(!node.name.empty() && node.gpus >= 0 && node.gpus_used >= 0);
      MUSTER_CHECK(node.cpus >= 0 && node.mem_mib >= 0 && node.mem_mib_used >= 0);
      check_printable(node.why_not().substr(node.state.size()));
    }
  }
  for (const auto& [node, leaf] : read_topology(text)) MUSTER_CHECK(!node.empty() && !leaf.empty());
  for (const auto& [key, value] : read_config(text)) MUSTER_CHECK(!key.empty());
  for (const auto& [key, value] : read_partition(text)) MUSTER_CHECK(!key.empty());
  if (const auto id = read_submitted(text); id.ok()) MUSTER_CHECK(id.value() > 0);
  const auto hosts = expand_hosts(text, 1000);
  if (!hosts.ok()) check_printable(hosts.error().message);
  if (hosts.ok()) {
    MUSTER_CHECK(hosts.value().size() <= 1000);
    for (const std::string& name : hosts.value()) MUSTER_CHECK(!name.empty());
  }
}

void forge(const std::string& text) {
  if (text.find(kSecret) != std::string::npos) return;
  const std::string mark = "|" + std::string(kSecret) + "|";
  const auto row = [&](const char* id, const std::string& free) {
    std::string line = id + mark + "RUNNING";
    for (const char* field : {"ann", "main", "N/A", "N/A", "n1", "None"}) line += mark + field;
    return line + mark + free + mark + free + mark + "\n";
  };
  const auto jobs = read_squeue(row("1", "") + row("2", text) + row("3", "x"));
  MUSTER_CHECK(jobs.ok() && jobs.value().size() == 3);
  MUSTER_CHECK(jobs.value()[1].id == 2 && jobs.value()[1].name == text);
  MUSTER_CHECK(jobs.value()[2].name == "x");
}

void submit(const std::string& text) {
  SlurmSubmit job;
  for (std::string* field : {&job.name, &job.comment, &job.partition, &job.reservation,
                             &job.account, &job.qos, &job.output, &job.cwd, &job.array}) {
    *field = text;
  }
  job.nodes = {text};
  for (const std::string& argument : submit_argv(job)) {
    check_printable(argument);
    MUSTER_CHECK(argument == "sbatch" || argument.starts_with("--"));
    MUSTER_CHECK(!argument.starts_with("--uid") && !argument.starts_with("--gid"));
  }
}

}  // namespace
}  // namespace muster

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  muster::read_anything(text);
  muster::forge(std::string(text));
  muster::submit(std::string(text));
  return 0;
}
