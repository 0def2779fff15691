#pragma once

// Runs a scene with the engine and calls a watcher at each step. Apart from that it works like
// simulate().

#include <cstddef>
#include <map>
#include <vector>

#include "engine/core/engine.h"
#include "sim/run/event_queue.h"
#include "sim/run/job_progress.h"
#include "sim/run/simulator.h"
#include "tenancy_scenes.h"

namespace muster {

// Executes each action like simulate(). Calls the watcher before and after each step.
class Stage {
 public:
  struct Held {
    Placement placement;
    Instant since;  // Time of the start.
  };
  struct Watcher {
    virtual ~Watcher() = default;
    virtual void before(const Stage&) {}
    virtual void after(const Stage&) {}    // After each step; there may be several per instant.
    virtual void settled(const Stage&) {}  // After the last step of an instant.
  };

  Stage(const Scene& scene, Watcher& watcher)
      : scene_(&scene),
        options_(scene.with_tenants()),
        cluster_(scene.topology, scene_profiles()),
        engine_(make_engine()),
        watcher_(&watcher) {}
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;

  void run();

  const Scene& scene() const { return *scene_; }
  const Cluster& cluster() const { return cluster_; }
  const Engine& engine() const { return engine_; }
  Instant now() const { return now_; }
  // The jobs that hold GPUs, from the start until the end is reported. A job that moves may still
  // be saving its work while its new lease waits, but it never holds two leases.
  const std::map<JobId, Held>& held() const { return held_; }

 private:
  struct Run {
    TrueProgress progress;
    bool ran = false;
    bool moving = false;
  };

  Engine make_engine();
  Instant next() const;
  void gather();
  void carry_out(const Action& action);
  void started(JobId job, Epoch epoch);
  void set_speed(JobId job);
  void end(JobId job, Epoch epoch, LeaseOutcome outcome);

  const Scene* scene_;
  SimOptions options_;
  Cluster cluster_;
  Engine engine_;
  Watcher* watcher_;
  Instant now_;
  Instant wake_ = Instant::never();
  std::size_t arrived_ = 0;
  std::vector<Run> runs_;
  EventQueue event_queue_;
  std::map<JobId, Held> held_;
  std::vector<Event> events_;
};

}  // namespace muster
