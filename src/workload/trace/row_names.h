#pragma once

// The texts of a row: who a job belongs to, what it runs and what it is called, checked and put
// into the tables of the trace.

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/types/result.h"
#include "engine/model/profile.h"
#include "workload/trace/columns.h"
#include "workload/trace/format.h"
#include "workload/trace/trace.h"

namespace muster {

class NameReader {
 public:
  // All must outlive it.
  NameReader(const FormatSpec& format, const Columns& columns, const ProfileTable& profiles,
             Trace& trace);

  // Only for rows that are jobs: what a table has seen, it keeps. The errors say which column and
  // what is wrong with it.
  Refusal read(const std::vector<std::string_view>& cells, TraceJob& job);

  ProfileId profile_of(std::uint32_t model) const { return model_profiles_[model]; }
  std::int64_t jobs_with_choice() const { return jobs_with_choice_; }  // Of several GPU types.

 private:
  Refusal read_cell(std::size_t column, std::string_view text, TraceJob& job);
  Refusal check_text(std::size_t column, std::string_view text) const;
  Refusal set_id(std::size_t column, std::string_view text, TraceJob& job) const;
  Refusal set_name(std::size_t column, std::string_view text, NameTable& table, std::uint32_t& out);
  Refusal set_model(std::size_t column, std::string_view text, TraceJob& job);
  Refusal set_choice(std::size_t column, std::string_view text, TraceJob& job);

  const FormatSpec& format_;
  const Columns& columns_;
  const ProfileTable& profiles_;
  Trace& trace_;
  std::vector<std::size_t> places_;                                   // The columns that are texts.
  std::vector<ProfileId> model_profiles_ = {ProfileTable::kUnknown};  // By model.
  std::int64_t jobs_with_choice_ = 0;
};

}  // namespace muster
