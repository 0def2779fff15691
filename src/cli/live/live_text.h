#pragma once

// How the live manager's answers look to a person.

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/terminal/table.h"

namespace muster {

// "12s", "3m12s", "2h05m", "3d04h".
std::string brief_time(double seconds);
// "2026-11-16 12:00:03" where the user is.
std::string local_time(double since_1970);
double now_since_1970();

// "1,200 steps", of the last report: "step 1200, epoch 3, loss 0.431, 12.1/s".
std::string progress_text(const nlohmann::json& job);

// Has it a place on servers; is it over.
bool holds_gpus(const nlohmann::json& job);
bool is_over(const nlohmann::json& job);
std::string state_text(const nlohmann::json& job);
Tint state_tint(const nlohmann::json& job);
std::string tenant_text(const nlohmann::json& job);  // "default" if it named none.
std::string name_text(const nlohmann::json& job);    // "resnet", of an array "resnet[3]".
// How long it has run, or waited if it waits.
std::string time_text(const nlohmann::json& job, double now);

// The line that shows why it failed, with its number; empty if there is none.
std::string evidence_text(const nlohmann::json& told);

// Facts under each other: "  submitted  12:00". Facts without a value are left out.
class Facts {
 public:
  void add(std::string name, std::string value);
  std::string text() const;

 private:
  std::vector<std::pair<std::string, std::string>> facts_;
};

// As wide as the terminal that standard output is; 0 if it is none.
std::size_t output_width();

}  // namespace muster
