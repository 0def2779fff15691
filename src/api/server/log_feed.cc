#include "api/server/log_feed.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "api/server/http_text.h"

namespace muster {
namespace {

constexpr std::size_t kPieceBytes = 64U << 10U;
constexpr int kTicksBetweenCalls = 5;

class LogPage final : public Feed {
 public:
  LogPage(ResponseWriter& outlet, FindLog find, std::int64_t offset, std::uint64_t limit)
      : outlet_(outlet), find_(std::move(find)), offset_(offset), left_(limit) {}

  void start() override {
    outlet_.ask(find_, [this](Answer answer) {
      answer.log ? begin(*answer.log) : outlet_.refuse(std::move(answer));
    });
  }

  void drained() override {
    if (left_ == 0) return outlet_.end();
    const std::string bytes = source_->read(std::min<std::uint64_t>(left_, kPieceBytes));
    if (bytes.empty()) return outlet_.end();  // The file was truncated meanwhile.
    left_ -= bytes.size();
    outlet_.put(bytes);
  }

 private:
  void begin(const LogPlace& place) {
    source_ = place.open();
    left_ = std::min(left_, source_->size() - source_->seek(offset_));
    outlet_.begin(
        fmt::format("Muster-Log-Size: {}\r\nMuster-Log-Over: {}\r\n", source_->size(), place.over),
        left_);
  }

  ResponseWriter& outlet_;
  FindLog find_;
  std::int64_t offset_;
  std::uint64_t left_;
  std::unique_ptr<LogSource> source_;
};

class FollowLog final : public Feed {
 public:
  FollowLog(ResponseWriter& outlet, FindLog find, std::int64_t offset)
      : outlet_(outlet), find_(std::move(find)), offset_(offset) {}

  void start() override {
    outlet_.ask(find_, [this](Answer answer) {
      answer.log ? begin(*answer.log) : outlet_.refuse(std::move(answer));
    });
  }

  void drained() override {
    if (source_) pump();
  }

  // While there is no output, asks the manager once per second whether the output is complete.
  void tick() override {
    if (outlet_.pending() > 0) return;
    pump();
    if (over_ || outlet_.pending() > 0 || ++idle_ticks_ < kTicksBetweenCalls) return;
    idle_ticks_ = 0;
    outlet_.ask(find_, [this](const Answer& answer) {
      over_ = !answer.log || answer.log->over;
      if (over_ && outlet_.pending() == 0) pump();
    });
  }

 private:
  void begin(const LogPlace& place) {
    find_.job = std::to_string(place.job);
    find_.lease = place.lease;  // Stay with this lease if the job gets a new one.
    over_ = place.over;
    source_ = place.open();
    source_->seek(offset_);
    outlet_.begin({}, std::nullopt);
  }

  void pump() {
    const bool was_over = over_;
    std::string bytes = std::exchange(cut_, {}) + source_->read(kPieceBytes);
    const bool all = bytes.size() < 4 && was_over;  // The output is complete, and this is its end.
    const std::size_t whole = all ? bytes.size() : whole_characters(bytes);
    cut_ = bytes.substr(whole);
    bytes.resize(whole);
    if (!bytes.empty()) {
      idle_ticks_ = 0;
      outlet_.put("data: " + json_string(bytes) + "\n\n");
    }
    if (bytes.empty() && was_over && cut_.empty() && !ended_) {
      ended_ = true;
      outlet_.put("event: end\ndata: {}\n\n");
      outlet_.end();
    }
  }

  ResponseWriter& outlet_;
  FindLog find_;
  std::int64_t offset_;
  bool over_ = false;
  bool ended_ = false;
  std::unique_ptr<LogSource> source_;
  std::string cut_;  // Incomplete UTF-8 character.
  int idle_ticks_ = 0;
};

}  // namespace

std::size_t whole_characters(std::string_view bytes) {
  for (std::size_t back = 1; back <= std::min<std::size_t>(3, bytes.size()); ++back) {
    const auto byte = static_cast<unsigned char>(bytes[bytes.size() - back]);
    if ((byte & 0xC0U) == 0x80U) continue;  // Continuation byte.
    const std::size_t length = byte >= 0xF0U ? 4 : byte >= 0xE0U ? 3 : byte >= 0xC0U ? 2 : 1;
    return length > back ? bytes.size() - back : bytes.size();
  }
  return bytes.size();
}

std::unique_ptr<Feed> log_page(ResponseWriter& outlet, FindLog find, std::int64_t offset,
                               std::uint64_t limit) {
  return std::make_unique<LogPage>(outlet, std::move(find), offset, limit);
}

std::unique_ptr<Feed> follow_log(ResponseWriter& outlet, FindLog find, std::int64_t offset) {
  return std::make_unique<FollowLog>(outlet, std::move(find), offset);
}

}  // namespace muster
