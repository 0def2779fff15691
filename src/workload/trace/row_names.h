#pragma once

// Reads the text columns of a row (id, model, user, tenant, name, GPU type), validates them and
// adds them to the name tables of the trace.

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
  // REQUIRES: all arguments outlive this object.
  NameReader(const FormatSpec& format, const Columns& columns, const ProfileTable& profiles,
             Trace& trace);

  // Sets the text fields of `job`. Call it only for rows that become jobs, because names stay in
  // the tables. Errors name the column and the problem.
  MaybeError read(const std::vector<std::string_view>& cells, TraceJob& job);

  ProfileId profile_of(std::uint32_t model) const { return model_profiles_[model]; }
  // Number of jobs that accept one of several GPU types.
  std::int64_t jobs_with_choice() const { return jobs_with_choice_; }

 private:
  MaybeError read_cell(std::size_t column, std::string_view text, TraceJob& job);
  MaybeError check_text(std::size_t column, std::string_view text) const;
  MaybeError set_id(std::size_t column, std::string_view text, TraceJob& job) const;
  MaybeError set_name(std::size_t column, std::string_view text, NameTable& table,
                      std::uint32_t& out);
  MaybeError set_model(std::size_t column, std::string_view text, TraceJob& job);
  MaybeError set_choice(std::size_t column, std::string_view text, TraceJob& job);

  const FormatSpec& format_;
  const Columns& columns_;
  const ProfileTable& profiles_;
  Trace& trace_;
  std::vector<std::size_t> places_;                                   // Indices of text columns.
  std::vector<ProfileId> model_profiles_ = {ProfileTable::kUnknown};  // By index in Trace::models.
  std::int64_t jobs_with_choice_ = 0;
};

}  // namespace muster
