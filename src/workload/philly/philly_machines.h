#pragma once

// Reads cluster_machine_list of the public Philly trace (nodes with number and memory of GPUs) into
// a History that was made from the log. The list contradicts the log for most nodes: it has 2 GPUs
// where jobs ran on 8. Server::gpus keeps the number from the log, Server::listed the one from the
// list. History::notes counts the differences.

#include <string>
#include <string_view>

#include "base/types/result.h"
#include "workload/history/history.h"

namespace muster {

// Adds the listed values to the nodes of the history. Also adds nodes that ran no jobs, with their
// listed GPUs. An error is one line with file, line and column; the history is then unchanged.
MaybeError add_philly_machines(const std::string& path, History& history);

// Like add_philly_machines(), from memory. `name` is used as the path in messages.
MaybeError parse_philly_machines(std::string_view text, const std::string& name, History& history);

}  // namespace muster
