#include "study/compare/opened_views.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <system_error>
#include <utility>

#include "base/file/text_file.h"
#include "base/text/text.h"
#include "study/compare/sweep_page.h"
#include "study/page/dashboard_page.h"

namespace muster {

namespace {

namespace fs = std::filesystem;

constexpr const char* kPageFile = "page.json";

bool is_file(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

std::optional<ViewKind> kind_of_directory(const fs::path& dir) {
  if (is_file(dir / "summary.json")) return ViewKind::kRun;
  if (holds_sweep(dir.string())) return ViewKind::kSweep;
  if (is_file(dir / kPageFile)) return ViewKind::kPage;
  return std::nullopt;
}

std::vector<OpenedView> inside(const std::string& dir) {
  std::vector<OpenedView> found;
  std::error_code status;
  for (fs::directory_iterator entry(dir, status), end; !status && entry != end;
       entry.increment(status)) {
    if (const std::optional<ViewKind> kind = kind_of_directory(entry->path())) {
      found.push_back({*kind, entry->path().string()});
    }
  }
  std::sort(found.begin(), found.end(),
            [](const OpenedView& a, const OpenedView& b) { return a.path < b.path; });
  return found;
}

// Reads the quotas of a summary. Returns nullopt if there are none or they are inconsistent.
std::optional<TenantTree> quotas_in(const nlohmann::json& summary) {
  const auto quotas = summary.find("quotas");
  if (quotas == summary.end() || !quotas->is_array()) return std::nullopt;
  TenantList list;
  list.rules.sharing = Sharing::kFair;  // A past run may have quotas of zero.
  for (const nlohmann::json& one : *quotas) {
    if (!one.is_object() || !one.value("tenant", nlohmann::json()).is_string()) return std::nullopt;
    const nlohmann::json gpus = one.value("gpus", nlohmann::json());
    const nlohmann::json parent = one.value("parent", nlohmann::json(""));
    if (!gpus.is_number_integer() || !parent.is_string()) return std::nullopt;
    TenantSpec tenant;
    tenant.name = one["tenant"].get<std::string>();
    tenant.parent = parent.get<std::string>();
    tenant.quota = std::clamp<std::int64_t>(gpus.get<std::int64_t>(), 0, kMaxQuota);
    list.tenants.push_back(std::move(tenant));
  }
  if (list.tenants.empty()) return std::nullopt;
  Result<TenantTree> tree = TenantTree::build(list);
  if (!tree.ok()) return std::nullopt;
  return std::move(tree).value();
}

MaybeError open_run(const std::string& dir, Viewer& viewer) {
  Result<RunFiles> run = read_run_files(dir);
  if (!run.ok()) return run.error();
  run.value().name = view_name(dir, viewer);
  std::optional<TenantTree> tenants = quotas_in(run.value().summary);
  viewer.add_run(std::move(run).value(), std::move(tenants));
  return std::nullopt;
}

MaybeError open_sweep(const std::string& dir, Viewer& viewer) {
  const Result<SweepFiles> sweep = read_sweep_files(dir);
  if (!sweep.ok()) return sweep.error();
  const Page page = sweep_page(sweep.value(), 0);
  viewer.add_page("sweep", view_name(dir, viewer), page.title, browser_page(page));
  return std::nullopt;
}

MaybeError open_page(const std::string& path, Viewer& viewer) {
  const std::string file = is_file(path) ? path : path + "/" + kPageFile;
  const Result<std::string> text = read_text_file(file, Pipes::kRefused);
  if (!text.ok()) return text.error();
  Result<std::string> page = browser_page(std::string_view(text.value()));
  if (!page.ok()) return Error{file + ": " + page.error().message};
  const std::string title = nlohmann::json::parse(page.value())["title"].get<std::string>();
  viewer.add_page("page", view_name(path, viewer), title, std::move(page).value());
  return std::nullopt;
}

}  // namespace

Result<std::vector<OpenedView>> find_views(const std::vector<std::string>& paths) {
  std::vector<OpenedView> all;
  for (const std::string& path : paths) {
    std::error_code status;
    if (!fs::exists(path, status)) return Error{path + ": no such file or directory"};
    if (!fs::is_directory(path, status)) {
      all.push_back({path.ends_with(".json") ? ViewKind::kPage : ViewKind::kOther, path});
      continue;
    }
    if (const std::optional<ViewKind> kind = kind_of_directory(path)) {
      all.push_back({*kind, path});
      continue;
    }
    std::vector<OpenedView> within = inside(path);
    if (within.empty()) within.push_back({ViewKind::kOther, path});
    all.insert(all.end(), within.begin(), within.end());
  }
  return all;
}

MaybeError open_view(const OpenedView& found, Viewer& viewer) {
  switch (found.kind) {
    case ViewKind::kRun:
      return open_run(found.path, viewer);
    case ViewKind::kSweep:
      return open_sweep(found.path, viewer);
    case ViewKind::kPage:
      return open_page(found.path, viewer);
    case ViewKind::kOther:
      break;
  }
  return Error{found.path + ": not a run, a sweep or a page"};
}

std::string view_name(const std::string& path, const Viewer& viewer) {
  const std::string name = last_part(path);
  return viewer.has_name(name) ? path : name;
}

}  // namespace muster
