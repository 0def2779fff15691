#include "live/views/secrets.h"

#include <gtest/gtest.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace muster {
namespace {

TEST(Secrets, AreRecognizedByTheWordsOfAName) {
  for (const char* name :
       {"HF_TOKEN", "AWS_SECRET_ACCESS_KEY", "--api-key", "db_password", "JWT"}) {
    EXPECT_TRUE(is_secret_name(name)) << name;
  }
  for (const char* name : {"TOKENIZERS_PARALLELISM", "AUTHOR", "KEYBOARD", "PWD", "DATA", ""}) {
    EXPECT_FALSE(is_secret_name(name)) << name;
  }
}

TEST(Secrets, AreHiddenInCommands) {
  EXPECT_EQ(without_secrets("HF_TOKEN=abc python x.py"), "HF_TOKEN=*** python x.py");
  EXPECT_EQ(without_secrets("--api-key=abc"), "--api-key=***");
  EXPECT_EQ(without_secrets("postgres://u:p@h/db --lr=0.1"), "postgres://u:***@h/db --lr=0.1");
  EXPECT_EQ(without_secrets("echo a=b; https://host:80/x"), "echo a=b; https://host:80/x");
  EXPECT_EQ(without_secrets("KEY="), "KEY=***");
  EXPECT_EQ(without_secrets("run --api-key abc --lr 1"), "run --api-key *** --lr 1");
  EXPECT_EQ(without_secrets("press KEY twice"), "press KEY twice");
}

TEST(Secrets, PasswordsInUrlsAreHidden) {
  EXPECT_EQ(without_secrets("a://u:p@h a://h:1/@ b://u:p:q@r@h"),
            "a://u:***@h a://h:1/@ b://u:***@h");
  EXPECT_EQ(without_secrets("://://u:p@://:@"), "://://u:***@://:***@");
  EXPECT_EQ(without_secrets("a@b://h a://u@h a://:p@"), "a@b://h a://u@h a://:***@");
}

// Users choose their commands, and the manager's thread formats them.
TEST(Secrets, ALongCommandCostsLittleTime) {
  for (const std::string_view part : {"://", "://:x@", "://@", "/:", "A=", "KEY ", "--key "}) {
    std::string text;
    while (text.size() < (512U << 10U)) text += part;
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_FALSE(without_secrets(text).empty());
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(2)) << part;
  }
}

TEST(Secrets, AreHiddenInRequests) {
  nlohmann::json request = {
      {"env", {{"WANDB_API_KEY", "k"}, {"DATA", "/d"}, {"DATABASE_URL", "pg://u:p@h"}}},
      {"command", {"sh", "-c", "TOKEN=t run"}}};
  hide_secrets(request);
  EXPECT_EQ(request["env"]["WANDB_API_KEY"], "***");
  EXPECT_EQ(request["env"]["DATA"], "***") << "any value can be a secret";
  EXPECT_EQ(request["env"]["DATABASE_URL"], "***");
  EXPECT_EQ(request["command"][2], "TOKEN=*** run");
  nlohmann::json options = {{"command", {"run", "--api-key", "abc", "--token", "--lr", "1"}}};
  hide_secrets(options);
  EXPECT_EQ(options["command"],
            (nlohmann::json{"run", "--api-key", "***", "--token", "--lr", "1"}));
  nlohmann::json odd = {{"env", 3}, {"command", "text"}};
  hide_secrets(odd);
  EXPECT_EQ(odd["env"], "***");
}

}  // namespace
}  // namespace muster
