#include "cli/live/answer_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <ctime>

#include "base/text/wording.h"
#include "cli/live/live_session.h"
#include "engine/model/tenants.h"

namespace muster {

namespace {

using Json = nlohmann::json;

}  // namespace

std::string brief_time(double seconds) {
  const double most = 1e11;
  const auto s = static_cast<std::int64_t>(
      std::isfinite(seconds) ? std::clamp(std::floor(seconds), 0.0, most) : 0.0);
  if (s < 60) return fmt::format("{}s", s);
  if (s < 3600) return fmt::format("{}m{:02}s", s / 60, s % 60);
  if (s < 86400) return fmt::format("{}h{:02}m", s / 3600, s / 60 % 60);
  return fmt::format("{}d{:02}h", s / 86400, s / 3600 % 24);
}

std::string local_time(double since_1970) {
  if (!(since_1970 >= 0 && since_1970 < 1e11)) return "?";
  const auto seconds = static_cast<std::time_t>(since_1970);
  std::tm parts = {};
  localtime_r(&seconds, &parts);
  char text[40];
  return {text, std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &parts)};
}

Result<std::int64_t> parse_local_time(const std::string& text, double now) {
  const Error wrong{"must be a local time, 18:40 or 2026-11-20T18:40, not " + in_quotes(text),
                    ErrorCode::kInvalid};
  const auto today = static_cast<std::time_t>(now);
  std::tm parts = {};
  localtime_r(&today, &parts);
  parts.tm_sec = 0;
  const bool has_date = text.find('-') != std::string::npos;
  const std::tm before = parts;
  const char* end = nullptr;
  for (const char* format : {"%H:%M", "%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M"}) {
    parts = before;
    end = strptime(text.c_str(), format, &parts);
    if (end != nullptr && *end == '\0') break;
    end = nullptr;
  }
  if (end == nullptr) return wrong;
  const int day = parts.tm_mday;
  parts.tm_isdst = -1;
  std::time_t time = std::mktime(&parts);
  if (time < 0 || parts.tm_mday != day) return wrong;  // For example February 30.
  if (!has_date && static_cast<double>(time) <= now) {
    ++parts.tm_mday;
    parts.tm_isdst = -1;
    time = std::mktime(&parts);
  }
  return static_cast<std::int64_t>(time);
}

std::string short_local_time(double since_1970, double now) {
  const std::string time = local_time(since_1970);
  if (time.size() < 16) return time;
  const bool same_day = time.substr(0, 10) == local_time(now).substr(0, 10);
  return same_day ? time.substr(11, 5) : time.substr(0, 16);
}

double now_since_1970() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration<double>(now).count();
}

std::string progress_text(const Json& job) {
  const auto found = job.find("progress");
  if (found == job.end() || !found->is_object()) return "";
  std::string text;
  const auto add = [&](const char* key, const char* before, const char* after) {
    if (!found->contains(key) || !(*found)[key].is_number()) return;
    text += fmt::format("{}{}{:.4g}{}", text.empty() ? "" : ", ", before, number_at(*found, key),
                        after);
  };
  if (found->contains("step")) text = fmt::format("step {:.0f}", number_at(*found, "step"));
  add("epoch", "epoch ", "");
  add("loss", "loss ", "");
  add("rate", "", "/s");
  return text;
}

bool is_over(const Json& job) {
  const std::string state = text_at(job, "state");
  return state == "done" || state == "failed" || state == "cancelled" || state == "rejected";
}

bool holds_gpus(const Json& job) {
  const std::string state = text_at(job, "state");
  return state == "running" || state == "stopping" || state == "starting";
}

std::string state_text(const Json& job) {
  return flag_at(job, "prerun") && holds_gpus(job) ? "pre-run" : text_at(job, "state");
}

Tint state_tint(const Json& job) {
  const std::string state = text_at(job, "state");
  if (state == "running" || state == "done") return Tint::kGreen;
  if (state == "failed" || state == "rejected") return Tint::kRed;
  if (state == "cancelled" || state == "held") return Tint::kDim;
  return Tint::kYellow;
}

std::string tenant_text(const Json& job) {
  return std::string(tenant_or_default(text_at(job, "tenant")));
}

std::string job_id_text(const Json& job) {
  if (!job.contains("array") || !job.contains("index")) return std::to_string(count_at(job, "id"));
  return fmt::format("{}_{}", count_at(job, "array"), count_at(job, "index"));
}

std::string name_text(const Json& job) {
  std::string name = text_at(job, "name");
  if (job.contains("array") && job.contains("index")) {
    name += fmt::format("[{}]", count_at(job, "index"));
  }
  return name;
}

std::string time_text(const Json& job, double now) {
  if (is_over(job) || holds_gpus(job)) {
    if (job.contains("ran_s")) return brief_time(number_at(job, "ran_s"));
    return job.contains("started") ? brief_time(now - number_at(job, "started")) : "-";
  }
  const char* const since = job.contains("waits_since") ? "waits_since" : "submitted";
  return job.contains(since) ? brief_time(now - number_at(job, since)) : "-";
}

std::string notice_text(const Json& answer) {
  const std::string notice = text_at(answer, "notice");
  return notice.empty() ? "" : printable(notice) + "\n";
}

std::string evidence_text(const nlohmann::json& told) {
  const std::string evidence = text_at(told, "evidence");
  if (evidence.empty() || !told.contains("line")) return evidence;
  return fmt::format("line {}: {}", count_at(told, "line"), evidence);
}

void Facts::add(std::string name, std::string value) {
  if (!value.empty()) facts_.emplace_back(std::move(name), printable(value));
}

std::string Facts::text() const {
  std::size_t width = 0;
  for (const auto& [name, value] : facts_) width = std::max(width, name.size());
  std::string out;
  for (const auto& [name, value] : facts_) out += fmt::format("  {:<{}}  {}\n", name, width, value);
  return out;
}

std::size_t output_width() {
  return is_terminal(1) ? static_cast<std::size_t>(terminal_width(1)) : 0;
}

}  // namespace muster
