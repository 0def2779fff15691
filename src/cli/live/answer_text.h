#pragma once

// Formats the live manager's answers as text for users.

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/terminal/table.h"
#include "base/types/result.h"

namespace muster {

// "12s", "3m12s", "2h05m", "3d04h".
std::string brief_time(double seconds);
// "2026-11-16 12:00:03", in the local time zone; "?" if out of range.
std::string local_time(double since_1970);
double now_since_1970();
// Reads a local time: "18:40", the next one, or "2026-11-20T18:40" (or with a blank). Returns
// seconds since 1970.
Result<std::int64_t> parse_local_time(const std::string& text, double now);
// "18:40", with the date if it is not the day of `now`.
std::string short_local_time(double since_1970, double now);

// The job's last progress report: "step 1200, epoch 3, loss 0.431, 12.1/s". Empty if there is none.
std::string progress_text(const nlohmann::json& job);

// Whether the job is starting, running or stopping on nodes; whether it is finished.
bool holds_gpus(const nlohmann::json& job);
bool is_over(const nlohmann::json& job);
std::string state_text(const nlohmann::json& job);
Tint state_tint(const nlohmann::json& job);
std::string tenant_text(const nlohmann::json& job);  // "default" if the job has no tenant.
// "12", or "12_3" for index 3 of the array 12. Commands accept both.
std::string job_id_text(const nlohmann::json& job);
std::string name_text(const nlohmann::json& job);  // "resnet", or "resnet[3]" in an array.
// How long the job has run, or has waited if it is waiting.
std::string time_text(const nlohmann::json& job, double now);

// The log line that shows why the job failed, with its line number; empty if there is none.
std::string evidence_text(const nlohmann::json& told);

// The manager's remark about every list, as a line; empty if there is none.
std::string notice_text(const nlohmann::json& answer);

// Formats one "  name  value" line per fact, aligned: "  submitted  12:00". Facts without a value
// are omitted.
class Facts {
 public:
  void add(std::string name, std::string value);
  std::string text() const;

 private:
  std::vector<std::pair<std::string, std::string>> facts_;
};

// Width of the terminal in columns; 0 if standard output is not a terminal.
std::size_t output_width();

}  // namespace muster
