#include "cli/page_files.h"

#include <filesystem>
#include <system_error>

#include "page/csv.h"
#include "page/html.h"
#include "report/atomic_file.h"

namespace muster {

namespace {

Refusal make_directory(const std::filesystem::path& dir) {
  std::error_code status;
  if (dir.empty() || std::filesystem::is_directory(dir, status)) return std::nullopt;
  std::filesystem::create_directories(dir, status);
  std::error_code ignored;
  if (std::filesystem::is_directory(dir, ignored)) return std::nullopt;
  return Error{dir.string() + ": cannot make the directory: " + status.message()};
}

}  // namespace

Refusal write_html(const std::string& path, const Page& page) {
  if (Refusal refusal = make_directory(std::filesystem::path(path).parent_path())) return refusal;
  AtomicFile file(path);
  file.append(page_html(page));
  if (Refusal refusal = file.close()) return refusal;
  return file.publish();
}

Refusal write_page(const std::string& dir, const Page& page) {
  if (Refusal refusal = make_directory(dir)) return refusal;
  if (Refusal refusal = write_page_csv(dir, page)) return refusal;
  return write_html(dir + "/index.html", page);
}

}  // namespace muster
