#include "workload/input/job_file.h"

#include <fmt/format.h>

#include <filesystem>

#include "base/file/document.h"
#include "base/file/item_reader.h"
#include "base/text/text.h"
#include "engine/model/fields.h"

namespace muster {

namespace {

Written written(const Item& item) {
  if (item.kind != Item::Kind::kText) return {Written::As::kNothing, ""};
  return {Written::As::kPlain, item.text};
}

class JobReader {
 public:
  explicit JobReader(const std::string& file) : file_(file), reader_(file) {}

  Result<JobRequest> read(const Item& root, const std::string& cwd) {
    if (root.kind != Item::Kind::kMap) reader_.refuse(root, "not a map of a job's keys");
    for (const Item& item : root.items) {
      if (!reader_.failed()) read_field(item);
    }
    if (reader_.failed()) return reader_.error();
    const bool given = root.find("cwd") != nullptr;
    const std::filesystem::path path = given ? request_.cwd : "";  // An absolute path replaces cwd.
    request_.cwd = given ? (cwd / path).lexically_normal().string() : cwd;
    complete_request(request_);
    if (const MaybeError refusal = check_request(request_)) return placed(root, refusal->message);
    return std::move(request_);
  }

 private:
  void read_field(const Item& item) {
    const RequestField* field = request_field(item.key);
    if (field == nullptr) {
      Item place;
      place.line = item.line;
      return reader_.refuse(place, unknown_field(item.key));
    }
    if (item.kind == Item::Kind::kList || item.kind == Item::Kind::kMap) {
      return read_several(*field, item);
    }
    if (const MaybeError refusal = set_field(request_, *field, written(item))) {
      reader_.refuse(item, refusal->message);
    }
  }

  void read_several(const RequestField& field, const Item& item) {
    const bool list = item.kind == Item::Kind::kList;
    if (list ? !field.takes_list() : !field.takes_map()) {
      return reader_.refuse(item,
                            list ? "a list is not allowed here" : "a map is not allowed here");
    }
    for (const Item& entry : item.items) {
      const MaybeError refusal = list ? add_to_field(request_, field, written(entry))
                                      : add_to_map(request_, field, entry.key, written(entry));
      Item place;
      place.line = entry.line;
      place.key = item.key;
      if (refusal) reader_.refuse(place, refusal->message);
    }
  }

  // Adds file and line of the field to a message "field: why".
  Error placed(const Item& root, const std::string& message) const {
    const Item* item = root.find(message.substr(0, message.find(':')));
    if (item == nullptr) return Error{fmt::format("{}: {}", file_, message)};
    return Error{fmt::format("{}:{}: {}", file_, item->line, message)};
  }

  std::string file_;
  ItemReader reader_;
  JobRequest request_;
};

}  // namespace

Result<JobRequest> parse_job_file(std::string_view text, const std::string& name,
                                  const std::string& cwd) {
  const std::string shown = shown_path(name);
  const Result<Item> root = parse_document(text, shown);
  if (!root.ok()) return root.error();
  return JobReader(shown).read(root.value(), cwd);
}

Result<JobRequest> read_job_file(const std::string& path, const std::string& cwd) {
  const Result<Item> root = read_document(path);
  if (!root.ok()) return root.error();
  return JobReader(shown_path(path)).read(root.value(), cwd);
}

}  // namespace muster
