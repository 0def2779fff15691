#pragma once

// Reads cluster_machine_list of the public Philly trace, the servers with their number of GPUs and
// the memory of each, into a History made from the log. The list contradicts the log for most
// servers (it says 2 GPUs where jobs ran on 8). What was seen counts and what is listed is kept
// beside it; how often they differ is said in History::notes.

#include <string>
#include <string_view>

#include "base/types/result.h"
#include "workload/history/history.h"

namespace muster {

// Servers that ran nothing are added, with the GPUs listed. Refuses the whole file at the first
// thing wrong in it, in one line that names the file, line and column, and then changes nothing.
Refusal add_philly_machines(const std::string& path, History& history);

// The same from memory; `name` stands for the path in messages.
Refusal parse_philly_machines(std::string_view text, const std::string& name, History& history);

}  // namespace muster
