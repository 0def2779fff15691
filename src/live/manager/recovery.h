#pragma once

// Recovers the manager's state from its state directory: the newest snapshot, and the journal
// entries after it, which are replayed.

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/os/key_file.h"
#include "base/types/result.h"
#include "engine/roster/roster.h"
#include "exec/lease/lease_files.h"
#include "live/config/learned_profiles.h"
#include "live/config/state_directory.h"
#include "live/store/job_reader.h"
#include "live/store/journal.h"
#include "live/views/note_log.h"

namespace muster {

struct Recovered {
  Instance instance;
  LiveClock clock;  // Continues after the last entry.
  Journal journal;
  JobReader rows;
  JobReader worker_rows;  // A second reader, for a worker.
  Roster roster;
  std::unique_ptr<NoteLog> notes;
  // Begin an era before the first step. Reasons: there is no snapshot yet, an entry has no
  // decisions, or another engine version wrote the era, so the roster only repeated its decisions.
  bool needs_era = false;
  std::string in_force;                  // The settings of the roster.
  std::string wanted;                    // The given settings, with the profiles.
  std::vector<LearnedProfile> profiles;  // Part of the settings in force.
  std::size_t since_snapshot = 0;
  SecretKey lease_key{};  // See LaunchSettings::key.
};

// Opens the state directory `home`, or creates it. `scheduling`: the wanted settings. Errors: the
// directory or its journal cannot be read or is of another version; nothing is changed then.
Result<Recovered> recover(const std::string& home, const LeaseFiles& files,
                          const std::string& scheduling,
                          const std::function<void(const std::string&)>& log);

}  // namespace muster
