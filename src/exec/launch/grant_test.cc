#include "exec/launch/grant.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <random>

namespace muster {
namespace {

constexpr std::int64_t kNow = 1'800'000'000;

template <class Array>
Array counting(std::uint8_t first) {
  Array bytes{};
  for (auto& each : bytes) each = first++;
  return bytes;
}

const GrantKey kKey = counting<GrantKey>(0);

Grant sample_grant() {
  Grant grant;
  grant.uid = 1005;
  grant.gid = 1006;
  grant.issued = kNow;
  grant.until = kNow + kDefaultGrantSeconds;
  grant.nonce = counting<decltype(grant.nonce)>(0x40);
  grant.instance = counting<InstanceBytes>(0x60);
  grant.digest = counting<Sha256>(0x80);
  return grant;
}

std::string hex(ByteSpan bytes) {
  std::string text;
  char digits[3];
  for (const std::uint8_t each : bytes) {
    std::snprintf(digits, sizeof digits, "%02x", each);
    text += digits;
  }
  return text;
}

Result<Grant> verify(ByteSpan bytes, std::int64_t now = kNow) {
  return verify_grant(bytes, kKey, sample_grant().instance, sample_grant().digest, now);
}

std::string reason(const Grant& grant, std::int64_t now = kNow) {
  const auto result = verify(sign_grant(grant, kKey), now);
  return result.ok() ? "ok" : result.error().message;
}

TEST(Grant, HasStableBytes) {
  // The MAC was computed with Python's hmac module.
  EXPECT_EQ(hex(sign_grant(sample_grant(), kKey)),
            "01000000ed030000ee0300000000000000d2496b00000000005f716b00000000"
            "404142434445464748494a4b4c4d4e4f606162636465666768696a6b6c6d6e6f"
            "808182838485868788898a8b8c8d8e8f909192939495969798999a9b9c9d9e9f" +
                std::string(128, '0') +
                "6fcf099bd2c847b03aa9a22b8bf83a0673a4307806dbadb17dc2d2a5a459158a");
}

TEST(Grant, QuestionHasStableBytes) {
  GrantQuestion question;
  question.seconds = 3600;
  question.instance = counting<InstanceBytes>(0x60);
  question.digest = counting<Sha256>(0x80);
  EXPECT_EQ(hex(pack(question)),
            "01000000100e0000606162636465666768696a6b6c6d6e6f"
            "808182838485868788898a8b8c8d8e8f909192939495969798999a9b9c9d9e9f0000000000000000");
  const auto read = read_question(pack(question));
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read.value().seconds, 3600u);
  EXPECT_EQ(read.value().instance, question.instance);
  EXPECT_EQ(read.value().digest, question.digest);
}

TEST(Grant, Sha256IsThePublishedOne) {
  const std::string text = "abc";  // FIPS 180-2.
  EXPECT_EQ(hex(sha256({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()})),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(Grant, IsVerified) {
  const auto grant = verify(sign_grant(sample_grant(), kKey));
  ASSERT_TRUE(grant.ok()) << grant.error().message;
  EXPECT_EQ(grant.value().uid, 1005u);
  EXPECT_EQ(grant.value().gid, 1006u);
  EXPECT_EQ(grant.value().until, kNow + kDefaultGrantSeconds);
}

TEST(Grant, EachChangedBitIsRefused) {
  const GrantBytes fine = sign_grant(sample_grant(), kKey);
  for (std::size_t bit = 0; bit < 8 * fine.size(); ++bit) {
    GrantBytes changed = fine;
    changed[bit / 8] = static_cast<std::uint8_t>(changed[bit / 8] ^ (1 << (bit % 8)));
    const auto result = verify(changed);
    ASSERT_FALSE(result.ok()) << bit;
    EXPECT_EQ(result.error().message, "grant: wrong signature");
    EXPECT_EQ(result.error().code, ErrorCode::kForbidden);
  }
}

TEST(Grant, EachChangedBitOfTheKeyIsRefused) {
  const GrantBytes fine = sign_grant(sample_grant(), kKey);
  for (std::size_t bit = 0; bit < 8 * kKey.size(); ++bit) {
    GrantKey key = kKey;
    key[bit / 8] = static_cast<std::uint8_t>(key[bit / 8] ^ (1 << (bit % 8)));
    EXPECT_FALSE(
        verify_grant(fine, key, sample_grant().instance, sample_grant().digest, kNow).ok());
  }
}

TEST(Grant, EachOtherLengthIsRefused) {
  const GrantBytes fine = sign_grant(sample_grant(), kKey);
  std::vector<std::uint8_t> bytes(fine.begin(), fine.end());
  bytes.resize(400);
  for (std::size_t size = 0; size <= bytes.size(); ++size) {
    EXPECT_EQ(verify(ByteSpan(bytes).first(size)).ok(), size == fine.size()) << size;
    EXPECT_EQ(read_grant(ByteSpan(bytes).first(size), kNow).ok(), size == fine.size()) << size;
  }
  const auto question = pack(GrantQuestion{});
  std::fill(bytes.begin(), bytes.end(), 0);
  std::copy(question.begin(), question.end(), bytes.begin());
  for (std::size_t size = 0; size <= bytes.size(); ++size) {
    EXPECT_EQ(read_question(ByteSpan(bytes).first(size)).ok(), size == question.size()) << size;
  }
}

TEST(Grant, RandomBytesAreRefused) {
  std::mt19937_64 random(1);
  GrantBytes bytes{};
  for (int i = 0; i < 10'000; ++i) {
    for (auto& each : bytes) each = static_cast<std::uint8_t>(random());
    ASSERT_FALSE(verify(bytes).ok());
  }
}

TEST(Grant, PacksAndUnpacksAnyValues) {
  std::mt19937_64 random(2);
  for (int i = 0; i < 1000; ++i) {
    GrantBytes bytes{};
    for (auto& each : bytes) each = static_cast<std::uint8_t>(random());
    EXPECT_EQ(pack(*unpack<Grant>(bytes)), bytes);
  }
}

// Correctly signed grants that the launcher must refuse anyway.
TEST(Grant, SignedButInvalid) {
  const auto with = [](auto change) {
    Grant grant = sample_grant();
    change(grant);
    return reason(grant);
  };
  const std::string ids = "grant: uid or gid is 0 or -1";
  EXPECT_EQ(with([](Grant& g) { g.uid = 0; }), ids);
  EXPECT_EQ(with([](Grant& g) { g.gid = 0; }), ids);
  EXPECT_EQ(with([](Grant& g) { g.uid = 0xffffffff; }), ids);
  EXPECT_EQ(with([](Grant& g) { g.gid = 0xffffffff; }), ids);
  const std::string format = "grant: unknown format";
  EXPECT_EQ(with([](Grant& g) { g.version = 0; }), format);
  EXPECT_EQ(with([](Grant& g) { g.version = 2; }), format);
  EXPECT_EQ(with([](Grant& g) { g.reserved = 1; }), format);
  EXPECT_EQ(with([](Grant& g) { g.more[63] = 1; }), format);
  EXPECT_EQ(with([](Grant& g) { g.instance[0] = 0; }), "grant: for another manager");
  EXPECT_EQ(with([](Grant& g) { g.digest[31] = 0; }), "grant: for another request");
  const std::string validity = "grant: validity is empty or longer than 180 days";
  EXPECT_EQ(with([](Grant& g) { g.until = g.issued; }), validity);
  EXPECT_EQ(with([](Grant& g) { g.until = g.issued + kMaxGrantSeconds + 1; }), validity);
  EXPECT_EQ(with([](Grant& g) { g.until = INT64_MAX; }), validity);
  EXPECT_EQ(with([](Grant& g) { g.until = INT64_MIN; }), validity);
  EXPECT_EQ(with([](Grant& g) { g.issued = -1; }), validity);
  EXPECT_EQ(with([](Grant& g) { g.issued = INT64_MAX; }), validity);
  EXPECT_EQ(with([](Grant& g) { g.issued = INT64_MIN; }), validity);
  EXPECT_EQ(with([](Grant& g) { g.until = g.issued + kMaxGrantSeconds; }), "ok");
}

TEST(Grant, IsValidForItsTimeOnly) {
  const Grant grant = sample_grant();
  EXPECT_EQ(reason(grant, grant.until - 1), "ok");
  EXPECT_EQ(reason(grant, grant.until), "grant: expired; submit the job again");
  EXPECT_EQ(reason(grant, grant.issued - kMaxClockSkewSeconds), "ok");
  EXPECT_EQ(reason(grant, grant.issued - kMaxClockSkewSeconds - 1),
            "grant: issued in the future; check the clock");
}

TEST(Grant, QuestionsHaveLimits) {
  const auto with = [](auto change) {
    GrantQuestion question;
    change(question);
    const auto read = read_question(pack(question));
    return read.ok() ? "ok" : read.error().message;
  };
  EXPECT_EQ(with([](GrantQuestion& q) { q.version = 2; }), "grant question: unknown format");
  EXPECT_EQ(with([](GrantQuestion& q) { q.reserved = 1; }), "grant question: unknown format");
  EXPECT_EQ(with([](GrantQuestion& q) { q.seconds = kMaxGrantSeconds; }), "ok");
  EXPECT_EQ(with([](GrantQuestion& q) { q.seconds = kMaxGrantSeconds + 1; }),
            "grant question: validity is longer than 180 days");
}

}  // namespace
}  // namespace muster
