#include "cli/study/layers_communication.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/terminal/table.h"
#include "base/terminal/table_columns.h"

namespace muster {

namespace {

struct Communication {
  double compute = 0;  // Seconds per step.
  double servers = 0;
  double ring = 0;
  double servers_share = 0;  // Part of the step.
  double ring_share = 0;
};

Communication communication_of(const LayerStudy& study, const WorkerSpread& spread) {
  const TrainingStep step = {static_cast<double>(study.advice.parameter_bytes),
                             study.advice.skew.largest_share,
                             worker_seconds(study.layers, study.training)};
  Bandwidths bandwidths;
  bandwidths.between = study.training.link_bytes_per_second;
  Communication out;
  out.compute = step.compute_seconds;
  out.servers = exchange_seconds(ExchangeMethod::kServers, step, spread, bandwidths);
  out.ring = exchange_seconds(ExchangeMethod::kRing, step, spread, bandwidths);
  out.servers_share = exchange_share(step, out.servers);
  out.ring_share = exchange_share(step, out.ring);
  return out;
}

struct CommunicationRows {
  std::vector<Communication> rows;
  Communication mean;  // Only the shares.
  Communication most;  // Only the shares.
};

CommunicationRows rows_of(std::span<const LayerStudy> studies, const WorkerSpread& spread) {
  CommunicationRows out;
  for (const LayerStudy& study : studies) {
    const Communication& row = out.rows.emplace_back(communication_of(study, spread));
    out.mean.servers_share += row.servers_share / static_cast<double>(studies.size());
    out.mean.ring_share += row.ring_share / static_cast<double>(studies.size());
    out.most.servers_share = std::max(out.most.servers_share, row.servers_share);
    out.most.ring_share = std::max(out.most.ring_share, row.ring_share);
  }
  return out;
}

std::string step_share_text(double share) { return fmt::format("{:.1f} %", 100 * share); }
std::string step_ms_text(double seconds) { return fmt::format("{:.1f}", 1e3 * seconds); }

}  // namespace

std::string communication_table(std::span<const LayerStudy> studies, const WorkerSpread& spread,
                                ColorMode colors) {
  const CommunicationRows all = rows_of(studies, spread);
  Table table({left("model"), right("batch"), right("MiB"), right("compute ms"),
               right("servers ms"), right("ring ms"), right("share, servers"),
               right("share, ring")});
  for (std::size_t i = 0; i < studies.size(); ++i) {
    const LayerStudy& study = studies[i];
    const Communication& row = all.rows[i];
    table.add_row(
        {cut_text(study.model, 40), std::to_string(study.training.batch),
         fmt::format("{:.1f}", static_cast<double>(study.advice.parameter_bytes) / (1 << 20)),
         step_ms_text(row.compute), step_ms_text(row.servers), step_ms_text(row.ring),
         step_share_text(row.servers_share), step_share_text(row.ring_share)});
  }
  for (const auto& [name, row] : {std::pair("mean", all.mean), std::pair("max", all.most)}) {
    table.add_row({name, "", "", "", "", "", step_share_text(row.servers_share),
                   step_share_text(row.ring_share)});
  }
  return table.render(colors) +
         fmt::format(
             "\nShare of the step with {} workers on {} node{}, {} parameter servers or one ring, "
             "link {:.3g} GB/s\n",
             spread.workers, spread.nodes, spread.nodes == 1 ? "" : "s",
             spread.servers == 0 ? spread.workers : spread.servers,
             studies.front().training.link_bytes_per_second / 1e9);
}

nlohmann::ordered_json communication_json(std::span<const LayerStudy> studies,
                                          const WorkerSpread& spread) {
  const CommunicationRows all = rows_of(studies, spread);
  nlohmann::ordered_json models = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < studies.size(); ++i) {
    const LayerStudy& study = studies[i];
    const Communication& row = all.rows[i];
    models.push_back({{"model", study.model},
                      {"batch", study.training.batch},
                      {"parameter_bytes", study.advice.parameter_bytes},
                      {"largest_share", study.advice.skew.largest_share},
                      {"compute_s", row.compute},
                      {"servers_s", row.servers},
                      {"ring_s", row.ring},
                      {"servers_share", row.servers_share},
                      {"ring_share", row.ring_share}});
  }
  const TrainingSetup& training = studies.front().training;
  return {{"workers", spread.workers},
          {"nodes", spread.nodes},
          {"servers", spread.servers == 0 ? spread.workers : spread.servers},
          {"link_bytes_per_s", training.link_bytes_per_second},
          {"macs_per_s", training.macs_per_second},
          {"servers_share_mean", all.mean.servers_share},
          {"servers_share_max", all.most.servers_share},
          {"ring_share_mean", all.mean.ring_share},
          {"ring_share_max", all.most.ring_share},
          {"models", models}};
}

}  // namespace muster
