#pragma once

// The cells of a sweep and their stored results. The key of a cell is a digest of its options and
// of the files that they name. Its result is one small file named after the key. A sweep that was
// interrupted, or whose grid grew, therefore repeats no finished cell. If the trace changed, it
// repeats all cells.

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

// Part of each key: results of different versions are not comparable.
inline constexpr std::string_view kCellVersion = "muster 0.1.0 cells 1";

struct SweepCell {
  std::size_t number = 0;  // Index in the grid, from 0. Messages count from 1.
  std::string key;
  std::string result;  // JSON; empty until the cell is finished.
};

// The simulation request of one cell, parsed by the same code as the command line.
class CellRequest {
 public:
  // Returns an error with the grid's line number for an unknown option or an invalid value.
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
  // Creates the directory and locks it. Returns an error while another sweep holds the lock.
  static Result<std::unique_ptr<CellStore>> open(const std::string& dir);
  // Opens the directory without the lock, for a task of the sweep that holds it. The task may run
  // on another node.
  static std::unique_ptr<CellStore> join(const std::string& dir);
  ~CellStore();
  CellStore(const CellStore&) = delete;
  CellStore& operator=(const CellStore&) = delete;

  // Returns the key of a cell, or an error if one of its files cannot be read.
  Result<std::string> key(const Grid& grid, std::size_t cell);
  // Digests of all files that key() has read, by their path in the grid.
  const std::map<std::string, std::string>& inputs() const { return digests_; }
  Result<std::string> file_digest(const std::string& path);

  // Returns the saved result, a JSON text, or nullopt if there is none. An incomplete file counts
  // as none.
  std::optional<std::string> find(const std::string& key) const;
  // Saves a result atomically. Safe to call from several threads and nodes at the same time, even
  // with the same key: one complete result remains.
  MaybeError save(const std::string& key, const std::string& result) const;
  // Loads results that were saved since, for cells without a result. Returns their number.
  std::size_t take_up(std::vector<SweepCell>& cells) const;
  // Removes incomplete files of killed workers.
  void tidy() const;

  const std::string& dir() const { return dir_; }

 private:
  explicit CellStore(std::string dir) : dir_(std::move(dir)) {}
  std::string path(const std::string& key) const { return dir_ + "/cells/" + key + ".json"; }

  std::string dir_;
  int lock_ = -1;
  std::map<std::string, std::string> digests_;  // By file path.
};

// Returns the names in a directory, in any order; fewer if it cannot be read to the end.
std::vector<std::string> names_in(const std::string& dir);

}  // namespace muster
