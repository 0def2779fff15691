#pragma once

// Files of the dashboard. The build creates them from web/ and embeds them in the program. The HTTP
// server serves them without authentication, because they contain no data about a cluster.

#include <span>
#include <string_view>

namespace muster {

struct DashFile {
  std::string_view path;  // URL path, such as "/app.js"; "/" is the page.
  std::string_view content_type;
  std::string_view gzip;  // Compressed content.
};

std::span<const DashFile> dash_files();

// Finds a file by its URL path without a query; null if there is none.
const DashFile* find_dash_file(std::string_view path);

// Returns the response headers for all files: content encoding and security policy (the page loads
// only its own files and cannot be framed).
std::string_view dash_headers();

}  // namespace muster
