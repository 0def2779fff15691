#include "base/file/item_text.h"

#include <fmt/format.h>

#include <charconv>

#include "base/types/check.h"

namespace muster {

namespace {

void write(const Item& item, std::string& out) {
  out += fmt::format("{} {} {}\t{}\t{}\n", static_cast<int>(item.kind), item.line,
                     item.items.size(), item.key, item.text);
  for (const Item& child : item.items) write(child, out);
}

class Reader {
 public:
  explicit Reader(std::string_view lines) : rest_(lines) {}

  Item read() {
    Item item;
    item.kind = static_cast<Item::Kind>(number(' '));
    item.line = number(' ');
    const int children = number('\t');
    item.key = upto('\t');
    item.text = upto('\n');
    item.items.reserve(static_cast<std::size_t>(children));
    for (int i = 0; i < children; ++i) item.items.push_back(read());
    return item;
  }
  bool done() const { return rest_.empty(); }

 private:
  std::string_view upto(char end) {
    const std::size_t at = rest_.find(end);
    MUSTER_CHECK(at != std::string_view::npos);
    const std::string_view part = rest_.substr(0, at);
    rest_.remove_prefix(at + 1);
    return part;
  }
  int number(char end) {
    const std::string_view digits = upto(end);
    int value = -1;
    std::from_chars(digits.data(), digits.data() + digits.size(), value);
    MUSTER_CHECK(value >= 0);
    return value;
  }

  std::string_view rest_;
};

}  // namespace

std::string to_lines(const Item& root) {
  std::string out;
  write(root, out);
  return out;
}

Item from_lines(std::string_view lines) {
  Reader reader(lines);
  Item root = reader.read();
  MUSTER_CHECK(reader.done());
  return root;
}

}  // namespace muster
