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

#include "base/types/result.h"
#include "cli/common/parser.h"
#include "cli/sim/grid_file.h"
#include "cli/sim/sim_request.h"

namespace muster {

// Results of one version say nothing of another's.
inline constexpr std::string_view kCellVersion = "muster 0.1.0 cells 1";

struct SweepCell {
  std::size_t number = 0;  // Of the grid, from 0; people count from 1.
  std::string key;
  std::string result;  // JSON; empty until it is known.
};

// A request as the cell's options say it, read by the same code as the command line.
class CellRequest {
 public:
  // Refuses with the grid's line an option that there is not, or a value that will not do.
  static Result<std::unique_ptr<CellRequest>> make(const Grid& grid, std::size_t cell,
                                                   const std::string& file);
  const SimRequest& sim() const { return sim_; }

 private:
  CellRequest();
  Parser parser_;
  Command command_;
  SimRequest sim_;
};

class CellStore {
 public:
  // Makes the directory. One sweep at a time: refuses while another holds it.
  static Result<std::unique_ptr<CellStore>> open(const std::string& dir);
  // Beside the sweep that holds it and for its sake, so that it may be on another machine.
  static std::unique_ptr<CellStore> join(const std::string& dir);
  ~CellStore();
  CellStore(const CellStore&) = delete;
  CellStore& operator=(const CellStore&) = delete;

  // Refuses a file that cannot be read.
  Result<std::string> key(const Grid& grid, std::size_t cell);
  // Digests of all files that keys were made of, by the names that the grid gives them.
  const std::map<std::string, std::string>& inputs() const { return digests_; }
  Result<std::string> file_digest(const std::string& path);

  // The result as it was saved, a JSON object; nothing if there is none. Bytes that are not whole
  // count as none.
  std::optional<std::string> find(const std::string& key) const;
  // May be called by several threads and machines, whatever their keys: one whole result stays.
  Refusal save(const std::string& key, const std::string& result) const;
  // Of the cells that have no result, takes up those that are there by now; how many.
  std::size_t take_up(std::vector<SweepCell>& cells) const;
  // Removes what killed workers were writing.
  void tidy() const;

  const std::string& dir() const { return dir_; }

 private:
  explicit CellStore(std::string dir) : dir_(std::move(dir)) {}
  std::string path(const std::string& key) const { return dir_ + "/cells/" + key + ".json"; }

  std::string dir_;
  int lock_ = -1;
  std::map<std::string, std::string> digests_;  // Of files.
};

// In any order; as far as the directory can be read.
std::vector<std::string> names_in(const std::string& dir);

}  // namespace muster
