// Kills the writer repeatedly at random times, on one file. MUSTER_LONG=1 runs more rounds.

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <map>
#include <set>
#include <string>

#include "base/types/random.h"
#include "live/store/job_reader.h"
#include "live/store/journal.h"
#include "live/store/testing.h"

namespace muster {
namespace {

struct Acknowledged {
  std::uint64_t seq = 0;
  std::uint64_t id = 0;
  std::uint64_t mark = 0;  // What this writer, and no other, wrote into it.
};

// Submits jobs in groups of all sizes and says each to the pipe after its commit; forgets and takes
// snapshots on the way, as a daemon would. Never comes back.
[[noreturn]] void write_until_killed(const std::string& path, int pipe_end, std::uint64_t seed) {
  Random random(seed);
  Result<Journal> opened = Journal::open(path);
  if (!opened.ok()) {
    std::fprintf(stderr, "%s\n", opened.error().message.c_str());
    _exit(1);
  }
  Journal& journal = opened.value();
  const std::string padding(300, 'x');
  while (true) {
    std::vector<Acknowledged> group(1 + random.below(20));
    for (Acknowledged& one : group) {
      one.mark = random.next();
      one.id = journal.next_id();
      JobRow job = job_row(one.id);
      job.spec = std::to_string(one.mark) + padding;
      job.ended = Instant::micros(static_cast<std::int64_t>(one.id));
      one.seq = journal
                    .append({"submit", Instant::micros(static_cast<std::int64_t>(one.id)),
                             std::to_string(one.mark)})
                    .value();
      if (journal.put(job) || journal.keep_key("ann", std::to_string(one.mark), one.id)) _exit(2);
    }
    if (journal.commit()) _exit(3);
    const auto size = static_cast<ssize_t>(group.size() * sizeof(Acknowledged));
    if (write(pipe_end, group.data(), static_cast<std::size_t>(size)) != size) _exit(4);
    if (random.below(8) == 0 && journal.save_snapshot({journal.next_seq() - 1, "state"})) _exit(5);
    if (random.below(8) == 0 &&
        !journal.forget_ended_before(Instant::micros(static_cast<std::int64_t>(group[0].id)), 3)
             .ok()) {
      _exit(6);
    }
  }
}

std::vector<Acknowledged> read_all(int pipe_end) {
  std::vector<Acknowledged> all;
  Acknowledged one;
  while (read(pipe_end, &one, sizeof one) == sizeof one) all.push_back(one);
  return all;
}

// Starts a writer, kills it after a while and returns what it had acknowledged by then.
std::vector<Acknowledged> write_and_kill(const std::string& path, std::uint64_t seed,
                                         bool wait_for_first, useconds_t then_us) {
  int ends[2];
  EXPECT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    write_until_killed(path, ends[1], seed);
  }
  close(ends[1]);
  if (wait_for_first) {
    pollfd first = {ends[0], POLLIN, 0};
    poll(&first, 1, 120'000);
  }
  usleep(then_us);
  kill(child, SIGKILL);
  std::vector<Acknowledged> all = read_all(ends[0]);
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status)) << "it ended by itself: " << status;
  return all;
}

// Everything ever acknowledged or seen on disk, over all kills.
struct Memory {
  std::map<std::uint64_t, Acknowledged> acknowledged;  // By number of entry.
  std::map<std::uint64_t, std::string> on_disk;        // Every entry ever seen there.

  // Compares the entries with it; returns the id of the last.
  std::uint64_t check(const Entries& entries) {
    std::uint64_t last_id = 0;
    for (const auto& [seq, found] : entries) {
      const auto [place, fresh] = on_disk.emplace(seq, found.body);
      EXPECT_EQ(place->second, found.body) << "entry " << seq << " became another";
      const auto said = acknowledged.find(seq);
      if (said != acknowledged.end()) {
        EXPECT_EQ(found.body, std::to_string(said->second.mark));
        EXPECT_EQ(found.at.us(), static_cast<std::int64_t>(said->second.id));
      }
      EXPECT_GT(static_cast<std::uint64_t>(found.at.us()), last_id) << "an id was used twice";
      last_id = static_cast<std::uint64_t>(found.at.us());
    }
    EXPECT_EQ(entries.size(), on_disk.size()) << "an entry that was there is gone";
    if (!acknowledged.empty()) {
      EXPECT_GE(entries.size(), acknowledged.rbegin()->first);
    }
    return last_id;
  }
};

TEST(JournalKill, LosesNothingAcknowledgedAndUsesNoIdTwice) {
  const Scratch scratch(std::filesystem::temp_directory_path());  // A disk that takes its time.
  const std::string path = scratch / "j.db";
  const int kills = std::getenv("MUSTER_LONG") != nullptr ? 1000 : 25;
  Random random(11);
  Memory memory;
  std::uint64_t unacknowledged = 0;
  for (int kill_number = 0; kill_number < kills; ++kill_number) {
    // Also on a busy machine some have come to write something.
    const bool wait_for_first = kill_number % 2 == 0;
    for (const Acknowledged& one :
         write_and_kill(path, 1000 + static_cast<std::uint64_t>(kill_number), wait_for_first,
                        static_cast<useconds_t>(random.below(40'000)))) {
      EXPECT_TRUE(memory.acknowledged.emplace(one.seq, one).second)
          << "entry " << one.seq << " twice";
    }
    ASSERT_FALSE(HasFailure());
    Result<Journal> opened = Journal::open(path);
    ASSERT_TRUE(opened.ok()) << opened.error().message;
    const Entries entries = entries_from(opened.value(), 1);
    const std::uint64_t last_id = memory.check(entries);
    unacknowledged = entries.size() - memory.acknowledged.size();

    // The tables tell of the same transactions: keys and rows of all that is not forgotten.
    JobReader history = JobReader::open(path).value();
    if (!entries.empty()) {
      const std::optional<JobRow> newest = history.job(last_id).value();
      ASSERT_TRUE(newest);
      EXPECT_TRUE(newest->spec.starts_with(entries.back().second.body));
      EXPECT_EQ(opened.value().job_of_key("ann", entries.back().second.body).value(), last_id);
    }
    EXPECT_EQ(history.job(last_id + 1).value(), std::nullopt);
  }
  EXPECT_GE(memory.acknowledged.size(), static_cast<std::size_t>(kills) / 2);
  RecordProperty("acknowledged", static_cast<int>(memory.acknowledged.size()));
  RecordProperty("unacknowledged", static_cast<int>(unacknowledged));
}

}  // namespace
}  // namespace muster
