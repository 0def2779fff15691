#pragma once

// Incremental parser for server-sent events. Used by ApiClient.

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/types/result.h"

namespace muster {

struct SseEvent {
  std::string kind;  // The "event" field; "message" if absent.
  std::string data;  // The data lines, joined with '\n'.
  std::string id;    // The latest id, from this event or an earlier one.
};

// Accepts the stream in pieces of any size. Lines end in "\n", "\r\n" or "\r". Comments and unknown
// fields are ignored. An event without data and without a kind is dropped.
class SseParser {
 public:
  // Calls `on_event` for each complete event, until it returns false; then returns false. Returns
  // an error if an event exceeds kMaxEventBytes; the stream is then unusable.
  Result<bool> take(std::string_view bytes, const std::function<bool(const SseEvent&)>& on_event);

  static constexpr std::size_t kMaxEventBytes = 16U << 20U;

 private:
  bool end_line(const std::function<bool(const SseEvent&)>& on_event);
  void field(std::string_view name, std::string_view value);

  std::string line_;
  bool after_return_ = false;  // The last byte was '\r'; a following '\n' belongs to it.
  std::string kind_;
  std::optional<std::string> data_;
  std::string id_;
};

}  // namespace muster
