#include "cli/common/page_files.h"

#include <filesystem>

#include "base/file/atomic_file.h"
#include "study/page/page_csv.h"
#include "study/page/page_html.h"
#include "study/page/page_json.h"

namespace muster {

MaybeError write_html(const std::string& path, const Page& page) {
  const std::filesystem::path dir = std::filesystem::path(path).parent_path();
  if (!dir.empty()) {
    if (MaybeError refusal = make_directory(dir.string())) return refusal;
  }
  return write_atomically(path, page_html(page));
}

MaybeError write_page(const std::string& dir, const Page& page) {
  if (MaybeError refusal = make_directory(dir)) return refusal;
  if (MaybeError refusal = write_page_csv(dir, page)) return refusal;
  if (MaybeError refusal = write_atomically(dir + "/page.json", page_json(page))) return refusal;
  return write_html(dir + "/index.html", page);
}

}  // namespace muster
