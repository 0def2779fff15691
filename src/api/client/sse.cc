#include "api/client/sse.h"

namespace muster {

Result<bool> SseParser::take(std::string_view bytes,
                             const std::function<bool(const SseEvent&)>& on_event) {
  while (!bytes.empty()) {
    if (after_return_ && bytes.front() == '\n') {
      after_return_ = false;
      bytes.remove_prefix(1);
      continue;
    }
    after_return_ = false;
    const std::size_t end = bytes.find_first_of("\r\n");
    line_ += bytes.substr(0, end);
    if (line_.size() + (data_ ? data_->size() : 0) > kMaxEventBytes) {
      return Error{"the stream contains an event that is too large", ErrorCode::kTooLarge};
    }
    if (end == std::string_view::npos) return true;
    after_return_ = bytes[end] == '\r';
    bytes.remove_prefix(end + 1);
    if (!end_line(on_event)) return false;
  }
  return true;
}

// An empty line ends an event.
bool SseParser::end_line(const std::function<bool(const SseEvent&)>& on_event) {
  const std::string line = std::exchange(line_, {});
  if (!line.empty()) {
    const std::size_t colon = line.find(':');
    std::string_view value =
        colon == std::string::npos ? std::string_view() : std::string_view(line).substr(colon + 1);
    if (value.starts_with(' ')) value.remove_prefix(1);
    field(std::string_view(line).substr(0, colon), value);
    return true;
  }
  SseEvent event{kind_.empty() ? "message" : kind_, data_.value_or(""), id_};
  const bool is_event = data_.has_value() || !kind_.empty();
  kind_.clear();
  data_.reset();
  return !is_event || on_event(event);
}

void SseParser::field(std::string_view name, std::string_view value) {
  if (name == "event") {
    kind_ = value;
  } else if (name == "data") {
    data_ ? void(data_->append("\n").append(value)) : void(data_ = value);
  } else if (name == "id" && value.find('\0') == std::string_view::npos) {
    id_ = value;
  }
}

}  // namespace muster
