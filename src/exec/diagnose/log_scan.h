#pragma once

// Scans one log and keeps the lines that match signatures. It accepts logs of any size and content:
// it reads each byte a bounded number of times and keeps a bounded number of lines. classify() uses
// it for text in memory, `muster classify` for files.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "exec/diagnose/log_line.h"
#include "exec/diagnose/signatures.h"

namespace muster {

inline constexpr std::size_t kMaxEvidenceBytes = 400;

// One line that matches one signature.
struct Finding {
  std::size_t signature = 0;
  int rank = 0;
  std::int64_t line = 0;     // Line number, from 1.
  std::string evidence;      // The line, safe to display.
  std::size_t from_end = 0;  // Bytes from the start of the match to the end of the line.
  IgnoredMatch ignored = IgnoredMatch::kNone;
  bool exception = false;            // The line is the exception of a traceback.
  bool after_echo = false;           // The rank had reported the loss of a peer before.
  std::optional<std::int64_t> time;  // See time_of().
};

class LogScan {
 public:
  // `rank`: the rank of lines without a rank prefix. `first_line`: line number of the first line.
  LogScan(const Signatures& signatures, int rank, std::int64_t first_line = 1);

  // Scans the next bytes. A line must not continue in the next call, unless it is longer than
  // kMaxPiece.
  void feed(std::string_view text);
  // Ends the scan. Returns the possible causes sorted by line, then a few ignored matches of each
  // kind.
  std::vector<Finding> finish();

  // Longer lines are split.
  static constexpr std::size_t kMaxPiece = 8'192;

 private:
  struct Pending {
    Finding finding;
    int progress = 0;  // Later lines that show progress.
    int ordinary = 0;  // Later lines without a problem.
    int chain = 0;     // Id of a chain of nested exceptions; 0 if none.
    bool lookup = false;
  };
  // State of one rank. One log can contain the lines of several ranks.
  struct RankLines {
    std::vector<Pending> pending;
    std::vector<Pending> headers;  // Matches in the first line of the open traceback.
    std::string frames;            // Frames of the open traceback.
    bool in_traceback = false;
    bool linked = false;    // The next traceback belongs to the same chain.
    bool handling = false;  // It was raised in an exception handler.
    bool ignoring = false;  // The open traceback does not end the program.
    int chain = 0;
    bool echoed = false;
    bool busy() const { return in_traceback || !pending.empty(); }
  };

  RankLines& lines_of(int rank);
  void take();
  void take_line(RankLines& voice, std::string_view line, const Finding& base);
  void begin_traceback(RankLines& voice, std::string_view line, const Finding& base);
  // Whether the line before shows that Python ignored the exception of the current one.
  bool follows_ignored();
  // Adds the matches of the line. Returns true if a signature that can be a cause matches.
  bool match_line(RankLines& voice, std::string_view line, const Finding& base, bool ends_traceback,
                  std::vector<Pending>& out);
  void keep(RankLines& voice, Pending found);
  void note_progress(RankLines& voice);
  void note_success(RankLines& voice);
  static void note_ordinary(RankLines& voice, std::string_view line);
  static bool went_on(const Pending& found);  // The program continued after this traceback.
  void dismiss_caught(RankLines& voice);
  void dismiss(Finding finding, IgnoredMatch why);
  void show(Finding& finding) const;  // Sets the evidence to the current line, unless it is set.
  const std::vector<int>& potentials(std::string_view line);

  const Signatures& signatures_;
  int rank_;
  std::int64_t line_;
  int chains_ = 0;
  std::size_t busy_ = 0;  // Number of busy voices.
  std::map<int, RankLines> voices_;
  std::vector<Finding> dismissed_;
  std::map<std::vector<int>, std::vector<int>> known_;  // Literals to signatures.
  std::vector<int> literals_, some_potentials_;
  std::string scratch_, other_scratch_;
  std::string_view text_;  // Current text, with the current line in begin_ to end_.
  std::size_t begin_ = 0, end_ = 0;
  int line_rank_ = -1;  // Rank of the current line; see BareLine.
};

}  // namespace muster
