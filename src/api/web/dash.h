#pragma once

// The dashboard's files, as the browser gets them. They are made from web/ when Muster is built and
// are part of the program; the HTTP server hands them to whoever asks, since there is nothing about
// a cluster in them.

#include <span>
#include <string_view>

namespace muster {

struct DashFile {
  std::string_view path;  // "/app.js"; the page itself is "/".
  std::string_view content_type;
  std::string_view gzip;
};

std::span<const DashFile> dash_files();

// By the path of an address, without its query; null if it is none of these.
const DashFile* find_dash_file(std::string_view path);

// Lines of the answer's head that go with them: what the page may load, and that it may stand in no
// frame.
std::string_view dash_headers();

}  // namespace muster
