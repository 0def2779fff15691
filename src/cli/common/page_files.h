#pragma once

// A page as files, for `muster analyze` and `muster report`.

#include <string>

#include "base/types/result.h"
#include "study/page/page.h"

namespace muster {

// One file, whole or not at all; its directory is made if it is not there.
Refusal write_html(const std::string& path, const Page& page);

// index.html, the CSV behind each table and plot, and page.json, which `muster view` opens, into a
// directory that is made if need be.
Refusal write_page(const std::string& dir, const Page& page);

}  // namespace muster
