#include "base/file/document.h"

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/text/text.h"

namespace muster {

namespace {

// Calls to in_quotes() below are qualified with muster::, because <filesystem> declares
// std::quoted, which overload resolution would prefer for a std::string.

// Internal exception: TreeBuilder throws it through yaml-cpp and parse_document() catches it.
struct Refused {
  int line;
  std::string why;
};

bool is_control(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return (byte < 0x20 && c != '\n' && c != '\r' && c != '\t') || byte == 0x7f;
}

// Escapes unprintable bytes, because messages of yaml-cpp can contain raw bytes of the file.
std::string printable(std::string_view message) {
  std::string out;
  for (const char c : message) {
    const bool plain = c >= 0x20 && c < 0x7f;
    out += plain ? std::string(1, c) : fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
  }
  return out;
}

int line_of(const YAML::Mark& mark) { return mark.is_null() ? 1 : mark.line + 1; }

// Builds the tree from yaml-cpp's events. Throws Refused at the first unsupported construct.
class TreeBuilder final : public YAML::EventHandler {
 public:
  Item take() { return std::move(root_); }

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    refuse_extras(mark, "", anchor);
    if (wants_key()) throw Refused{line_of(mark), "empty key"};
    add(mark, Item::Kind::kEmpty);
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    throw Refused{line_of(mark), "aliases are not supported; write out the value"};
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    refuse_extras(mark, tag, anchor);
    if (std::any_of(value.begin(), value.end(), is_control)) {  // From an escape such as "\e".
      throw Refused{line_of(mark), "control character in " + in_quotes(value)};
    }
    if (wants_key()) {
      accept_key(mark, value);
    } else {
      add(mark, Item::Kind::kText).text = value;
    }
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(mark, tag, anchor, Item::Kind::kList);
  }
  void OnSequenceEnd() override { open_.pop_back(); }

  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(mark, tag, anchor, Item::Kind::kMap);
  }
  void OnMapEnd() override { open_.pop_back(); }

 private:
  struct Open {
    Item* item;  // Stays valid, because only the innermost open item grows.
    bool key_read = false;
    std::string key;
    int key_line = 0;
  };

  bool wants_key() const {
    return !open_.empty() && open_.back().item->kind == Item::Kind::kMap && !open_.back().key_read;
  }

  static void refuse_extras(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor) {
    if (anchor != YAML::NullAnchor) {
      throw Refused{line_of(mark), "anchors are not supported; write out the value"};
    }
    // yaml-cpp reports the tag "?" for a plain value and "!" for a quoted one.
    if (!tag.empty() && tag != "?" && tag != "!") {
      throw Refused{line_of(mark), "tags are not supported: " + in_quotes(tag)};
    }
  }

  void accept_key(const YAML::Mark& mark, const std::string& key) {
    Open& map = open_.back();
    if (key.empty()) throw Refused{line_of(mark), "empty key"};
    if (map.item->find(key) != nullptr) {
      throw Refused{line_of(mark), "key given twice: " + in_quotes(key)};
    }
    if (map.item->items.size() == kMaxKeys) {
      throw Refused{line_of(mark), fmt::format("more than {} keys in one map", kMaxKeys)};
    }
    map.key = key;
    map.key_line = line_of(mark);
    map.key_read = true;
  }

  Item& add(const YAML::Mark& mark, Item::Kind kind) {
    if (++count_ > kMaxItems) {
      throw Refused{line_of(mark), fmt::format("more than {} values", kMaxItems)};
    }
    Item item;
    item.kind = kind;
    item.line = line_of(mark);
    if (open_.empty()) {
      root_ = std::move(item);
      return root_;
    }
    Open& parent = open_.back();
    if (parent.item->kind == Item::Kind::kMap) {
      item.key = std::move(parent.key);
      item.line = parent.key_line;
      parent.key_read = false;
    } else {
      item.key = parent.item->key;
    }
    parent.item->items.push_back(std::move(item));
    return parent.item->items.back();
  }

  void open(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
            Item::Kind kind) {
    refuse_extras(mark, tag, anchor);
    if (wants_key()) throw Refused{line_of(mark), "a key must be plain text"};
    if (open_.size() == kMaxDocumentDepth) {
      throw Refused{line_of(mark), fmt::format("nested deeper than {}", kMaxDocumentDepth)};
    }
    Open opened;
    opened.item = &add(mark, kind);
    open_.push_back(std::move(opened));
  }

  Item root_;
  std::vector<Open> open_;
  std::size_t count_ = 0;
};

MaybeError check_text(std::string_view text, const std::string& name) {
  if (text.size() > kMaxFileBytes) {
    return Error{fmt::format("{}: larger than {} MiB", name, kMaxFileBytes >> 20U)};
  }
  const auto found = std::find_if(text.begin(), text.end(), is_control);
  if (found != text.end()) {
    const auto line = 1 + std::count(text.begin(), found, '\n');
    return Error{fmt::format("{}:{}: not text: byte {}", name, line,
                             in_quotes(std::string_view(&*found, 1)))};
  }
  return std::nullopt;
}

}  // namespace

const Item* Item::find(std::string_view member) const {
  if (kind != Kind::kMap) return nullptr;
  const auto has_key = [&](const Item& item) { return item.key == member; };
  const auto found = std::find_if(items.begin(), items.end(), has_key);
  return found == items.end() ? nullptr : &*found;
}

std::string shown_path(const std::string& path) {
  const bool plain = std::all_of(path.begin(), path.end(), [](char c) {
    return static_cast<unsigned char>(c) >= 0x20 && c != 0x7f;
  });
  return plain && !path.empty() ? path : in_quotes(path);
}

Result<Item> read_document(const std::string& path, IfEmpty if_empty) {
  const std::string name = shown_path(path);
  std::error_code status;
  const std::filesystem::file_status found = std::filesystem::status(path, status);
  if (!std::filesystem::exists(found)) return Error{name + ": no such file"};
  if (std::filesystem::is_directory(found)) return Error{name + ": is a directory"};
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) return Error{fmt::format("{}: cannot be read: {}", name, std::strerror(errno))};
  std::string text(kMaxFileBytes + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (file.bad()) return Error{name + ": cannot be read completely"};
  text.resize(static_cast<std::size_t>(file.gcount()));
  return parse_document(text, name, if_empty);
}

Result<Item> parse_document(std::string_view text, const std::string& name, IfEmpty if_empty) {
  if (const MaybeError refusal = check_text(text, name)) return *refusal;
  TreeBuilder builder;
  try {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    parser.HandleNextDocument(builder);
    TreeBuilder rest;
    if (parser.HandleNextDocument(rest)) {
      return Error{fmt::format("{}:{}: a second document; a file can contain only one", name,
                               rest.take().line)};
    }
  } catch (const Refused& refused) {
    return Error{fmt::format("{}:{}: {}", name, refused.line, refused.why)};
  } catch (const YAML::Exception& problem) {
    return Error{
        fmt::format("{}:{}: not YAML: {}", name, line_of(problem.mark), printable(problem.msg))};
  } catch (const std::exception& problem) {
    return Error{fmt::format("{}: cannot be read: {}", name, problem.what())};
  }
  Item root = builder.take();
  const bool empty = root.kind == Item::Kind::kEmpty;
  if (empty && if_empty == IfEmpty::kRefuse) return Error{name + ": empty"};
  return root;
}

}  // namespace muster
