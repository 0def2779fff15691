#pragma once

// Server-sent events out of the bytes of a stream, which may be cut anywhere. Used by ApiClient.

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/types/result.h"

namespace muster {

struct SseEvent {
  std::string kind;  // "message" unless the stream says otherwise.
  std::string data;  // Its data lines, with '\n' between them.
  std::string id;    // The last the stream gave, in this event or an earlier one.
};

// Takes the stream as it comes. Lines end in "\n", "\r\n" or "\r"; comments and unknown fields are
// passed over; an event without data or id is none, as the standard has it, unless it has a kind.
class SseParser {
 public:
  // `on_event` says whether to go on. False if it did not want more; an error if an event is
  // larger than the bound, after which nothing more can be made of the stream.
  Result<bool> take(std::string_view bytes, const std::function<bool(const SseEvent&)>& on_event);

  static constexpr std::size_t kMostEventBytes = 16U << 20U;

 private:
  bool end_line(const std::function<bool(const SseEvent&)>& on_event);
  void field(std::string_view name, std::string_view value);

  std::string line_;
  bool after_return_ = false;  // The last byte was '\r': a '\n' now belongs to it.
  std::string kind_;
  std::optional<std::string> data_;
  std::string id_;
};

}  // namespace muster
