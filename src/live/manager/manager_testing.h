#pragma once

// For tests: a manager with a real journal and a lease runner that only records its orders.

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <future>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/os/testing.h"
#include "live/config/settings.h"
#include "live/config/site.h"
#include "live/manager/manager.h"
#include "live/store/testing.h"

namespace muster {

class RecordingLeaseRunner final : public LeaseRunner {
 public:
  void order(std::vector<LeaseOrder> orders) override {
    const std::lock_guard lock(mutex);
    for (LeaseOrder& each : orders) given.push_back(std::move(each));
  }
  std::vector<LeaseOrder> take() {
    const std::lock_guard lock(mutex);
    return std::exchange(given, {});
  }
  std::mutex mutex;
  std::vector<LeaseOrder> given;
};

inline std::string scheduling(const std::string& yaml, int gpus = 2) {
  NodeFacts machine;
  machine.host = "here";
  machine.cpus = 4;
  machine.mem_mib = 8192;
  machine.gpus.resize(static_cast<std::size_t>(gpus));
  machine.gpus_virtual = true;
  const Result<ServeFile> file = parse_serve_file(yaml, "serve.yaml");
  EXPECT_TRUE(file.ok()) << file.error().message;
  return settings_text(file.value(), nodes_of(file.value(), machine)).value();
}

inline constexpr const char* kPlain = "scheduler: {policy: fifo, retry: none}";

class ManagerTest : public testing::Test {
 protected:
  ~ManagerTest() override { end(); }

  std::string open(const std::string& settings) {
    ManagerSettings wanted;
    wanted.home = home_;
    wanted.files = LeaseFiles(home_ + "/leases");
    wanted.scheduling = settings;
    wanted.snapshot_every = snapshot_every_;
    wanted.progress_every = progress_every_;
    wanted.what_if = what_if_;
    wanted.what_if_time = what_if_time_;
    wanted.log = [this](const std::string& line) { logged_.push_back(line); };
    Result<std::unique_ptr<Manager>> opened = Manager::open(std::move(wanted));
    if (!opened.ok()) return opened.error().message;
    manager_ = std::move(opened).value();
    return "";
  }
  void start(const std::string& settings = scheduling(kPlain)) {
    ASSERT_EQ(open(settings), "");
    manager_->use(runner_);
    thread_ = std::thread([this] { EXPECT_FALSE(manager_->run()); });
  }
  // A clean stop. A crash leaves the same state except the snapshot.
  void end() {
    if (!thread_.joinable()) return;
    manager_->stop();
    thread_.join();
    manager_.reset();
  }
  // Leaves the state of a manager that was killed now.
  void crash() {
    const std::string copy = home_ + "-crashed";
    std::filesystem::copy(home_, copy, std::filesystem::copy_options::recursive);
    end();
    std::filesystem::remove_all(home_);
    std::filesystem::rename(copy, home_);
  }
  nlohmann::json ask(Call call, int status, const Caller& caller = {"ann", false}) {
    std::promise<Answer> promise;
    manager_->call(caller, std::move(call), [&](Answer answer) { promise.set_value(answer); });
    const Answer answer = promise.get_future().get();
    EXPECT_EQ(answer.status, status) << answer.body;
    last_log_ = answer.log;
    return nlohmann::json::parse(answer.body.empty() ? "{}" : answer.body);
  }
  // Whether the manager thread itself answers.
  bool is_answered_at_once(const Call& call) {
    const auto answered_on = [this](Call each) {
      std::promise<std::thread::id> promise;
      manager_->call({"ann", false}, std::move(each),
                     [&](const Answer&) { promise.set_value(std::this_thread::get_id()); });
      return promise.get_future().get();
    };
    return answered_on(call) == answered_on(ShowHealth{});
  }
  static SubmitJob job(std::int32_t gpus = 1, std::string key = "") {
    SubmitJob call;
    call.request.name = "train";
    call.request.command = {"true"};
    call.request.gpus = gpus;
    call.key = std::move(key);
    return call;
  }
  std::string state(LiveId id, const Caller& caller = {"ann", false}) {
    return ask(ShowJob{std::to_string(id)}, 200, caller)["state"].get<std::string>();
  }
  void tell(Input input) {
    manager_->news({std::move(input)});
    ask(ShowHealth{}, 200);  // It has been processed by then.
  }

  const Folder folder_;
  const std::string home_ = folder_.path();
  std::size_t snapshot_every_ = 1000;
  Duration progress_every_ = Duration::seconds(2);
  decltype(ManagerSettings::what_if) what_if_;
  Duration what_if_time_ = ManagerSettings().what_if_time;
  std::vector<std::string> logged_;  // The manager thread writes it: read it after an answer.
  RecordingLeaseRunner runner_;
  std::unique_ptr<Manager> manager_;
  std::thread thread_;
  std::optional<LogPlace> last_log_;
};

}  // namespace muster
