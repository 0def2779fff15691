#pragma once

// How the swappable parts are listed: one literal table per kind, with a name and one line for
// people. The command line, the docs and the conformance tests all iterate these tables.

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/text.h"

namespace muster {

template <class Part>
struct Entry {
  std::string_view name;
  std::string_view doc;  // One line, no full stop.
  std::unique_ptr<Part> (*make)();
};

template <class Part>
std::vector<std::string_view> names_of(std::span<const Entry<Part>> table) {
  std::vector<std::string_view> names;
  for (const Entry<Part>& entry : table) names.push_back(entry.name);
  return names;
}

// `kind` is the word for the error message, as in "policy".
template <class Part>
Result<const Entry<Part>*> find_entry(std::span<const Entry<Part>> table, std::string_view kind,
                                      std::string_view name) {
  for (const Entry<Part>& entry : table) {
    if (entry.name == name) return &entry;
  }
  return Error{"--" + std::string(kind) + ": unknown " + std::string(kind) + " " + in_quotes(name) +
               suggestion(name, names_of(table))};
}

}  // namespace muster
