#include "study/reproduce/expression.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <vector>

#include "base/text/text.h"

namespace muster {

namespace {

constexpr int kMaxDepth = 50;
constexpr std::size_t kMaxListed = 20;  // Names of runs in a message.

bool is_word_char(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '@' || c == '-';
}

// A recursive-descent parser that computes while it reads. Keeps the first error.
class Evaluator {
 public:
  Evaluator(std::string_view text, const RunResults& results) : text_(text), results_(&results) {}
  Evaluator(std::string_view text, const RunNames& runs) : text_(text), runs_(&runs) {}

  Result<double> run() {
    const double value = sum(0);
    skip_space();
    if (at_ < text_.size()) fail("unexpected " + in_quotes(text_.substr(at_, 10)));
    if (error_) return *error_;
    return value;
  }

 private:
  void fail(const std::string& why) {
    if (!error_) error_ = Error{fmt::format("{}: {}", in_quotes(text_), why)};
  }
  void skip_space() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  // Consumes the sign if it comes next.
  bool take(char sign) {
    skip_space();
    if (at_ >= text_.size() || text_[at_] != sign) return false;
    ++at_;
    return true;
  }

  double sum(int depth) {
    double value = product(depth);
    while (!error_) {
      // A minus sign between values needs a space before it, because names may contain dashes.
      if (take('+')) {
        value += product(depth);
      } else if (take('-')) {
        value -= product(depth);
      } else {
        break;
      }
    }
    return value;
  }

  double product(int depth) {
    double value = term(depth);
    while (!error_) {
      if (take('*')) {
        value *= term(depth);
      } else if (take('/')) {
        const double by = term(depth);
        if (by == 0 && results_ != nullptr) fail("division by zero");
        value /= by;
      } else {
        break;
      }
    }
    return value;
  }

  double term(int depth) {
    if (depth > kMaxDepth) fail("too many parentheses");
    if (error_) return 0;
    if (take('-')) return -term(depth + 1);
    if (take('(')) {
      const double value = sum(depth + 1);
      if (!take(')')) fail("missing ')'");
      return value;
    }
    skip_space();
    const std::string_view word = path();
    if (word.empty()) {
      fail(at_ < text_.size() ? "expected a value before " + in_quotes(text_.substr(at_, 10))
                              : "expected a value at the end");
      return 0;
    }
    if (take('(')) return call(word, depth + 1);
    if (const Result<double> number = parse_number(word); number.ok()) return number.value();
    return look_up(word);
  }

  std::string_view path() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && (is_word_char(text_[at_]) || text_[at_] == '.')) ++at_;
    return text_.substr(begin, at_ - begin);
  }

  double call(std::string_view name, int depth) {
    std::vector<double> values;
    do {
      values.push_back(sum(depth));
    } while (!error_ && take(','));
    if (!take(')')) fail("missing ')'");
    if (name == "min") return *std::min_element(values.begin(), values.end());
    if (name == "max") return *std::max_element(values.begin(), values.end());
    if (name == "mean") {
      return std::accumulate(values.begin(), values.end(), 0.0) /
             static_cast<double>(values.size());
    }
    fail("unknown function " + in_quotes(name) + "; one of: min, max, mean");
    return 0;
  }

  double look_up(std::string_view path) {
    if (path.find('.') == std::string_view::npos) {
      fail(in_quotes(path) + " is not a number and not RUN.MEMBER");
      return 0;
    }
    const std::vector<std::string_view> parts = split(path, '.');
    if (results_ == nullptr) {
      if (!runs_->contains(parts.front())) fail_unknown(parts.front(), *runs_);
      return 1;
    }
    const auto run = results_->find(std::string(parts.front()));
    if (run == results_->end()) {
      fail("unknown run " + in_quotes(parts.front()));
      return 0;
    }
    const nlohmann::json* value = &run->second;
    for (std::size_t i = 1; i < parts.size(); ++i) {
      const nlohmann::json* const next = member(*value, std::string(parts[i]));
      if (next == nullptr) {
        fail("no number " + in_quotes(path) + similar_members(*value, parts[i]));
        return 0;
      }
      value = next;
    }
    if (!value->is_number()) {
      fail("no number " + in_quotes(path));
      return 0;
    }
    return value->get<double>();
  }

  void fail_unknown(std::string_view run, const RunNames& runs) {
    const std::vector<std::string_view> names(runs.begin(), runs.end());
    fail("unknown run " + in_quotes(run) +
         (names.size() <= kMaxListed ? suggestion(run, names) : few_suggestions(run, names)));
  }

  static std::string similar_members(const nlohmann::json& value, std::string_view name) {
    std::vector<std::string_view> names;
    if (value.is_object()) {
      for (const auto& [key, one] : value.get_ref<const nlohmann::json::object_t&>()) {
        names.push_back(key);
      }
    }
    return few_suggestions(name, names);
  }

  // "All sizes" as "all-sizes", ">8" as "8".
  static std::string as_word(const std::string& text) {
    std::string word;
    for (const char c : text) {
      if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
        word += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
      } else if (!word.empty() && word.back() != '-') {
        word += '-';
      }
    }
    while (word.ends_with('-')) word.pop_back();
    return word;
  }

  static const nlohmann::json* element(const nlohmann::json& list, const std::string& name) {
    for (const nlohmann::json& one : list) {
      const nlohmann::json* key = nullptr;
      if (one.is_object() && one.contains("key")) key = &one["key"];
      if (one.is_array() && !one.empty()) key = &one[0];
      if (key != nullptr && key->is_string() && as_word(key->get<std::string>()) == name) {
        return &one;
      }
    }
    const Result<std::int64_t> index = parse_int(name);
    const bool there =
        index.ok() && index.value() >= 0 && index.value() < static_cast<std::int64_t>(list.size());
    return there ? &list[static_cast<std::size_t>(index.value())] : nullptr;
  }

  static const nlohmann::json* member(const nlohmann::json& value, const std::string& name) {
    if (value.is_array()) return element(value, name);
    const auto found = value.find(name);
    return value.is_object() && found != value.end() ? &*found : nullptr;
  }

  std::string_view text_;
  const RunResults* results_ = nullptr;  // nullptr: only syntax and names of runs are checked.
  const RunNames* runs_ = nullptr;
  std::size_t at_ = 0;
  MaybeError error_;
};

}  // namespace

Result<double> evaluate(std::string_view text, const RunResults& results) {
  return Evaluator(text, results).run();
}

MaybeError check_expression(std::string_view text, const RunNames& runs) {
  const Result<double> checked = Evaluator(text, runs).run();
  if (!checked.ok()) return checked.error();
  return std::nullopt;
}

}  // namespace muster
