#pragma once

// Which column of a file fills in what: settled once, from the header or from the format.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/types/result.h"
#include "workload/trace/format.h"

namespace muster {

struct Columns {
  std::vector<std::string> names;   // As the file names them.
  std::vector<Field> fields;        // What each fills in.
  std::vector<std::string> unused;  // Those that say something we do not use.

  std::optional<std::size_t> find(Field field) const;

  // "gpus: negative: '-2'": the column and what is wrong in it.
  Error fail(std::size_t column, std::string_view what) const;
  Error fail(Field field, std::string_view what) const;  // There is such a column.
};

// From a header. Refuses columns named twice and required ones that are missing, and in our own
// format unknown ones; `line` is for the message, which does not say where.
Result<Columns> map_header(const FormatSpec& format, const std::vector<std::string_view>& cells,
                           std::string_view line);

// As the format lists them.
Columns plain_columns(const FormatSpec& format);

}  // namespace muster
