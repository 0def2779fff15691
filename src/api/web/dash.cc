#include "api/web/dash.h"

#include <algorithm>

#include "api/web/embedded.h"

namespace muster {

std::span<const DashFile> dash_files() {
  static const DashFile kFiles[] = {
      {"/", "text/html; charset=utf-8", dash_index_gz()},
      {"/app.js", "text/javascript; charset=utf-8", dash_script_gz()},
      {"/app.css", "text/css; charset=utf-8", dash_style_gz()},
      {"/icon.svg", "image/svg+xml", dash_icon_gz()},
  };
  return kFiles;
}

const DashFile* find_dash_file(std::string_view path) {
  const std::span<const DashFile> files = dash_files();
  const auto at = std::find_if(files.begin(), files.end(),
                               [&](const DashFile& file) { return file.path == path; });
  return at == files.end() ? nullptr : &*at;
}

std::string_view dash_headers() {
  return "Content-Encoding: gzip\r\n"
         "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; "
         "connect-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; "
         "frame-ancestors 'none'\r\n"
         "Cross-Origin-Opener-Policy: same-origin\r\n"
         "Cross-Origin-Resource-Policy: same-origin\r\n"
         "Referrer-Policy: no-referrer\r\n"
         "X-Frame-Options: DENY\r\n";
}

}  // namespace muster
