#pragma once

// Hands that use an executor, whichever it is: a thread that owns it, so that neither a slow disk
// nor a frozen shim keeps the manager waiting. Orders that cannot be carried out now are tried
// again; a shim that does not stop is killed some time after its grace.

#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "exec/diagnose/doctor.h"
#include "exec/lease/executor.h"
#include "live/lease/hands.h"
#include "live/lease/node_tests.h"
#include "live/lease/use_watch.h"

namespace muster {

class ExecHands final : public Hands {
 public:
  using News = std::function<void(std::vector<Input>)>;
  // `news` is called on the thread of the hands. `trouble` gets a line for the log.
  // `servers` gets them anew when they are others than before.
  ExecHands(std::unique_ptr<Executor> executor, Doctor doctor, News news,
            std::function<void(std::vector<ServerFacts>)> servers,
            std::function<void(std::string)> trouble);
  ~ExecHands() override;  // Leaves everything running.

  void order(std::vector<HandOrder> orders) override;
  std::shared_ptr<const UseSample> use() override;

  // Leases on disk that are neither over nor among these: nobody knows them any more. Stops them.
  void stop_strangers(std::vector<std::pair<LiveId, std::uint32_t>> known);

 private:
  using Clock = std::chrono::steady_clock;
  struct Part {  // On one server.
    LaunchSpec spec;
    bool ordered = false;  // The executor has it.
    bool up = false;
    std::optional<LeaseOverInput> over;
    ExitReport report;             // If it is over and left one.
    std::optional<Limits> limits;  // Still to be set.
  };
  struct Held {
    std::vector<Part> parts;
    bool told_up = false;
    bool stopping = false;
    bool take_up = false;  // Not yet asked what became of it.
    bool was_up = false;
    std::optional<Duration> grace;
    Clock::time_point stop_at;  // Not to be told to stop before.
    Clock::time_point kill_at;
    Clock::time_point start_at;  // Not to be tried before.
    Clock::time_point give_up_at;
    std::string isolation;
  };
  using Name = std::pair<LiveId, std::uint32_t>;

  void run();
  void take(HandOrder order);
  void work();  // On everything that is due.
  void try_start(const Name& name, Held& held);
  void order_start(Held& held, const std::vector<LaunchSpec>& specs);
  void try_take_up(const Name& name, Held& held);
  void try_stop(const Name& name, Held& held);
  void try_resize(const Name& name, Held& held);
  void hear(const ExecEvent& event);
  void tell_note(const Name& name, const std::string& words);
  void settle(const Name& name, Held& held);
  void greet_strangers(const std::vector<Name>& known);
  void hear_of_servers();
  void forget(const Name& name);
  void look_at_use();
  int wait_ms() const;

  std::unique_ptr<Executor> executor_;
  Doctor doctor_;
  News news_;
  std::function<void(std::vector<ServerFacts>)> servers_;
  std::function<void(std::string)> trouble_;
  Fd wake_;
  std::mutex mutex_;
  std::deque<HandOrder> inbox_;             // Guarded.
  std::optional<std::vector<Name>> known_;  // Guarded; see stop_strangers().
  bool ending_ = false;                     // Guarded.
  bool use_wanted_ = true;                  // Guarded: the first look is what later ones begin at.
  std::shared_ptr<const UseSample> use_;    // Guarded.
  Clock::time_point use_at_;                // Guarded.
  UseWatch use_watch_;
  std::map<Name, Held> held_;
  NodeTests tests_;
  std::vector<Name> done_;
  std::vector<Input> told_;
  std::thread thread_;
};

}  // namespace muster
