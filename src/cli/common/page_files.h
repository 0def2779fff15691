#pragma once

// Writes a Page to files, for `muster analyze` and `muster report`.

#include <string>

#include "base/types/result.h"
#include "study/page/page.h"

namespace muster {

// Writes one HTML file atomically. Creates its directory if needed.
MaybeError write_html(const std::string& path, const Page& page);

// Writes index.html, a CSV file per table and plot, and page.json, which `muster view` opens.
// Creates the directory if needed.
MaybeError write_page(const std::string& dir, const Page& page);

}  // namespace muster
