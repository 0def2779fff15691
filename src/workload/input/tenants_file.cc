#include "workload/input/tenants_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <map>
#include <set>

#include "base/text/text.h"

namespace muster {

namespace {

// A cluster file can also be given for its tenants, so its other key is allowed.
constexpr std::array<std::string_view, 2> kTenantFileKeys = {"tenants", "servers"};
constexpr std::array<std::string_view, 3> kSectionKeys = {"share", "reclaim_at", "list"};
constexpr std::array<std::string_view, 7> kTenantKeys = {"name",  "parent", "quota", "weight",
                                                         "users", "groups", "admins"};
constexpr std::size_t kMaxNames = 1'000;
constexpr std::array<std::string_view, 2> kInlineOptions = {"share", "reclaim"};
constexpr Bounds kQuota = {0, static_cast<double>(kMaxQuota)};
constexpr Bounds kWeight = {0.001, kMaxWeightMilli / 1000.0};
constexpr Bounds kPart = {0, 1};

std::int32_t quota_milli(double value) {
  return static_cast<std::int32_t>(std::lround(value * 1000));
}

Sharing read_sharing(ItemReader& reader, const Item& item) {
  const std::string word = reader.name(item);
  const std::optional<Sharing> sharing = sharing_called(word);
  if (!sharing)
    reader.refuse(item, "unknown: " + in_quotes(word) + suggestion(word, sharing_names()));
  return sharing.value_or(Sharing::kQuota);
}

// Reads the users of one tenant.
TenantMembers read_members(ItemReader& reader, const Item& entry) {
  TenantMembers members;
  const auto read = [&](std::string_view key, NameKind kind, std::vector<std::string>& to) {
    if (const Item* list = entry.find(key)) to = read_names(reader, *list, kind);
  };
  members.tenant = reader.name(reader.member(entry, "name"));
  read("users", NameKind::kUser, members.users);
  read("groups", NameKind::kGroup, members.groups);
  read("admins", NameKind::kUser, members.admins);
  return members;
}

TenantSpec read_tenant(ItemReader& reader, const Item& entry) {
  reader.allow_keys(entry, kTenantKeys);
  read_members(reader, entry);  // A simulation only validates them.
  const Item& name = reader.member(entry, "name");
  const Item* parent = entry.find("parent");
  const Item* quota = entry.find("quota");
  TenantSpec spec;
  spec.name = reader.name(name);
  spec.name_line = name.line;
  if (parent != nullptr) spec.parent = reader.name(*parent);
  spec.parent_line = parent != nullptr ? parent->line : name.line;
  if (quota != nullptr) spec.quota = reader.whole(*quota, kQuota);
  spec.quota_line = quota != nullptr ? quota->line : name.line;
  spec.weight_milli = quota_milli(reader.number_or(entry, "weight", kWeight, 1));
  return spec;
}

// The content of a section, from a file or from the inline form.
struct Parts {
  const Item* share = nullptr;    // Null: default.
  const Item* reclaim = nullptr;  // Null: default.
  const std::vector<Item>* entries = nullptr;
};

Result<TenantTree> read_parts(ItemReader& reader, TenantList list, const Parts& parts) {
  if (parts.share != nullptr) list.rules.sharing = read_sharing(reader, *parts.share);
  if (parts.reclaim != nullptr) {
    list.rules.reclaim_permille = quota_milli(reader.number(*parts.reclaim, kPart));
  }
  for (const Item& entry : *parts.entries) {
    if (!reader.failed()) list.tenants.push_back(read_tenant(reader, entry));
  }
  if (reader.failed()) return reader.error();
  return TenantTree::build(list);
}

Result<TenantTree> read_root(const Item& root, const std::string& file) {
  ItemReader reader(file);
  reader.allow_keys(root, kTenantFileKeys);
  const Item& section = reader.member(root, "tenants");
  if (reader.failed()) return reader.error();
  return read_tenants_section(section, file);
}

Item inline_item(Item::Kind kind, std::string_view key, std::string_view text = "") {
  Item item;
  item.kind = kind;
  item.line = 0;  // The command line has no line numbers.
  item.key = key;
  item.text = text;
  return item;
}

// Converts "a=64" or "a=64:2" to a list entry as in a file.
Item inline_tenant(std::string_view name, std::string_view value) {
  Item entry = inline_item(Item::Kind::kMap, "list");
  const std::size_t colon = value.find(':');
  entry.items.push_back(inline_item(Item::Kind::kText, "name", name));
  entry.items.push_back(inline_item(Item::Kind::kText, "quota", value.substr(0, colon)));
  if (colon != std::string_view::npos) {
    entry.items.push_back(inline_item(Item::Kind::kText, "weight", value.substr(colon + 1)));
  }
  return entry;
}

// Adds quotes to a name that YAML could read as something else.
std::string yaml_name(std::string_view name) {
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  const bool null = name == "null" || name == "Null" || name == "NULL";
  if (!null && std::all_of(name.begin(), name.end(), plain)) return std::string(name);
  std::string out = "'";
  for (const char c : name) out += c == '\'' ? std::string("''") : std::string(1, c);
  return out + "'";
}

}  // namespace

Result<TenantTree> read_tenants_section(const Item& section, const std::string& file) {
  ItemReader reader(file);
  TenantList list;
  list.source = file;
  list.line = section.line;
  reader.allow_keys(section, kSectionKeys);
  const Item& entries = reader.list(section, "list");
  return read_parts(reader, std::move(list),
                    {section.find("share"), section.find("reclaim_at"), &entries.items});
}

std::vector<std::string> read_names(ItemReader& reader, const Item& list, NameKind kind) {
  std::vector<std::string> names;
  reader.expect_list(list);
  if (list.items.size() > kMaxNames) {
    reader.refuse(list, fmt::format("more than {} names", kMaxNames));
  }
  for (const Item& each : list.items) {
    if (reader.failed()) break;
    const bool all = kind == NameKind::kGroup && each.text == "*";
    names.push_back(all ? each.text : reader.name(each));
  }
  return names;
}

Result<std::vector<TenantMembers>> read_tenant_members(const Item& section,
                                                       const std::string& file) {
  ItemReader reader(file);
  const Item& entries = reader.list(section, "list");
  std::map<std::string, std::string> parents;              // By child.
  std::map<std::string, std::vector<std::string>> admins;  // By tenant.
  std::set<std::string> with_children;
  std::vector<TenantMembers> all;
  for (const Item& entry : entries.items) {
    if (reader.failed()) break;
    all.push_back(read_members(reader, entry));
    if (const Item* parent = entry.find("parent")) {
      parents[all.back().tenant] = reader.name(*parent);
      with_children.insert(reader.name(*parent));
    }
    admins[all.back().tenant] = all.back().admins;
  }
  for (std::size_t i = 0; i < all.size() && !reader.failed(); ++i) {
    if (!with_children.contains(all[i].tenant)) continue;
    for (const char* key : {"users", "groups"}) {
      if (const Item* list = entries.items[i].find(key)) {
        reader.refuse(*list, "tenants with children take no jobs; list its users at the children");
      }
    }
  }
  if (reader.failed()) return reader.error();
  std::erase_if(all,
                [&](const TenantMembers& each) { return with_children.contains(each.tenant); });
  for (TenantMembers& each : all) {
    std::string at = each.tenant;
    for (std::size_t level = 0; level < kMaxTenantLevels && parents.contains(at); ++level) {
      at = parents[at];
      each.admins.insert(each.admins.end(), admins[at].begin(), admins[at].end());
    }
  }
  return all;
}

Result<TenantTree> read_tenants(const std::string& file_or_inline) {
  const std::string& spec = file_or_inline;
  std::error_code status;
  const bool exists = std::filesystem::exists(spec, status);
  const bool named = spec.ends_with(".yaml") || spec.ends_with(".yml") || spec.ends_with(".json");
  const bool inlined = spec.find('=') != std::string::npos;
  const bool path_like = spec.find('/') != std::string::npos;
  // A tenant name may contain a slash, so '=' takes precedence.
  if (!exists && !named && (inlined || !path_like)) return parse_inline_tenants(spec);
  const Result<Item> root = read_document(spec);
  if (!root.ok()) return root.error();
  return read_root(root.value(), shown_path(spec));
}

Result<TenantTree> parse_tenants(std::string_view text, const std::string& name) {
  const Result<Item> root = parse_document(text, name);
  if (!root.ok()) return root.error();
  return read_root(root.value(), name);
}

// Converts the text to entries as in a file, so that both forms have the same checks.
Result<TenantTree> parse_inline_tenants(std::string_view text) {
  TenantList list;
  list.source = "--tenants " + in_quotes(text);
  const auto fail = [&](const std::string& why) { return Error{list.source + ": " + why}; };
  if (text.find('=') == std::string_view::npos) {
    return fail("not a file, and not NAME=GPUS such as a=64,b=32 or a=64,b=32,share=fair");
  }
  std::vector<Item> entries;
  std::optional<Item> share;
  std::optional<Item> reclaim;
  for (const std::string_view part : split(text, ',')) {
    const std::size_t equals = part.find('=');
    if (equals == std::string_view::npos) {
      return fail("neither NAME=GPUS nor an option: " + in_quotes(part));
    }
    const std::string_view key = trim(part.substr(0, equals));
    const std::string_view value = trim(part.substr(equals + 1));
    if (key == "share" || key == "reclaim") {
      std::optional<Item>& option = key == "share" ? share : reclaim;
      if (option) return fail(fmt::format("{}: given twice", key));
      option = inline_item(Item::Kind::kText, key, value);
      continue;
    }
    const std::string_view meant = nearest(key, kInlineOptions);
    if (!meant.empty() && !parse_int(value.substr(0, value.find(':'))).ok()) {
      return fail(fmt::format("unknown option: {}; did you mean '{}'?", in_quotes(key), meant));
    }
    entries.push_back(inline_tenant(key, value));
  }
  if (entries.empty()) return fail("no tenant; write NAME=GPUS");
  ItemReader reader(list.source);
  const std::string lineless = list.source + ":0: ";
  Result<TenantTree> tree = read_parts(
      reader, list, {share ? &*share : nullptr, reclaim ? &*reclaim : nullptr, &entries});
  if (tree.ok() || !tree.error().message.starts_with(lineless)) return tree;
  return fail(tree.error().message.substr(lineless.size()));
}

std::string tenants_yaml(const TenantTree& tree) {
  std::string out = fmt::format("tenants:\n  share: {}\n  reclaim_at: {}\n  list:\n",
                                name_of(tree.sharing()), tree.reclaim_permille() / 1000.0);
  for (std::size_t i = 0; i < tree.size(); ++i) {
    const Tenant& tenant = tree[TenantId(i)];
    out += "    - {name: " + yaml_name(tenant.name);
    if (tenant.parent) out += ", parent: " + yaml_name(tree[*tenant.parent].name);
    if (tenant.quota_stated) out += fmt::format(", quota: {}", tenant.quota);
    if (tenant.weight_milli != 1000)
      out += fmt::format(", weight: {}", tenant.weight_milli / 1000.0);
    out += "}\n";
  }
  return out;
}

}  // namespace muster
