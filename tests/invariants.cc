// muster-invariants HOME [ACKNOWLEDGED_FILE [RUNS_FILE]]: reads the journal and the shim records of
// a live manager and prints one line per violated invariant. Exit status: 0 if all hold, 1 if not,
// 2 if it cannot decide. No manager should run with this state directory.

#include "invariants.h"

#include <fmt/format.h>

#include <cstdio>
#include <fstream>
#include <set>
#include <sstream>

#include "base/text/error_text.h"

namespace muster::invariants {

MaybeError check_acknowledged(const std::string& file, const Account& account, Violations& wrong) {
  std::ifstream in(file);
  if (!in) return Error{file + ": cannot be read"};
  std::map<std::string, LiveId> by_key;
  std::map<LiveId, std::string> by_id;
  std::string line;
  while (std::getline(in, line)) {
    std::istringstream words(line);
    LiveId id = 0;
    std::string key;
    if (!(words >> id >> key)) return Error{file + ": not 'ID KEY': " + line};
    if (!account.jobs.contains(id)) {
      wrong.push_back(fmt::format("job {} was acknowledged and is not there", id));
    }
    if (const LiveId first = by_key.emplace(key, id).first->second; first != id) {
      wrong.push_back(fmt::format("key {} stood for job {}, then for job {}", key, first, id));
    }
    if (const std::string& first = by_id.emplace(id, key).first->second; first != key) {
      wrong.push_back(fmt::format("job {} was given for key {}, then for key {}", id, first, key));
    }
  }
  return std::nullopt;
}

namespace {

int complain(const Error& error) {
  fmt::print(stderr, "muster-invariants: {}\n", full_text(error));
  return 2;
}

int check(int argc, char** argv) {
  const std::string home = argv[1];
  Violations wrong;
  const Result<Account> account = check_journal(home, wrong);
  if (!account.ok()) return complain(account.error());
  const Result<std::size_t> records = check_records(home, account.value(), wrong);
  if (!records.ok()) return complain(records.error());
  if (argc > 2) {
    if (const auto refusal = check_acknowledged(argv[2], account.value(), wrong)) {
      return complain(*refusal);
    }
  }
  std::string runs;
  if (argc > 3) {
    const Result<std::size_t> count = check_runs(argv[3], account.value(), wrong);
    if (!count.ok()) return complain(count.error());
    runs = fmt::format(", {} processes of jobs", count.value());
  }
  for (const std::string& each : std::set(wrong.begin(), wrong.end())) fmt::print("{}\n", each);
  if (!wrong.empty()) return 1;
  fmt::print("ok: {} jobs, {} leases, {} records, {} entries replayed{}\n",
             account.value().jobs.size(), account.value().leases.size(), records.value(),
             account.value().entries, runs);
  return 0;
}

}  // namespace

}  // namespace muster::invariants

int main(int argc, char** argv) {
  if (argc < 2 || argc > 4) {
    std::fprintf(stderr, "usage: muster-invariants HOME [ACKNOWLEDGED_FILE [RUNS_FILE]]\n");
    return 2;
  }
  return muster::invariants::check(argc, argv);
}
