#pragma once

// Strict reader for the flat JSON objects of lease records and control requests. Every key must be
// known, and every value must have its type and range. The caller reads each field it knows and
// then calls trouble() once, which returns the first error.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/types/result.h"

namespace muster {

class Fields {
 public:
  // Parses a JSON object of at most `most` bytes.
  static Result<Fields> parse(std::string_view text, std::size_t most);
  explicit Fields(nlohmann::json object) : object_(std::move(object)) {}

  // Each returns the value of `key`. A missing key gives the fallback; without a fallback it is an
  // error. A wrong value gives a default value and is recorded as an error.
  std::int64_t whole(const char* key, std::int64_t least, std::int64_t most,
                     std::optional<std::int64_t> fallback = {});
  double number(const char* key);
  bool flag(const char* key);
  std::string text(const char* key, std::optional<std::string> fallback = {});
  std::vector<std::string> texts(const char* key);
  std::vector<std::int64_t> wholes(const char* key, std::int64_t least, std::int64_t most);
  std::map<std::string, std::string> pairs(const char* key);
  std::vector<Fields> objects(const char* key);

  // Records an error, unless there is an earlier one.
  void complain(std::string what);
  // Returns the first recorded error, or an error for a key that the caller did not read.
  MaybeError trouble() const;

 private:
  const nlohmann::json* find(const char* key, bool required);

  nlohmann::json object_;
  std::vector<std::string> known_;
  std::string complaint_;
};

}  // namespace muster
