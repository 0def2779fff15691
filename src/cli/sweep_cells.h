#pragma once

// The cells of a sweep and what is known of each: a cell is named by a digest of its options and of
// the files they name, and its result is one small file under that name. So a sweep that was
// interrupted, or whose grid grew, repeats no finished cell, and one whose trace changed repeats
// them all.

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/sim_request.h"
#include "config/grid_file.h"

namespace muster {

// A request as the cell's options say it, read by the same code as the command line.
class CellRequest {
 public:
  // Refuses with the grid's line an option that there is not, or a value that will not do.
  static Result<std::unique_ptr<CellRequest>> make(const Grid& grid, std::size_t cell,
                                                   const std::string& file);
  const SimRequest& sim() const { return sim_; }

 private:
  CellRequest();
  CLI::App app_;
  CLI::App* command_;
  SimRequest sim_;
};

class CellStore {
 public:
  // Makes the directory. One sweep at a time: refuses while another holds it.
  static Result<std::unique_ptr<CellStore>> open(const std::string& dir);
  ~CellStore();
  CellStore(const CellStore&) = delete;
  CellStore& operator=(const CellStore&) = delete;

  // Refuses a file that cannot be read.
  Result<std::string> key(const Grid& grid, std::size_t cell);

  // The result as it was saved, a JSON object; nothing if there is none. Bytes that are not whole
  // count as none.
  std::optional<std::string> find(const std::string& key) const;
  // May be called by several threads, each with its own key.
  Refusal save(const std::string& key, const std::string& result) const;

 private:
  explicit CellStore(std::string dir) : dir_(std::move(dir)) {}
  std::string path(const std::string& key) const { return dir_ + "/cells/" + key + ".json"; }
  Result<std::string> file_digest(const std::string& path);

  std::string dir_;
  int lock_ = -1;
  std::map<std::string, std::string> digests_;  // Of files.
};

}  // namespace muster
