#pragma once

// For the tests of whatif/: a manager's database as a manager writes it, without the manager: a
// roster whose steps are kept in a journal with its rows, and a machine that obeys at once.

#include <gtest/gtest.h>
#include <sqlite3.h>
#include <stdlib.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "live/roster.h"
#include "live/settings.h"
#include "live/site.h"
#include "live/views.h"
#include "store/checksum.h"
#include "store/journal.h"

namespace muster::whatif_testing {

inline constexpr std::int64_t kBorn = 1'700'000'000'000'000;

class Office {
 public:
  explicit Office(const std::string& yaml, int gpus = 2) {
    std::string name = testing::TempDir() + "whatif-XXXXXX";
    EXPECT_NE(::mkdtemp(name.data()), nullptr);
    home_ = name;
    machine_.host = "here";
    machine_.cpus = 4;
    machine_.mem_mib = 8192;
    machine_.gpus.resize(static_cast<std::size_t>(gpus));
    machine_.gpus_virtual = true;
    configure(yaml);
    journal_.emplace(Journal::open(database()).value());
    roster_.emplace(roster_settings(settings_).value());
    begin_era();
  }
  Office(const Office&) = delete;
  Office& operator=(const Office&) = delete;
  ~Office() { std::filesystem::remove_all(home_); }

  const std::string& home() const { return home_; }
  std::string database() const { return home_ + "/journal.db"; }
  const Roster& roster() const { return *roster_; }

  // From the next era on.
  void configure(const std::string& yaml) {
    const Result<ServeFile> file = parse_serve_file(yaml, "serve.yaml");
    ASSERT_TRUE(file.ok()) << file.error().message;
    settings_ = settings_text(file.value(), servers_of(file.value(), machine_)).value();
  }

  // As the manager does.
  void begin_era() {
    const std::string kept = roster_->snapshot();
    const nlohmann::json body = {{"version", "1"},        {"instance", "i"},
                                 {"born_unix_us", kBorn}, {"settings", settings_},
                                 {"roster", kept},        {"last_note", 0}};
    const std::uint64_t seq = journal_->next_seq() - 1;
    EXPECT_FALSE(journal_->save_snapshot({seq, body.dump()}));
    EXPECT_FALSE(journal_->truncate_before(seq + 1));
    roster_.emplace(roster_settings(settings_).value());
    EXPECT_TRUE(roster_->restore(kept).ok());
  }

  // A new job of this user; its id.
  LiveId submit(double second, JobRequest request, const std::string& user = "ann") {
    SubmitInput input;
    input.id = journal_->next_id();
    input.user = user;
    input.tenant = request.tenant;
    input.request = std::move(request);
    if (input.request.name.empty()) input.request.name = "train";
    input.request.command = {"true"};
    at(second, {input});
    return input.id;
  }

  // Orders are carried out at once: who is told to stop has, who is started runs.
  void at(double second, std::vector<Input> inputs) {
    now_ = Instant::micros(static_cast<std::int64_t>(second * 1e6));
    while (!inputs.empty()) {
      JournalEntry entry{"step", now_, step_json({roster_->digest(), inputs})};
      EXPECT_TRUE(journal_->append(std::move(entry)).ok());
      roster_->step(now_, inputs);
      put_rows();
      EXPECT_FALSE(journal_->commit());
      inputs.clear();
      for (const Order& order : roster_->orders()) {
        decisions += 1;
        if (order.kind == Order::Kind::kStart) {
          starts += 1;
          inputs.push_back(LeaseUpInput{order.id, order.lease, "full"});
        } else if (order.kind == Order::Kind::kStop) {
          inputs.push_back(over(order.id, LeaseFate::kStopped));
        }
      }
    }
  }
  void ends(double second, LiveId id, LeaseFate fate, const std::string& reason = "") {
    now_ = Instant::micros(static_cast<std::int64_t>(second * 1e6));
    at(second, {over(id, fate, reason)});
  }

  std::uint64_t decisions = 0;
  std::uint64_t starts = 0;

 private:
  LeaseOverInput over(LiveId id, LeaseFate fate, const std::string& reason = "") const {
    const LiveLease& lease = *roster_->find(id)->lease;
    LeaseOverInput input;
    input.id = id;
    input.lease = lease.number;
    input.fate = fate;
    input.reason = reason;
    input.words = "so it went";
    input.ran_ms = (now_ - lease.up_since).us() / 1000;
    return input;
  }
  void put_rows() {
    for (const LeaseRecord& record : roster_->over()) {
      EXPECT_FALSE(journal_->put(row_of(*roster_, record)));
    }
    for (const LiveId id : roster_->touched()) {
      const LiveJob* job = roster_->find(id);
      if (job == nullptr) continue;
      EXPECT_FALSE(journal_->put(row_of(*roster_, *job, nullptr)));
      if (job->lease) {
        EXPECT_FALSE(journal_->put(row_of(*roster_, *job, *job->lease)));
      }
    }
  }

  std::string home_;
  NodeFacts machine_;
  std::string settings_;
  std::optional<Journal> journal_;
  std::optional<Roster> roster_;
  Instant now_;
};

// Changes a database by hand.
inline void hammer(const std::string& path, const std::string& sql) {
  sqlite3* handle = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &handle), SQLITE_OK);
  EXPECT_EQ(sqlite3_exec(handle, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK)
      << sqlite3_errmsg(handle);
  sqlite3_close(handle);
}

// What stands first in the entry is replaced, and the checksum made to fit.
inline void forge(const std::string& path, std::uint64_t seq, const std::string& from,
                  const std::string& to) {
  sqlite3* handle = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &handle), SQLITE_OK);
  sqlite3_stmt* read = nullptr;
  const std::string select =
      "SELECT kind, at, body FROM entries WHERE seq = " + std::to_string(seq);
  ASSERT_EQ(sqlite3_prepare_v2(handle, select.c_str(), -1, &read, nullptr), SQLITE_OK);
  ASSERT_EQ(sqlite3_step(read), SQLITE_ROW);
  const auto text = [&](int column) {
    return std::string(reinterpret_cast<const char*>(sqlite3_column_text(read, column)));
  };
  const std::string kind = text(0);
  const std::int64_t at = sqlite3_column_int64(read, 1);
  std::string body = text(2);
  sqlite3_finalize(read);
  ASSERT_NE(body.find(from), std::string::npos) << body;
  body.replace(body.find(from), from.size(), to);
  sqlite3_stmt* write = nullptr;
  ASSERT_EQ(sqlite3_prepare_v2(handle, "UPDATE entries SET body = ?1, checksum = ?2 WHERE seq = ?3",
                               -1, &write, nullptr),
            SQLITE_OK);
  sqlite3_bind_text(write, 1, body.c_str(), -1, SQLITE_TRANSIENT);
  sqlite3_bind_int64(write, 2, checksum(seq, kind, at, body));
  sqlite3_bind_int64(write, 3, static_cast<std::int64_t>(seq));
  EXPECT_EQ(sqlite3_step(write), SQLITE_DONE);
  sqlite3_finalize(write);
  sqlite3_close(handle);
}

}  // namespace muster::whatif_testing
