#include "workload/input/profile_skew.h"

#include <gtest/gtest.h>

#include "base/file/document.h"
#include "base/types/testing.h"
#include "workload/input/profiles_file.h"

namespace muster {
namespace {

constexpr std::string_view kFile =
    "# Ours.\n"
    "profiles:\n"
    "  - name: vgg16   # measured in May\n"
    "    task: image\n"
    "    formula: {gpu_seconds: 0.1}\n"
    "\n"
    "  - name: res50\n"
    "    skew: 0.112  # of Tiresias\n"
    "    formula: {gpu_seconds: 0.2}\n";

std::string edited(std::string_view text, const std::string& profile, double skew) {
  const Result<std::string> out = with_skew(text, "p.yaml", profile, skew);
  if (!out.ok()) return out.error().message;
  const Result<ProfileFile> file = parse_profiles(out.value(), "p.yaml");
  EXPECT_TRUE(file.ok());
  EXPECT_EQ(file.value().table[file.value().table.find(profile)].skew(), skew);
  return out.value();
}

TEST(ProfileSkew, ReplacesTheNumberAlone) {
  EXPECT_EQ(edited(kFile, "res50", 0.4), replaced(kFile, "0.112", "0.4"));
}

TEST(ProfileSkew, InsertsOneLineUnderTheName) {
  EXPECT_EQ(edited(kFile, "vgg16", 0.743),
            replaced(kFile, "in May\n", "in May\n    skew: 0.743\n"));
  EXPECT_EQ(edited(replaced(kFile, "- name: res50\n    skew: 0.112  # of Tiresias",
                            "- task: image\n    name: res50"),
                   "res50", 0.5),
            replaced(kFile, "- name: res50\n    skew: 0.112  # of Tiresias",
                     "- task: image\n    name: res50\n    skew: 0.5"));
}

TEST(ProfileSkew, AppendsANewProfile) {
  EXPECT_EQ(edited(kFile, "alexnet", 0.611),
            std::string(kFile) + "  - name: alexnet\n    skew: 0.611\n");
  EXPECT_EQ(edited("profiles:\n- name: a\n  skew: 0.1", "b", 0.2),
            "profiles:\n- name: a\n  skew: 0.1\n- name: b\n  skew: 0.2\n");
  EXPECT_EQ(edited(kFile, "null", 0.5), std::string(kFile) + "  - name: \"null\"\n    skew: 0.5\n");
}

TEST(ProfileSkew, MakesANewFile) {
  EXPECT_EQ(edited("", "alexnet", 0.611), "profiles:\n  - name: \"alexnet\"\n    skew: 0.611\n");
  EXPECT_EQ(edited(" \n", "m", 0), "profiles:\n  - name: \"m\"\n    skew: 0\n");
}

TEST(ProfileSkew, FlowStyleAndJson) {
  constexpr std::string_view kFlow =
      "profiles: [{name: a, skew: 0.1}, {name: b, skew: 0.1, task: x}, {name: c, gpu_use: 1}]";
  EXPECT_EQ(edited(kFlow, "b", 0.5), replaced(kFlow, "b, skew: 0.1", "b, skew: 0.5"));
  EXPECT_EQ(edited(kFlow, "c", 0.5), replaced(kFlow, "name: c", "skew: 0.5, name: c"));
  EXPECT_EQ(edited(kFlow, "d", 0.5),
            replaced(kFlow, "{name: a", R"({"name": "d", "skew": 0.5}, {name: a)"));
  constexpr std::string_view kJson =
      "{\"profiles\": [\n  {\"name\": \"a\",\n   \"gpu_use\": 1}\n]}\n";
  EXPECT_EQ(edited(kJson, "a", 0.5), replaced(kJson, "\"name\"", "\"skew\": 0.5, \"name\""));
  EXPECT_EQ(edited(kJson, "b", 0.5),
            replaced(kJson, "{\"name\"", R"({"name": "b", "skew": 0.5}, {"name")"));
}

TEST(ProfileSkew, WordsInsideOtherTextAreLeftAlone) {
  constexpr std::string_view kTricky =
      "profiles:\n  - {name: skew, task: 'name', skew: 0.1} # skew: 0.1\n";
  EXPECT_EQ(edited(kTricky, "skew", 0.5), replaced(kTricky, "skew: 0.1", "skew: 0.5"));
}

TEST(ProfileSkew, LineEndsOfAnotherSystem) {
  EXPECT_EQ(edited("profiles:\r\n  - name: a\r\n    skew: 0.1\r\n", "a", 0.5),
            "profiles:\r\n  - name: a\r\n    skew: 0.5\r\n");
}

TEST(ProfileSkew, Refuses) {
  EXPECT_EQ(edited("profiles: 3", "a", 0.5), "p.yaml:1: profiles: not a list: '3'");
  EXPECT_EQ(edited(kFile, "a b", 0.5),
            "p.yaml:1: name: a name has only letters, digits and . _ - + : /: 'a b'");
  EXPECT_EQ(edited("", "", 0.5), "p.yaml:1: name: empty name");
  EXPECT_EQ(edited("profiles:\n  - name:\n      a\n    skew:\n      0.1\n", "a", 0.5),
            "p.yaml:4: profiles: cannot insert the skew; add 'skew: 0.5' manually to the profile "
            "'a'");
}

}  // namespace
}  // namespace muster
