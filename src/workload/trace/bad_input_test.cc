// Invalid traces with the expected error message, and files with random damage.

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/file/csv.h"
#include "base/file/text_file.h"
#include "base/types/random.h"
#include "workload/input/throughputs_file.h"
#include "workload/trace/reader.h"
#include "workload/trace/testing.h"
#include "workload/trace/writer.h"

namespace muster {
namespace {

constexpr std::string_view kInputHead = "job_id,submit_s,gpus,duration_s\n";

std::string input_complaint(std::string_view text, std::string_view format = "",
                            const ProfileTable& profiles = synergy_like_profiles()) {
  const Result<Trace> trace = parse_trace(text, "t.csv", format, profiles);
  return trace.ok() ? "(accepted)" : trace.error().message;
}

// Returns "muster, tiresias, ...", as in messages.
std::string all_formats() {
  std::string names;
  for (const TraceFormat& format : trace_formats()) {
    names += (names.empty() ? "" : ", ") + std::string(format.name);
  }
  return names;
}

struct BadRow {
  std::string_view row;
  std::string message;
};

TEST(BadInput, RowsOfOurFormat) {
  const BadRow rows[] = {
      {"1,0,1", "t.csv:3: columns: 3 where the header has 4: '1,0,1'"},
      {"1,0,1,1,1", "t.csv:3: columns: 5 where the header has 4: '1,0,1,1,1'"},
      {"1,-5,1,1", "t.csv:3: submit_s: negative: '-5'"},
      {"1,soon,1,1", "t.csv:3: submit_s: not a number: 'soon'"},
      {"1,,1,1", "t.csv:3: submit_s: not a number: ''"},
      {"1,nan,1,1", "t.csv:3: submit_s: not a number: 'nan'"},
      {"1,inf,1,1", "t.csv:3: submit_s: not a number: 'inf'"},
      {"1,1e300,1,1", "t.csv:3: submit_s: longer than 100 years: '1e300'"},
      {"1,3155760001,1,1", "t.csv:3: submit_s: longer than 100 years: '3155760001'"},
      {"1,0,0,1", "t.csv:3: gpus: must be at least 1: '0'"},
      {"1,0,-2,1", "t.csv:3: gpus: negative: '-2'"},
      {"1,0,two,1", "t.csv:3: gpus: not a whole number: 'two'"},
      {"1,0,1.5,1", "t.csv:3: gpus: not a whole number: '1.5'"},
      {"1,0,,1", "t.csv:3: gpus: not a whole number: ''"},
      {"1,0,9999999,1", "t.csv:3: gpus: must be at most 6400000: '9999999'"},
      {"1,0,99999999999999999999,1", "t.csv:3: gpus: number too large: '99999999999999999999'"},
      {"1,0,1,-0.5", "t.csv:3: duration_s: negative: '-0.5'"},
      {"1,0,1,1m", "t.csv:3: duration_s: not a number: '1m'"},
      {"0,0,1,1", "t.csv:3: job_id: given twice: '0'; first on line 2"},
      {",0,1,1", "t.csv:3: job_id: empty: ''"},
      {"a\x01z,0,1,1", "t.csv:3: job_id: control character in text: 'a\\x01z'"},
      {"a\xffz,0,1,1", "t.csv:3: job_id: not UTF-8 text: 'a\\xffz'"},
      {"\"1,0,1,1", "t.csv:3: quote not closed: '\"1,0,1,1'"},
      {"\"1\"x,0,1,1", "t.csv:3: text after a closing quote: '\"1\"x,0,1,1'"},
  };
  for (const BadRow& bad : rows) {
    EXPECT_EQ(input_complaint(std::string(kInputHead) + "0,0,1,1\n" + std::string(bad.row) + "\n"),
              bad.message);
  }
}

TEST(BadInput, RangesOfElasticJobs) {
  const BadRow rows[] = {
      {"0,4,1,5,8", "t.csv:3: min_gpus: above the job's 4 GPUs: '5'"},
      {"0,4,1,2,3", "t.csv:3: max_gpus: below the job's 4 GPUs: '3'"},
      {"0,4,1,-1,8", "t.csv:3: min_gpus: negative: '-1'"},
      {"0,4,1,few,8", "t.csv:3: min_gpus: not a whole number: 'few'"},
      {"0,4,1,1,9999999", "t.csv:3: max_gpus: must be at most 6400000: '9999999'"},
      {"0,0,1,0,0", "t.csv:3: gpus: must be at least 1: '0'"},
  };
  for (const BadRow& bad : rows) {
    EXPECT_EQ(input_complaint("submit_s,gpus,duration_s,min_gpus,max_gpus\n0,4,1,4,4\n" +
                              std::string(bad.row) + "\n"),
              bad.message);
  }
  EXPECT_EQ(input_complaint("submit_s,gpus,duration_s,min_gpu\n0,1,1,1\n"),
            "t.csv:1: header: unknown column: 'min_gpu'; did you mean 'min_gpus'?");
}

TEST(BadInput, UnsortedArrivals) {
  EXPECT_EQ(input_complaint(std::string(kInputHead) + "0,20,1,1\n1,10,1,1\n"),
            "t.csv:3: submit_s: 10 is earlier than 20 in a line above; sort the file by submit_s");
  EXPECT_EQ(input_complaint("0,lstm,0.5,9,1\n1,lstm,0.25,9,1\n"),
            "t.csv:2: arrival_seconds: 0.25 is earlier than 0.5 in a line above; sort the file by "
            "arrival_seconds");
}

TEST(BadInput, Headers) {
  const BadRow rows[] = {
      {"submit_s,gpu,duration_s\n0,1,1\n",
       "t.csv:1: header: unknown column: 'gpu'; did you mean 'gpus'?"},
      {"submit_s,gpus,duration_s,colour\n0,1,1,red\n",
       "t.csv:1: header: unknown column: 'colour'; one of: job_id, submit_s, gpus, min_gpus, "
       "max_gpus, duration_s, estimate_s, user, tenant, name, model, gpu_type, iterations"},
      {"job_id,submit_s,duration_s\n0,1,1\n",
       "t.csv:1: gpus: column missing from the header: 'job_id,submit_s,duration_s'"},
      {"submit_s,gpus,gpus,duration_s\n0,1,1,1\n", "t.csv:1: gpus: column named twice: 'gpus'"},
      {"submit_s,gpus,duration_s,a\x02\n", "t.csv:1: header: control character in text: 'a\\x02'"},
      {"job_id,vc,submit_time_s,duration_s\n0,a,0,1\n",
       "t.csv:1: num_gpus: column missing from the header: 'job_id,vc,submit_time_s,duration_s'"},
      {"when,what\n1,2\n",
       "t.csv:1: header: matches no known trace format: 'when,what'; known formats: " +
           all_formats()},
  };
  for (const BadRow& bad : rows) EXPECT_EQ(input_complaint(bad.row), bad.message);
}

TEST(BadInput, Models) {
  constexpr std::string_view kOurs = "submit_s,gpus,duration_s,model\n0,1,1,res5O\n";
  EXPECT_EQ(input_complaint(kOurs),
            "t.csv:2: model: no profile of that name: 'res5O'; did you mean 'res50'?");
  EXPECT_EQ(input_complaint(kOurs, "", ProfileTable()),
            "t.csv:2: model: no profile of that name: 'res5O'; no profiles were given");
  EXPECT_EQ(input_complaint("0,alexnett,0,5,1\n"),
            "t.csv:1: model: no profile of that name: 'alexnett'; did you mean 'alexnet'?");
  EXPECT_EQ(
      input_complaint("0,,0,5,1\n"),
      "t.csv:1: model: no profile of that name: ''; one of: alexnet, res18, res50, mobilenet, "
      "shufflenet, gnmt, transformer, lstm, m5, deepspeech, untimed");
  EXPECT_EQ(input_complaint("0,untimed,0,5,1\n"),
            "t.csv:1: model: its profile has no iteration time: 'untimed'");
  EXPECT_EQ(
      input_complaint("0,lstm,0,9000000000000000000,1\n"),
      "t.csv:1: total_iterations: run time too long at 0.011 s per step: '9000000000000000000'");
  EXPECT_EQ(input_complaint("0,lstm,0,,1\n", "synergy"),
            "t.csv:1: total_iterations: not a whole number: ''");
}

TEST(BadInput, NothingToRead) {
  EXPECT_EQ(input_complaint(""), "t.csv:1: no jobs: the file is empty");
  EXPECT_EQ(input_complaint("\n# nothing\n"), "t.csv:1: no jobs: the file is empty");
  EXPECT_EQ(input_complaint(kInputHead), "t.csv:1: no jobs: nothing after the header");
  EXPECT_EQ(input_complaint(std::string_view("\x7f"
                                             "ELF\0\0",
                                             6)),
            "t.csv:1: not a text file");
}

TEST(BadInput, LinesTooLong) {
  const std::string message =
      input_complaint(std::string(kInputHead) + std::string(kLongestLine + 1, 'x'));
  EXPECT_EQ(message, "t.csv:2: line longer than 65536 bytes: '" + std::string(60, 'x') + "...'");
}

TEST(BadInput, UnknownFormats) {
  EXPECT_EQ(input_complaint("", "phily"),
            "format: no such trace format: 'phily'; did you mean 'philly'?");
  EXPECT_EQ(input_complaint("", "json"),
            "format: no such trace format: 'json'; one of: " + all_formats());
}

class BadFiles : public testing::Test {
 protected:
  BadFiles() { std::filesystem::create_directories(folder_); }
  ~BadFiles() override { std::filesystem::remove_all(folder_); }

  std::string path(std::string_view name) const { return folder_ + "/" + std::string(name); }
  void write(std::string_view name, std::string_view text) const {
    std::ofstream(path(name), std::ios::binary) << text;
  }
  std::string complaint_about(std::string_view name) const {
    const Result<Trace> trace = read_trace(path(name), "", synergy_like_profiles());
    return trace.ok() ? "(accepted)" : trace.error().message;
  }

 private:
  std::string folder_ = testing::TempDir() + "muster_bad_files_" + std::to_string(::getpid());
};

TEST_F(BadFiles, GetOneLineEach) {
  EXPECT_EQ(complaint_about("jobs.csv"), path("jobs.csv") + ": no such file");
  write("jobs.csv", "");
  EXPECT_EQ(complaint_about("jobs.cvs"),
            path("jobs.cvs") + ": no such file; did you mean 'jobs.csv'?");
  EXPECT_EQ(complaint_about("jobs.csv"), path("jobs.csv") + ":1: no jobs: the file is empty");
  EXPECT_EQ(complaint_about(""), path("") + ": a directory, not a file");
  write("binary", std::string_view("PK\x03\x04\0\0", 6));
  EXPECT_EQ(complaint_about("binary"), path("binary") + ":1: not a text file");
  write("good", "submit_s,gpus,duration_s\n0,1,1\n");
  EXPECT_EQ(complaint_about("good"), "(accepted)");
  EXPECT_EQ(complaint_about("good/x"), path("good/x") + ": cannot be read: Not a directory");
}

TEST_F(BadFiles, APipeNobodyNamedIsNotWaitedFor) {
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  const Result<std::string> text = read_text_file(path("pipe"), Pipes::kRefused);
  ASSERT_FALSE(text.ok());
  EXPECT_EQ(text.error().message, path("pipe") + ": not a file");
}

TEST_F(BadFiles, TooLargeIsSeenWithoutReading) {
  write("huge", "submit_s,gpus,duration_s\n");
  std::error_code status;
  std::filesystem::resize_file(path("huge"), (std::uintmax_t{2} << 30) + 1, status);
  if (status) GTEST_SKIP() << "no sparse files here: " << status.message();
  EXPECT_EQ(complaint_about("huge"), path("huge") + ": larger than the limit of 2048 MiB");
}

TEST_F(BadFiles, UnreadableSaysWhy) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may read everything";
  write("secret", kInputHead);
  std::filesystem::permissions(path("secret"), std::filesystem::perms::none);
  EXPECT_EQ(complaint_about("secret"), path("secret") + ": cannot be read: Permission denied");
}

// Changes, removes, duplicates and inserts bytes of a valid file. The result must either be read as
// a valid Trace that can be written and read again, or rejected with a printable one-line error.
std::string damaged(std::string text, Random& random) {
  constexpr std::string_view kNasty = ",\"\n\r#-.eE0919x \t\xef\xff\x00\x7f";
  for (std::uint64_t edits = 1 + random.below(4); edits > 0 && !text.empty(); --edits) {
    const std::size_t at = random.below(text.size());
    const std::size_t length = random.below(std::min<std::size_t>(text.size() - at, 12)) + 1;
    switch (random.below(4)) {
      case 0:
        text[at] = kNasty[random.below(kNasty.size())];
        break;
      case 1:
        text.erase(at, length);
        break;
      case 2:
        text.insert(at, text.substr(random.below(text.size()), length));
        break;
      default:
        text.insert(at, 1, kNasty[random.below(kNasty.size())]);
        break;
    }
  }
  return text;
}

void expect_promises_kept(const Trace& trace, const ProfileTable& profiles) {
  ASSERT_FALSE(trace.jobs.empty());
  Instant last;
  for (const TraceJob& job : trace.jobs) {
    ASSERT_GE(job.gpus, 1);
    ASSERT_TRUE(job.fewest >= 0 && job.fewest <= job.gpus);
    ASSERT_TRUE(job.most == 0 || job.most >= job.gpus);
    ASSERT_GE(job.submit, last);
    ASSERT_GE(job.duration, Duration());
    ASSERT_LE(job.duration, kLongestDuration);
    ASSERT_FALSE(job.id.empty());
    ASSERT_LT(job.model, trace.models.size());
    last = job.submit;
  }
  Trace copy = trace;
  forget_unprofiled_models(copy, profiles);
  const Result<Trace> again = parse_trace(write_trace_csv(copy), "again", "muster", profiles);
  ASSERT_TRUE(again.ok()) << again.error().message;
  ASSERT_EQ(again.value().jobs.size(), trace.jobs.size());
}

TEST(BadInput, DamageIsReadOrRefused) {
  const ProfileTable profiles = synergy_like_profiles();
  const Result<ThroughputTable> throughputs = read_throughputs(testdata("throughputs.csv"));
  ASSERT_TRUE(throughputs.ok()) << throughputs.error().message;
  std::vector<std::string> originals = {
      "job_id,submit_s,gpus,min_gpus,max_gpus,duration_s\na,0,4,1,8,5\nb,1,2,,,9\nc,2,2,0,4,9\n",
  };
  for (const std::string& file : trace_files()) {
    originals.push_back(read_text_file(testdata(file)).value());
  }
  const std::vector<TraceFormat> formats = trace_formats();
  constexpr std::uint64_t kSeed = 20261115;
  const Random seed(kSeed);
  int accepted = 0;
  for (int round = 0; round < 6000; ++round) {
    Random random = seed.fork(std::to_string(round));
    const std::string text = damaged(originals[random.below(originals.size())], random);
    const std::string_view format =
        random.below(3) == 0 ? formats[random.below(formats.size())].name : "";
    SCOPED_TRACE(testing::Message() << "seed " << kSeed << ", round " << round);
    const Result<Trace> trace = parse_trace(text, "t.csv", format, profiles, &throughputs.value());
    if (trace.ok()) {
      ++accepted;
      expect_promises_kept(trace.value(), profiles);
      if (HasFatalFailure()) return;
      continue;
    }
    const std::string& message = trace.error().message;
    ASSERT_TRUE(message.starts_with("t.csv:")) << message;
    for (const char c : message) ASSERT_TRUE(c >= 0x20 && c < 0x7f) << message;
  }
  EXPECT_GT(accepted, 200);  // With fewer, the loop above hardly tests anything.
}

}  // namespace
}  // namespace muster
