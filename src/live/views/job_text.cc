#include "live/views/job_text.h"

#include <fmt/format.h>

#include <cmath>

#include "base/text/text.h"
#include "engine/placement/registry.h"

namespace muster {

namespace {

constexpr std::size_t kLine = 105;  // "job 123456 " precedes it.
constexpr double kAlike = 0.01;  // Smaller differences come from rounding to whole slots and MiB.
constexpr double kGib = 1'024;   // In MiB.
constexpr Duration kHardly = Duration::micros(50'000);

// Compares what the job has of a resource with the proportional share of its GPUs.
std::string amount_words(double has, double share, double asked, const std::string& unit,
                         const std::string& mechanism) {
  const std::string amount = fmt::format("{:.4g} {}", has, unit);
  if (std::abs(has - share) <= kAlike * share) {
    return amount + ": the proportional share of its GPUs";
  }
  if (has > share && has <= asked * (1 + kAlike)) {
    return fmt::format("{}: as requested, {:.4g} above the share of its GPUs", amount, has - share);
  }
  if (has > share) {
    return fmt::format(
        "{}: {:.4g} above the share of its GPUs; {} adds it where it increases speed", amount,
        has - share, mechanism);
  }
  return fmt::format("{}: {:.4g} below the share of its GPUs; more would not increase its speed",
                     amount, share - has);
}

Resources share_of(const Cluster& cluster, const Placement& placement) {
  Resources sum;
  for (const Share& share : placement) {
    const Resources& fair = cluster.fair(share.node);
    sum.cpu_milli += fair.cpu_milli * share.gpus();
    sum.mem_mib += fair.mem_mib * share.gpus();
  }
  return sum;
}

}  // namespace

std::string times_words(const PastTimes& times) {
  const Duration between = times.all - times.waited - times.ran;
  std::string words =
      fmt::format("waited {} to start, ran {} in {} lease{}", short_duration(times.waited),
                  short_duration(times.ran), times.leases, times.leases == 1 ? "" : "s");
  if (between > kHardly) words += fmt::format(", {} in between", short_duration(between));
  return words;
}

std::string end_words(const std::string& state, const PastTimes& times, const std::string& why) {
  const bool twice = why.starts_with(state + " ");  // "cancelled by ann"
  const bool ran = times.leases > 0;
  std::string words = fmt::format("{} after {} {}{}{}", state, ran ? "running" : "waiting",
                                  short_duration(ran ? times.ran : times.all), twice ? "" : ": ",
                                  twice ? why.substr(state.size()) : why);
  if (words.size() <= kLine) return words;
  std::size_t end = kLine - 1;
  while (end > 0 && (static_cast<unsigned char>(words[end]) & 0xC0U) == 0x80) --end;
  return words.substr(0, end) + "…";
}

std::string place_words(const Placement& placement, const SchedulerParts& parts) {
  const auto entry = find_entry(placements(), "placement", parts.placement);
  return fmt::format("on {} node{} by {}{}", placement.size(), placement.size() == 1 ? "" : "s",
                     parts.placement, entry.ok() ? ": " + std::string(entry.value()->doc) : "");
}

std::string cpu_words(const Cluster& cluster, const Placement& placement, const Resources& least,
                      const SchedulerParts& parts) {
  const auto cpus = [](const Resources& of) { return static_cast<double>(of.cpu_milli) / 1'000; };
  const Resources total = total_of(placement);
  const double has = cpus(total);
  return amount_words(has, cpus(share_of(cluster, placement)), cpus(least) * total.gpus,
                      has == 1 ? "CPU" : "CPUs", parts.mechanism);
}

std::string memory_words(const Cluster& cluster, const Placement& placement, const Resources& least,
                         const SchedulerParts& parts) {
  const auto gib = [](const Resources& of) { return static_cast<double>(of.mem_mib) / kGib; };
  const Resources total = total_of(placement);
  return amount_words(gib(total), gib(share_of(cluster, placement)), gib(least) * total.gpus,
                      "GiB of memory", parts.mechanism);
}

}  // namespace muster
