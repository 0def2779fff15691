#include "exec/diagnose/failure_diagnoser.h"
#include "base/os/testing.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace muster {
namespace {

class DoctorTest : public testing::Test {
 protected:
  DoctorTest() { std::filesystem::create_directories(log().parent_path()); }

  std::filesystem::path log() const { return home_ / "leases/j1.e1/out.log"; }
  void write(const std::string& text) const { std::ofstream(log()) << text; }

  // Begins with the finding of the exit report. A finding in the logs replaces it.
  FailureDiagnoser::Finding examined(int code = 1, int signal = 0) const {
    FailureDiagnoser doctor(LeaseFiles(home_ / "leases"), home_ / "signatures.yaml");
    FailureDiagnoser::Part part{"j1.e1", {}};
    part.report.cause = EndCause::kFailed;
    part.report.ranks = {{0, code, signal}};
    return doctor.examine(std::span(&part, 1))
        .value_or(FailureDiagnoser::Finding{"no-signature", "rank 0 ended with status 1", {}});
  }

  const Folder folder_;
  const std::filesystem::path home_ = folder_.path();
};

TEST_F(DoctorTest, NamesTheLineThatProvesIt) {
  write("epoch 1\nTraceback (most recent call last):\nModuleNotFoundError: No module named 'x'\n");
  const FailureDiagnoser::Finding over = examined();
  EXPECT_EQ(over.reason, "import-error");
  EXPECT_EQ(over.proof.line, 3);
  EXPECT_EQ(over.proof.evidence, "ModuleNotFoundError: No module named 'x'");
  EXPECT_FALSE(over.proof.signature.empty());
  EXPECT_EQ(over.words, "a module that the program needs is not installed");
  EXPECT_EQ(over.proof.advice,
            "Install it in the environment of the job, or choose the right environment.");
  EXPECT_EQ(over.proof.told, (SignatureReaction{Reaction::kStop, Bucket::kUser}));
}

TEST_F(DoctorTest, CarriesWhatTheSignatureSaysToDo) {
  write("OSError: [Errno 116] Stale file handle: '/data/a.bin'\n");
  EXPECT_EQ(examined().reason, "incorrect-inputs");
  EXPECT_EQ(examined().proof.told,
            (SignatureReaction{Reaction::kBackOff, Bucket::kInfrastructure}));
  write("");
  EXPECT_EQ(examined(0, 2).proof.told, (SignatureReaction{Reaction::kStop, Bucket::kUnknown}));
  write("nothing to see\n");
  EXPECT_FALSE(examined().proof.told) << "no signature says anything";
  std::ofstream(home_ / "signatures.yaml")
      << "signatures:\n  - id: licence\n    reason: permission-error\n    reaction: back-off\n"
         "    patterns: ['no licence left']\n    says: no licence was left\n";
  write("no licence left\n");
  EXPECT_EQ(examined().proof.told, (SignatureReaction{Reaction::kBackOff, Bucket::kUser}));
}

TEST_F(DoctorTest, CountsTheLinesOfALongLogAndReadsItsEnd) {
  std::string text;
  for (int i = 0; i < 200'000; ++i) text += "step 12345\n";
  write(text + "MemoryError\n");
  const FailureDiagnoser::Finding over = examined();
  EXPECT_EQ(over.reason, "cpu-out-of-memory");
  EXPECT_EQ(over.proof.line, 200'001);
}

TEST_F(DoctorTest, OfAnUnknownEndNothingIsChanged) {
  write("all well so far\n");
  EXPECT_EQ(examined().words, "rank 0 ended with status 1");
  EXPECT_EQ(examined().reason, "no-signature");
}

TEST_F(DoctorTest, ReadsNothingButAPlainFile) {
  std::filesystem::create_directories(home_ / "other");
  std::ofstream(home_ / "other/secret") << "MemoryError\n";
  std::filesystem::create_symlink(home_ / "other/secret", log());
  EXPECT_EQ(examined().reason, "no-signature");
  std::filesystem::remove(log());
  ASSERT_EQ(::mkfifo(log().c_str(), 0600), 0);
  EXPECT_EQ(examined().reason, "no-signature");  // It does not block on the pipe.
  std::filesystem::remove(log());
  EXPECT_EQ(examined().reason, "no-signature");
}

TEST_F(DoctorTest, OwnSignaturesAreCheckedAndComeFirst) {
  FailureDiagnoser doctor(LeaseFiles(home_ / "leases"), home_ / "signatures.yaml");
  EXPECT_FALSE(doctor.check());
  std::ofstream(home_ / "signatures.yaml") << "signatures:\n  - id: x\n    reason: nonsense\n";
  ASSERT_TRUE(doctor.check());
  EXPECT_NE(doctor.check()->message.find("signatures.yaml"), std::string::npos);
}

}  // namespace
}  // namespace muster
