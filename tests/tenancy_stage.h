#pragma once

// A driver of the engine that runs a scene and shows every step of the engine to a watcher. It does
// what simulate() does, and nothing else.

#include <cstddef>
#include <map>
#include <vector>

#include "engine/core/engine.h"
#include "sim/run/simulator.h"
#include "sim/run/timetable.h"
#include "sim/run/truth.h"
#include "tenancy_scenes.h"

namespace muster {

// Every order is carried out as simulate() does; before and after each step the watcher looks on.
class Stage {
 public:
  struct Held {
    Placement placement;
    Instant since;  // When it was told to start.
  };
  struct Watcher {
    virtual ~Watcher() = default;
    virtual void before(const Stage&) {}
    virtual void after(const Stage&) {}    // Each step; there may be several an instant.
    virtual void settled(const Stage&) {}  // When nothing more happens at that instant.
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
  // What really holds GPUs, from its start until its end was reported. A job that moves may still
  // be saving while the new lease waits, but never holds two.
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
  Timetable timetable_;
  std::map<JobId, Held> held_;
  std::vector<Event> events_;
};

}  // namespace muster
