#pragma once

// The settings in force and the snapshots of the journal. An era is the time from one snapshot to
// the next: it begins with a new roster, made from the snapshot with the settings in force, so a
// restart continues from exactly the same state. The engine forgets finished jobs then.
//
// Threads: the manager thread owns it. After a function that reports a new era the manager treats
// the new roster like one after a step: it has orders, notes and changed jobs.

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/types/result.h"
#include "live/config/learned_profiles.h"
#include "live/config/state_directory.h"
#include "live/lease/lease_runner.h"
#include "live/query/read_context.h"
#include "live/store/job_reader.h"
#include "live/store/journal.h"
#include "live/views/note_log.h"
#include "live/views/views.h"

namespace muster {

// How much these inputs of one journal entry count towards the next snapshot: the number of new
// jobs, since the engine has a row for each until then; at least 1.
std::size_t snapshot_weight(std::span<const Input> inputs);

struct EraSettings {
  std::string wanted;              // Settings text as of settings.h that should be in force.
  std::string in_force;            // Settings text that the roster was created with.
  std::vector<NodeCaveats> nodes;  // As configured.
  std::size_t since_snapshot = 0;
  std::size_t snapshot_every = 0;  // See snapshot_weight().
};

class Eras {
 public:
  struct Parts {  // Owned by the manager.
    CurrentRoster& roster;
    Journal& journal;
    const NoteLog& notes;
    const Instance& instance;
    std::function<void(const std::string&)> log;
  };
  Eras(Parts parts, EraSettings settings)
      : parts_(std::move(parts)), settings_(std::move(settings)) {}

  // Begins an era that continues from the current roster. On an error the current era continues.
  MaybeError begin();
  // The wanted settings differ from those in force. If all leases fit the wanted ones, begins an
  // era with them and returns true. Otherwise logs once which jobs it waits for.
  Result<bool> adapt();
  // Makes the profiles part of both settings. Returns true if that began an era.
  Result<bool> use_profiles(std::span<const LearnedProfile> profiles);
  // Replaces the wanted settings, after a commit. Unusable ones are logged and ignored. Call
  // adapt() if is_pending() then.
  void want(const std::string& scheduling, std::span<const LearnedProfile> profiles,
            std::vector<NodeCaveats> nodes);
  bool is_pending() const { return settings_.wanted != settings_.in_force; }

  void count(std::span<const Input> inputs) { settings_.since_snapshot += snapshot_weight(inputs); }
  void make_due() { settings_.since_snapshot = settings_.snapshot_every; }
  bool is_due() const { return settings_.since_snapshot >= settings_.snapshot_every; }
  // Begins an era to keep the journal short. Returns whether it did; an error is logged.
  bool renew();

  // Removes inputs about nodes and leases that repeat what the roster already has, or that a later
  // input replaces. A runner may repeat reports; the journal contains each once.
  void drop_known(std::vector<Input>& inputs);
  // The latest reported states of all nodes, also of nodes that a new era added.
  std::vector<Input> node_states() const;
  const std::vector<NodeCaveats>& nodes() const { return settings_.nodes; }

 private:
  MaybeError begin_with(const std::string& scheduling);

  Parts parts_;
  EraSettings settings_;
  std::string logged_;                                  // Last message about pending settings.
  std::optional<std::vector<NodeCaveats>> next_nodes_;  // Nodes of the wanted settings.
  std::map<std::string, NodeStateInput> node_states_;   // By node.
};

// Deletes jobs that ended before the instant, at most 5,000, and orders their lease records to be
// deleted. Returns how many jobs it deleted. Errors: kUnavailable; the next call tries again.
Result<std::size_t> forget_ended(Journal& journal, JobReader& rows, LeaseRunner& runner,
                                 Instant before);

}  // namespace muster
