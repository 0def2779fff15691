#pragma once

// Tables of the exchangeable parts (policies, mechanisms and so on): one constant table per kind,
// with a name and a one-line description. The command line, the documents and the conformance tests
// iterate over these tables.

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/text/text.h"
#include "base/types/owned.h"
#include "base/types/result.h"

namespace muster {

// `Options` are the user settings of such a part, if any.
template <class Part, class... Options>
struct Entry {
  std::string_view name;
  std::string_view doc;  // One line, without a period.
  Owned<Part> (*make)(const Options&...);
};

// Creates a part that has no options; for the `make` of an entry.
template <class Part, class T>
Owned<Part> make_part() {
  return std::make_unique<T>();
}

template <class Part, class... Options>
std::vector<std::string_view> names_of(std::span<const Entry<Part, Options...>> table) {
  std::vector<std::string_view> names;
  for (const Entry<Part, Options...>& entry : table) names.push_back(entry.name);
  return names;
}

// Returns the entry `name`. The error suggests similar names. `kind` is its noun, such as "policy".
template <class Part, class... Options>
Result<const Entry<Part, Options...>*> find_entry(std::span<const Entry<Part, Options...>> table,
                                                  std::string_view kind, std::string_view name) {
  for (const Entry<Part, Options...>& entry : table) {
    if (entry.name == name) return &entry;
  }
  return Error{"--" + std::string(kind) + ": unknown " + std::string(kind) + " " + in_quotes(name) +
               suggestion(name, names_of(table))};
}

}  // namespace muster
