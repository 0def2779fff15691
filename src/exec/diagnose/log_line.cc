#include "exec/diagnose/log_line.h"

#include <re2/re2.h>

#include <algorithm>
#include <array>

#include "base/types/check.h"
#include "base/types/enum_names.h"

namespace muster {

namespace {

constexpr std::size_t kHead = 256;  // Prefixes and times end within this.

bool digit(char c) { return c >= '0' && c <= '9'; }
bool letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool word(char c) { return letter(c) || digit(c) || c == '_'; }

const RE2::Options& options() {
  static const RE2::Options kOptions = [] {
    RE2::Options out;
    out.set_case_sensitive(false);
    out.set_encoding(RE2::Options::EncodingLatin1);
    return out;
  }();
  return kOptions;
}

bool finds(const RE2& pattern, std::string_view text) {
  return pattern.Match({text.data(), text.size()}, 0, text.size(), RE2::UNANCHORED, nullptr, 0);
}

// ESC [ ... letter, and ESC with one letter.
void without_colors(std::string_view line, std::string& out) {
  out.clear();
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] != '\x1b') {
      out += line[i];
      continue;
    }
    if (i + 1 < line.size() && line[i + 1] == '[') {
      ++i;
      while (i + 1 < line.size() && !letter(line[i + 1])) ++i;
    }
    ++i;
  }
}

// The first byte of a line excludes most prefixes without a regular expression.
enum Start : unsigned {
  kBracket = 1,
  kParen = 2,
  kDigit = 4,
  kBlank = 8,
  kSmall = 16,
  kLarge = 32
};

unsigned start_of(char c) {
  if (c == '[') return kBracket;
  if (c == '(') return kParen;
  if (c == ' ') return kBlank;
  if (digit(c)) return kDigit;
  if (!letter(c)) return 0;
  return c >= 'a' ? kSmall : kLarge;
}

struct Prefix {
  unsigned starts;
  bool has_rank;  // Group 1.
  RE2 pattern;
};

const std::array<Prefix, 12>& prefixes() {
  static const std::array<Prefix, 12> kPrefixes = {{
      // torchrun, Open MPI, srun -l and others: [rank3]:  [default3]:  [1,3]<stderr>:  3:
      {kBracket | kBlank, true,
       RE2(R"(^\s?\[(?:rank|default|worker)[ _-]?(\d{1,6})\]:? ?)", options())},
      {kBracket, true, RE2(R"(^\[(?:\d{1,6},)?(\d{1,6})\]<std\w{3}>: ?)", options())},
      // Longer numbers are ids of processes.
      {kBracket, true, RE2(R"(^\[(?:\d{1,6},)?(\d{1,3})\]: ?)", options())},
      {kBlank | kDigit, true, RE2(R"(^ {0,5}(\d{1,6}): )", options())},
      {kSmall | kLarge, true, RE2(R"(^rank ?(\d{1,6}): )", options())},
      // torchx: trainer/0    vLLM: ERROR 04-27 12:56:07 [executor.py:852]
      {kSmall, true,
       RE2(R"(^[a-z][\w.-]{0,40}/\d{1,5} \[(?:rank|default)?(\d{1,6})\]: ?)", options())},
      {kLarge, false,
       RE2(R"(^(?:ERROR|CRITICAL) \d\d-\d\d \d\d:\d\d:\d\d \[[\w./]{1,60}:\d+\] ?)", options())},
      // Ray: (RayTrainWorker pid=123, ip=10.0.0.1)
      {kParen, false, RE2(R"(^\([\w .-]{0,60}(?:pid|ip)=[\w .,=:-]{1,60}\) )", options())},
      // Times: 2024-05-14 23:55:39,233   [2024-05-14T23:55:39.1Z]   24/05/14 23:55:39   May 14 ...
      {kBracket | kParen | kDigit | kLarge, false,
       RE2(R"(^[\[(]?(?:\d{2,4}[-/.]\d{2}[-/.]\d{2,4}[ T_]|(?:\w{3} )?\w{3} [ \d]\d )?)"
           R"(\d{2}:\d{2}:\d{2}(?:[.,]\d{1,9})?(?: \d{4})?(?:Z|[+-]\d{2}:?\d{2})?[\])]?)"
           R"((?: [-|:]|:)? ?)",
           options())},
      {kBracket, false, RE2(R"(^\[ *\d{1,9}\.\d{3,6}\] )", options())},  // Kernel messages.
      // Hosts and programs: node-1:   gpu07 kernel:   worker-3 | ...
      {kSmall, false,
       RE2(R"(^(?-i:[a-z][a-z.-]{0,40}\d[a-z0-9.-]{0,40})(?: kernel)?(?::| {1,3}\|) )", options())},
      {kSmall, false, RE2(R"(^(?-i:[a-z][a-z0-9.-]{0,60}) kernel: )", options())},
  }};
  return kPrefixes;
}

int number(std::string_view digits) {
  int out = 0;
  for (const char c : digits) out = out * 10 + (c - '0');
  return out;
}

// Returns the end of the dotted name at the start of the line.
std::size_t name_end(std::string_view line) {
  const auto end =
      std::find_if(line.begin(), line.end(), [](char c) { return !word(c) && c != '.'; });
  return static_cast<std::size_t>(end - line.begin());
}

}  // namespace

BareLine bare(std::string_view line, std::string& scratch) {
  BareLine out{line, -1};
  if (line.find('\x1b') != std::string_view::npos) {
    without_colors(line, scratch);
    out.text = scratch;
  }
  for (int rounds = 0; rounds < 4; ++rounds) {
    const std::string_view head = out.text.substr(0, kHead);
    unsigned start = head.empty() ? 0 : start_of(head[0]);
    // Most lines begin with a word that is not a host name.
    if (start == kSmall && head.find_first_of(":|") == std::string_view::npos) start = 0;
    const bool named = start == kLarge && (head[0] == 'R' || head[0] == 'E' || head[0] == 'C');
    if (start == kLarge && !named && (head.size() < 4 || head[3] != ' ')) start = 0;
    bool cut = false;
    for (const Prefix& prefix : prefixes()) {
      if ((prefix.starts & start) == 0) continue;
      re2::StringPiece found[2];
      const int groups = prefix.has_rank ? 2 : 1;
      if (!prefix.pattern.Match({head.data(), head.size()}, 0, head.size(), RE2::UNANCHORED, found,
                                groups)) {
        continue;
      }
      if (prefix.has_rank) out.rank = number({found[1].data(), found[1].size()});
      out.text.remove_prefix(found[0].size());
      cut = true;
      break;
    }
    if (!cut) break;
  }
  return out;
}

std::optional<std::int64_t> time_of(std::string_view line) {
  static const RE2 kNumbers(
      R"((?:\d{4}|\d{2})[-/](\d{2})[-/](\d{2})[ T_](\d{2}):(\d{2}):(\d{2})(?:[.,](\d{1,6}))?)");
  static const RE2 kGlog(R"(\[?[IWEF](\d{1,2})(\d{2}) (\d{2}):(\d{2}):(\d{2})(?:\.(\d{1,6}))?)");
  static const RE2 kNames(
      R"((Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) {1,2}(\d{1,2}) (\d{2}):(\d{2}):(\d{2}))"
      R"((?:[.](\d{1,6}))?)");
  constexpr std::string_view kMonths = "JanFebMarAprMayJunJulAugSepOctNovDec";
  const std::string_view head = line.substr(0, kHead);
  const re2::StringPiece text(head.data(), head.size());
  for (const RE2* pattern : {&kNumbers, &kGlog, &kNames}) {
    re2::StringPiece part[7];
    if (!pattern->Match(text, 0, text.size(), RE2::UNANCHORED, part, 7)) continue;
    std::int64_t values[7] = {};
    for (int i = 1; i < 7; ++i) {
      const std::string_view digits(part[i].data(), part[i].size());
      if (i == 1 && pattern == &kNames) {
        values[i] = static_cast<std::int64_t>(kMonths.find(digits) / 3 + 1);
      } else {
        values[i] = digits.empty() ? 0 : number(digits);
      }
    }
    for (std::size_t i = part[6].size(); i < 6; ++i) values[6] *= 10;  // ".5" is half a second.
    const std::int64_t days = values[1] * 31 + values[2];
    const std::int64_t seconds = ((days * 24 + values[3]) * 60 + values[4]) * 60 + values[5];
    return seconds * 1'000'000 + values[6];
  }
  return std::nullopt;
}

std::string_view words_of(IgnoredMatch ignored) {
  constexpr EnumNames<IgnoredMatch, IgnoredMatch::kCaught> kWords({
      "",
      "the line is logged as information",
      "the line is only a warning",
      "the line shows that the program continues",
      "the line only mentions errors",
      "the match is part of a name",
      "another exception occurred while it was handled",
      "training continued after it",
      "the program continued after it",
  });
  return kWords[ignored];
}

IgnoredMatch ignored_match_of(std::string_view line, std::size_t begin, std::size_t end) {
  static const RE2 kWarning(
      R"(^\W{0,3}(?:\w+[ :]){0,2}\[?WARN(?:ING)?\b|^\[?W\d{3,4} |^\[W |\bW tensorflow/|)"
      R"(\b(?-i:WARNING|WARN)\b[\]:| -]|\b\w*Warning: )",
      options());
  // A program that finds no GPU at its start fails later, apparently for another reason. Kubernetes
  // prints failures as events of the type Warning.
  static const RE2 kNotWarning(R"(NCCL WARN|OP_REQUIRES failed|CUDA initialization: CUDA unknown|)"
                               R"((?-i:Warning {2,}[A-Z]\w+ {2,}))",
                               options());
  static const RE2 kRemark(
      R"(\b(?-i:INFO|DEBUG|TRACE)\b[\]:| -]|^\[?I\d{3,4} |\[(?:info|debug|trace)\s*\]|)"
      R"(^\s*(?:info|debug|trace) ?[:|-]|\blevel=(?:info|debug|trace)\b)",
      options());
  static const RE2 kGoesOn(
      R"(\b(?:retrying|will (?:be )?retr(?:y|ied)|retry(?:ing)? in|retry \d+ ?(?:/|of)|)"
      R"(attempt \d+ ?(?:/|of) ?\d+|trying again|try again in|falling back|fall back to|fallback|)"
      R"(ignoring|(?:is|was|be|are|and) ignored|ignored[.!)]?$|skipp(?:ed|ing)|skip loading|)"
      R"(continuing (?:with|without|anyway)|recovered|non-fatal|)"
      R"(harmless|reducing batch|(?:is|was|gets) halved|halving|using (?:the )?cpu instead|)"
      R"(proceeding (?:with|without)|attempting to recover|entering retry loop|)"
      R"((?:starting|start|training) from scratch|network error resolved|)"
      R"(resuming from|disabled instead)\b|[,;.:] using [\w .-]{1,40} instead\b)",
      options());
  static const RE2 kGaveUp(
      R"(\b(?:giving up|gave up|no more retries|max retries exceeded|)"
      R"(retries (?:exhausted|left: 0)|after \d+ (?:attempts|retries|tries))\b)",
      options());
  static const RE2 kQuoted(
      R"(^\s*(?:# ?$|# ?[^ ]|//|> |\* |"""|''')|\bNamespace\(|)"
      R"(\b(?:if you (?:see|get|encounter|hit|run into)|in case of|)"
      R"(to avoid|to prevent|how to|docs?:|hint:|tip:|note:|see also|known issue|for example|)"
      R"(e\.g\.|such as|no longer|expected:|handler for|checks? for|)"
      R"(testing|tests? for|guard against|policy for)|(?:^|[^\w.-])no $|)"
      R"(\b(?:arg(?:ument)?s|config(?:uration)?|hparams|options|settings) ?[:=] ?[{(\[]|)"
      R"((?:^|[:,;(=] ?|\b(?:with|found|got|had|and|of|were|was) )0 $)",
      options());
  const std::string_view before = line.substr(0, begin);
  const std::string_view after = line.substr(end);
  if (!before.empty() && finds(kQuoted, before)) return IgnoredMatch::kQuoted;
  const bool in_path = begin > 0 && line[begin - 1] == '/';
  const bool one_word = line.substr(begin, end - begin).find(' ') == std::string_view::npos;
  const bool goes_on_as_name =
      one_word && end > begin && word(line[end - 1]) &&
      ((after.size() > 1 && (after[0] == '.' || after[0] == '-') && letter(after[1])) ||
       (!after.empty() && (after[0] == '_' || after[0] == '/')));
  // The name of an exception begins with its module.
  const bool in_exception = is_exception(line) && begin < name_end(line);
  if (!in_exception && (in_path || goes_on_as_name)) return IgnoredMatch::kFileName;
  if (finds(kGoesOn, line) && !finds(kGaveUp, line)) return IgnoredMatch::kGoesOn;
  if (before.empty()) return IgnoredMatch::kNone;
  if (finds(kWarning, before) && !finds(kNotWarning, line)) return IgnoredMatch::kWarning;
  if (finds(kRemark, before)) return IgnoredMatch::kRemark;
  return IgnoredMatch::kNone;
}

namespace {

bool reports_trouble(std::string_view head) {
  static const RE2 kTrouble(
      R"(error|exception|\bfail|fatal|warn|\bnan\b|\binf\b|abort|killed|traceback|timed? ?out|)"
      R"(\bNVRM\b|out of memory)",
      options());
  return finds(kTrouble, head);
}

}  // namespace

bool is_ordinary(std::string_view line) {
  if (line.empty() || line[0] == ' ' || line[0] == '\t') return false;
  return !reports_trouble(line.substr(0, kHead));
}

bool shows_progress(std::string_view line) {
  static const RE2 kProgress(
      R"(\b(?:epoch|step|iter|iteration|batch|global_step|round)s?\b\W{0,4}\d+|)"
      R"(\d(?:\.\d+)? ?(?:it/s|s/it|samples/s|img/s|images/s|tok/s|tokens/s|sec/step|steps/s)|)"
      R"(\b(?:loss|ppl|acc|accuracy)\w*\b\W{0,4}\d|\d+%\|)",
      options());
  const std::string_view head = line.substr(0, kHead);
  return finds(kProgress, head) && !reports_trouble(head);
}

bool shows_success(std::string_view line) {
  static const RE2 kSuccess(
      R"(\b(?:training|fine-?tuning)\b.{0,24}\b(?:completed?|finished|done)\b|train_runtime|)"
      R"(\b(?:finished|completed|done|end of) (?:training|fine-?tuning)\b|)"
      R"(\bcompleted successfully\b|`trainer\.fit` stopped)",
      options());
  const std::string_view head = line.substr(0, kHead);
  // Few lines have one of these, and the pattern is slow.
  const bool possible = head.find("rain") != std::string_view::npos ||
                        head.find("uning") != std::string_view::npos ||
                        head.find("uccessfully") != std::string_view::npos;
  return possible && finds(kSuccess, head) && !reports_trouble(head);
}

bool is_only_possible(std::string_view line) {
  static const RE2 kPossible(R"(\b(?:may|might|could)\b|\b0 times\b|\bin \d{2,} min)", options());
  return finds(kPossible, line.substr(0, kHead));
}

bool is_exception(std::string_view line) {
  static const RE2 kException(
      R"(^(?-i:[\w.]*(?:Error|Exception|Interrupt|Exit|Failure|Empty|Timeout|StopIteration)\b)"
      R"([\w.]*(?:\(\w+\))?(?::|$| \())|^E +\w+Error\b)",
      options());
  return finds(kException, line.substr(0, kHead));
}

bool is_lookup(std::string_view line) {
  static const RE2 kLookup(
      R"(^(?:\w+\.)*(?:KeyError|AttributeError|IndexError|StopIteration|Empty|FileNotFoundError|)"
      R"(ModuleNotFoundError|ImportError)\b)",
      options());
  return finds(kLookup, line.substr(0, kHead));
}

std::string clean(std::string_view line, std::size_t most) {
  MUSTER_CHECK(most >= 8);
  std::string out;
  std::string scratch;
  if (line.find('\x1b') != std::string_view::npos) {
    without_colors(line, scratch);
    line = scratch;
  }
  for (std::size_t i = 0; i < line.size();) {
    const auto first = static_cast<unsigned char>(line[i]);
    std::size_t size = first < 0x80                     ? 1
                       : first >= 0xc2 && first <= 0xdf ? 2
                       : (first & 0xf0U) == 0xe0        ? 3
                       : first >= 0xf0 && first <= 0xf4 ? 4
                                                        : 0;
    const auto follows = [&](std::size_t at) {
      return at < line.size() && (static_cast<unsigned char>(line[at]) & 0xc0U) == 0x80;
    };
    for (std::size_t k = 1; k < size; ++k) {
      if (!follows(i + k)) size = 0;
    }
    if (size >= 3) {  // Reject overlong forms, surrogates and values above U+10FFFF.
      const auto second = static_cast<unsigned char>(line[i + 1]);
      const bool bad = (first == 0xe0 && second < 0xa0) || (first == 0xed && second >= 0xa0) ||
                       (first == 0xf0 && second < 0x90) || (first == 0xf4 && second >= 0x90);
      if (bad) size = 0;
    }
    const bool control =
        first < 0x20 || first == 0x7f ||
        (size == 2 && first == 0xc2 && static_cast<unsigned char>(line[i + 1]) < 0xa0);
    const std::string_view piece = control     ? std::string_view(" ")
                                   : size == 0 ? std::string_view("\xef\xbf\xbd")
                                               : line.substr(i, size);
    if (out.size() + piece.size() > most - 3) return out + "...";
    out += piece;
    i += std::max<std::size_t>(size, 1);
  }
  const std::size_t end = out.find_last_not_of(' ');
  out.resize(end == std::string::npos ? 0 : end + 1);
  return out;
}

}  // namespace muster
