#pragma once

// The mapping from the columns of a file to fields of a job, from the header or from the format. It
// is computed once per file.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/types/result.h"
#include "workload/trace/format.h"

namespace muster {

struct Columns {
  std::vector<std::string> names;   // Column names in the file.
  std::vector<Field> fields;        // Field of each column.
  std::vector<std::string> unused;  // Quoted names of the columns that Muster does not use.

  std::optional<std::size_t> find(Field field) const;

  // Returns an error such as "gpus: negative: '-2'": the column name and the problem.
  Error fail(std::size_t column, std::string_view what) const;
  Error fail(Field field, std::string_view what) const;  // REQUIRES: find(field) has a value.
};

// Maps the cells of a header. Returns an error for duplicate columns, missing required columns and,
// in Muster's own format, unknown columns. `line` is the header text for messages; the caller adds
// file and line number.
Result<Columns> map_header(const FormatSpec& format, const std::vector<std::string_view>& cells,
                           std::string_view line);

// Returns the columns of a format without a header, in the order of its FormatSpec.
Columns plain_columns(const FormatSpec& format);

}  // namespace muster
