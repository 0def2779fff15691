#include "live/store/audit_reader.h"

#include "live/store/testing.h"

namespace muster {
namespace {

AuditRow audit_row(const std::string& user, const std::string& verb, std::uint64_t job, int at) {
  AuditRow row;
  row.at = Instant::micros(at);
  row.uid = 1000;
  row.user = user;
  row.via = "socket";
  row.verb = verb;
  row.object = "job " + std::to_string(job);
  row.job = job;
  row.status = 200;
  row.answer = "done";
  return row;
}

std::vector<std::uint64_t> numbers(const std::string& path, const AuditFilter& filter) {
  AuditReader reader = AuditReader::open(path).value();
  std::vector<std::uint64_t> found;
  const Result<std::vector<AuditRow>> rows = reader.rows(filter);
  for (const AuditRow& row : rows.value()) found.push_back(row.number);
  return found;
}

using Numbers = std::vector<std::uint64_t>;

TEST(AuditReader, FiltersAndPages) {
  const Scratch scratch;
  const std::string path = scratch / "j.db";
  Journal journal = Journal::open(path).value();
  journal.put(audit_row("ann", "submitJob", 1, 10));
  AuditRow bobs = audit_row("bob", "submitJob", 2, 20);
  bobs.uid = 1001;
  journal.put(bobs);
  AuditRow other = audit_row("olga", "cancelJob", 1, 30);
  other.owner = "ann";
  other.owner_uid = 1000;
  other.uid.reset();
  other.answer = std::string(5'000, 'x');
  journal.put(other);
  EXPECT_EQ(numbers(path, {}), Numbers());
  ASSERT_FALSE(journal.commit());
  EXPECT_EQ(numbers(path, {}), (Numbers{3, 2, 1}));
  EXPECT_EQ(numbers(path, {.before = 3, .limit = 1}), Numbers{2});
  EXPECT_EQ(numbers(path, {.user = "bob"}), Numbers{2});
  EXPECT_EQ(numbers(path, {.job = 1}), (Numbers{3, 1}));
  EXPECT_EQ(numbers(path, {.since = Instant::micros(20)}), (Numbers{3, 2}));
  EXPECT_EQ(numbers(path, {.verb = "cancelJob"}), Numbers{3});
  EXPECT_EQ(numbers(path, {.visible_to = "ann", .visible_to_uid = 1000}), (Numbers{3, 1}));
  EXPECT_EQ(numbers(path, {.visible_to = "olga", .visible_to_uid = 1002}), Numbers{3});
  EXPECT_EQ(numbers(path, {.visible_to = "bob", .visible_to_uid = 1003}), Numbers())
      << "another person had this name";
  const AuditRow last = AuditReader::open(path).value().rows({}).value().front();
  EXPECT_EQ(last.answer.size(), kLargestAuditText);
  EXPECT_EQ(last.uid, std::nullopt);
  EXPECT_EQ(last.owner, "ann");
  EXPECT_EQ(last.owner_uid, 1000U);
}

// Rows 1 and 2: by uid 1005, whose name was "ann"; by the user named "1005" with uid 1000.
// Rows 3 and 4: about a job of uid 1005 and of a user "1005" without a known uid.
TEST(AuditReader, AUserIsAUidNotAName) {
  const Scratch scratch;
  const std::string path = scratch / "j.db";
  Journal journal = Journal::open(path).value();
  AuditRow own = audit_row("ann", "submitJob", 1, 10);
  own.uid = 1005;
  journal.put(own);
  journal.put(audit_row("1005", "submitJob", 2, 20));
  AuditRow about = audit_row("olga", "cancelJob", 1, 30);
  about.uid = 1;
  about.owner = "ann";
  about.owner_uid = 1005;
  journal.put(about);
  about.owner = "1005";
  about.owner_uid.reset();
  journal.put(about);
  ASSERT_FALSE(journal.commit());
  const auto seen = [&](const std::string& user, std::optional<std::uint32_t> uid) {
    return numbers(path, {.visible_to = user, .visible_to_uid = uid});
  };
  EXPECT_EQ(seen("1005", 1000), (Numbers{4, 2})) << "the name is a number, but another uid";
  EXPECT_EQ(seen("anna", 1005), (Numbers{3, 1})) << "a renamed user keeps the rows";
  EXPECT_EQ(seen("ann", 1006), Numbers()) << "another person with the name of ann";
  EXPECT_EQ(seen("ann", {}), Numbers());
  EXPECT_EQ(seen("1005", {}), Numbers{4});
  EXPECT_EQ(seen("1005", 1005), (Numbers{4, 3, 1})) << "a uid without a name";
}

TEST(AuditReader, OldRowsAreDeletedAFewAtATime) {
  const Scratch scratch;
  const std::string path = scratch / "j.db";
  Journal journal = Journal::open(path).value();
  for (int i = 1; i <= 6; ++i) journal.put(audit_row("ann", "submitJob", 1, i));
  ASSERT_FALSE(journal.commit());
  ASSERT_FALSE(journal.forget_audit_before(Instant::micros(5), 2));
  EXPECT_EQ(numbers(path, {}), (Numbers{6, 5, 4, 3}));
  ASSERT_FALSE(journal.forget_audit_before(Instant::micros(5), 100));
  EXPECT_EQ(numbers(path, {}), (Numbers{6, 5}));
}

TEST(AuditReader, TicketGenerationsAreDurableWithTheirRow) {
  const Scratch scratch;
  const std::string path = scratch / "j.db";
  {
    Journal journal = Journal::open(path).value();
    EXPECT_TRUE(journal.ticket_generations().empty());
    EXPECT_EQ(journal.raise_ticket_generation(1000), 1U);
    ASSERT_FALSE(journal.commit());
    EXPECT_EQ(journal.raise_ticket_generation(1000), 2U);  // Never committed.
  }
  Journal journal = Journal::open(path).value();
  EXPECT_EQ(journal.ticket_generations().at(1000), 1U);
}

}  // namespace
}  // namespace muster
