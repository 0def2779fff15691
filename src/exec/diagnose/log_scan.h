#pragma once

// Reads one log and keeps the lines that match signatures. Made for logs of any size and any
// content: it looks at each byte a bounded number of times and keeps a bounded number of lines.
// classify() uses it for texts in memory, `muster classify` feeds it files.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "exec/diagnose/log_line.h"
#include "exec/diagnose/signatures.h"

namespace muster {

inline constexpr std::size_t kMostEvidenceBytes = 400;

// One line that matches one signature.
struct Finding {
  std::size_t signature = 0;
  int rank = 0;
  std::int64_t line = 0;     // From 1.
  std::string evidence;      // The line, fit to be shown.
  std::size_t from_end = 0;  // How far from the line's end the match begins.
  Decoy decoy = Decoy::kNone;
  bool exception = false;            // An exception's own line.
  bool after_echo = false;           // The same rank had reported the loss of a peer before.
  std::optional<std::int64_t> time;  // See time_of().
};

class LogScan {
 public:
  // `rank`: whose log it is, where the lines do not say. `first_line`: its number in the whole log.
  LogScan(const Signatures& signatures, int rank, std::int64_t first_line = 1);

  // The next bytes. A line must not go on in the next call, unless it is longer than kMostPiece.
  void feed(std::string_view text);
  // The log ends here. What may be the cause, in order of lines; then decoys, a few of each kind.
  std::vector<Finding> finish();

  // Longer lines are read as several.
  static constexpr std::size_t kMostPiece = 8'192;

 private:
  struct Pending {
    Finding finding;
    int progress = 0;  // Lines since then that show progress,
    int ordinary = 0;  // and such of a traceback's as are merely no trouble.
    int chain = 0;     // Of exceptions, each raised while another was handled; 0: none.
    bool lookup = false;
  };
  // What one rank says: lines of several may stand in one log.
  struct Voice {
    std::vector<Pending> pending;
    std::vector<Pending> headers;  // Of the traceback that is open.
    std::string frames;            // Its frames.
    bool in_traceback = false;
    bool linked = false;    // The next traceback belongs to the last one's chain...
    bool handling = false;  // ... and came up in a handler.
    int chain = 0;
    bool echoed = false;
    bool busy() const { return in_traceback || !pending.empty(); }
  };

  Voice& voice_of(int rank);
  void take();
  void take_line(Voice& voice, std::string_view line, const Finding& base);
  void begin_traceback(Voice& voice, std::string_view line, const Finding& base);
  // What the line matches; true if a signature that may be a cause did.
  bool match_line(Voice& voice, std::string_view line, const Finding& base, bool ends_traceback,
                  std::vector<Pending>& out);
  void keep(Voice& voice, Pending found);
  void note_progress(Voice& voice);
  static void note_ordinary(Voice& voice, std::string_view line);
  static bool went_on(const Pending& found);  // The program, after this traceback.
  void dismiss_caught(Voice& voice);
  void dismiss(Finding finding, Decoy why);
  void show(Finding& finding) const;  // Gives it the line being read, unless it has one.
  const std::vector<int>& potentials(std::string_view line);

  const Signatures& signatures_;
  int rank_;
  std::int64_t line_;
  int chains_ = 0;
  std::size_t busy_ = 0;  // Voices that are.
  std::map<int, Voice> voices_;
  std::vector<Finding> dismissed_;
  std::map<std::vector<int>, std::vector<int>> known_;  // Literals to signatures.
  std::vector<int> literals_, some_potentials_;
  std::string scratch_;
  std::string_view text_;  // Being read, and where in it the line is.
  std::size_t begin_ = 0, end_ = 0;
};

}  // namespace muster
