// muster nodes, muster tenants: list nodes and tenants with their resources and usage.

#include <fmt/format.h>

#include <ostream>

#include "base/terminal/table_columns.h"
#include "cli/live/answer_text.h"
#include "cli/live/live_session.h"
#include "cli/live/live_verbs.h"

namespace muster {
namespace {

using Json = nlohmann::json;

std::string used_of(const Json& node, const char* all, const char* free) {
  const double total = number_at(node, all);
  return fmt::format("{:.4g}/{:.4g}", total - number_at(node, free), total);
}

// An unschedulable node has GPUs that are neither used nor free, so "used" is not total minus free.
std::string gpus_of(const Json& node) {
  if (!node.contains("gpus_used")) return used_of(node, "gpus", "gpus_free");
  return fmt::format("{}/{}", count_at(node, "gpus_used"), count_at(node, "gpus"));
}

std::string jobs_on(const Json& node) {
  std::string text;
  for (const Json& job : list_at(node, "jobs")) {
    text += (text.empty() ? "" : " ") + std::to_string(count_at(job, "id"));
  }
  return text;
}

// Returns the node's notes on one line. Each note is cut at its reason, which is long; --json has
// the full notes. If the node is in quarantine or unusable, the first note keeps its reason.
std::string notes_on(const Json& node) {
  if (const std::string note = text_at(node, "notes"); !note.empty()) return note;
  const bool closed_for_long = node.contains("quarantine") || node.contains("why");
  std::string text;
  for (const Json& note : list_at(node, "notes")) {
    if (!note.is_string()) continue;
    const std::string whole = note.get<std::string>();
    const bool first = text.empty();
    text += (first ? "" : "; ") +
            (closed_for_long && first ? whole : whole.substr(0, whole.find(": ")));
  }
  return text;
}

// "full, own account": how far a job is limited to its resources, and the account it runs as.
std::string isolation_of(const Json& node, bool shares_account) {
  const std::string runs_as = text_at(node, "runs_as");
  const std::string account = runs_as == "slurm"     ? ", by Slurm"
                              : runs_as != "manager" ? ""
                              : shares_account       ? ", shared account"
                                                     : ", own account";
  return text_at(node, "isolation") + account;
}

// "drained until 18:40" if the drain has a planned end.
std::string state_of(const Json& node) {
  std::string state = text_at(node, "state");
  if (state.empty()) state = flag_at(node, "open", true) ? "open" : "drained";
  if (state != "drained" || !node.contains("drained_until")) return state;
  return state + " until " + short_local_time(number_at(node, "drained_until"), now_since_1970());
}

std::string nodes_text(const Json& answer) {
  if (list_at(answer, "nodes").empty()) return "no nodes\n";
  Table table({left("NODE"), left("STATE"), right("GPUS"), left("TYPE"), right("CPUS"),
               right("MEM GIB"), left("ISOLATION"), left("JOBS"), left("NOTES")});
  for (const Json& node : list_at(answer, "nodes")) {
    const bool open = flag_at(node, "open", true);
    const std::string state = state_of(node);
    const std::string type = text_at(node, "gpu_type");
    const bool made_up = flag_at(node, "gpus_virtual");
    table.add_row({text_at(node, "name"), state, gpus_of(node),
                   !made_up                            ? type
                   : type.empty() || type == "virtual" ? "virtual"
                                                       : type + " (virtual)",
                   used_of(node, "cpus", "cpus_free"), used_of(node, "mem_gib", "mem_free_gib"),
                   isolation_of(node, answer.contains("notice")), jobs_on(node), notes_on(node)});
    table.tint(1, open                                            ? Tint::kGreen
                  : state == "quarantined" || state == "unusable" ? Tint::kRed
                                                                  : Tint::kYellow);
  }
  return table.render(color_mode_for(1), output_width()) + notice_text(answer);
}

std::string tenants_text(const Json& answer) {
  if (list_at(answer, "tenants").empty()) return "no tenants\n";
  Table table({left("TENANT"), left("PARENT"), right("QUOTA"), right("GPUS USED"), right("RUNNING"),
               right("QUEUED")});
  for (const Json& tenant : list_at(answer, "tenants")) {
    const bool limited = tenant.contains("quota") && tenant["quota"].is_number();
    table.add_row({text_at(tenant, "name"), text_at(tenant, "parent"),
                   limited ? fmt::format("{:.4g}", number_at(tenant, "quota")) : "-",
                   fmt::format("{:.4g}", number_at(tenant, "gpus_used")),
                   std::to_string(count_at(tenant, "running")),
                   std::to_string(count_at(tenant, "queued"))});
  }
  return table.render(color_mode_for(1), output_width());
}

}  // namespace

int run_nodes(const LiveOptions& options, Streams streams) {
  return with_manager(options, streams, [&](ApiClient& client) {
    return show(client, "/v1/nodes", options, streams, nodes_text);
  });
}

int run_tenants(const LiveOptions& options, Streams streams) {
  return with_manager(options, streams, [&](ApiClient& client) {
    return show(client, "/v1/tenants", options, streams, tenants_text);
  });
}

}  // namespace muster
