#pragma once

// Reads the flat JSON objects of records and control requests strictly: every key known, every
// value of its type and within its range; the first thing wrong is kept as one line. Used by the
// shim's readers; each says the fields it knows and then asks for trouble().

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
  // The object of a text of at most `most` bytes.
  static Result<Fields> parse(std::string_view text, std::size_t most);
  explicit Fields(nlohmann::json object) : object_(std::move(object)) {}

  // Each gives the value, or the fallback and a complaint. With no fallback the key must be there.
  std::int64_t whole(const char* key, std::int64_t least, std::int64_t most,
                     std::optional<std::int64_t> fallback = {});
  double number(const char* key);
  bool flag(const char* key);
  std::string text(const char* key, std::optional<std::string> fallback = {});
  std::vector<std::string> texts(const char* key);
  std::vector<std::int64_t> wholes(const char* key, std::int64_t least, std::int64_t most);
  std::map<std::string, std::string> pairs(const char* key);
  std::vector<Fields> objects(const char* key);

  void complain(std::string what);
  // The first complaint, else one about a key nobody asked for.
  Refusal trouble() const;

 private:
  const nlohmann::json* find(const char* key, bool required);

  nlohmann::json object_;
  std::vector<std::string> known_;
  std::string complaint_;
};

}  // namespace muster
