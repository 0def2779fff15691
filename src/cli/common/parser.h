#pragma once

// Declares the commands and options of `muster` and parses the command line. Wraps CLI11, whose
// headers take seconds to compile, so only parser.cc includes them. Function names are those of
// CLI11.
//
// Command and Option are handles, as cheap to copy as a pointer. They are valid as long as the
// Parser that they come from. A default-constructed handle must be assigned before it is used.

#include <cstddef>
#include <functional>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/types/result.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace muster {

class Option {
 public:
  // Returns an error message for an argument, or an empty text if it is valid.
  using Check = std::function<std::string(const std::string&)>;

  Option() = default;
  explicit Option(CLI::Option* option) : option_(option) {}

  Option required() const;
  Option type_name(const std::string& name) const;
  Option group(const std::string& name) const;
  Option capture_default_str() const;  // Shows the target's current value in the help.
  Option allow_extra_args(bool allow) const;
  Option expected(int count) const;
  Option expected(int min, int max) const;
  Option needs(Option other) const;
  Option excludes(Option other) const;
  Option check(const Check& check) const;
  Option check_range(int min, int max) const;
  Option check_range(double min, double max) const;
  Option check_not_negative() const;

  std::string name() const;
  std::vector<std::string> all_names() const;  // With dashes, long names first.
  std::string description() const;
  std::string type_name() const;
  bool is_positional() const;
  bool takes_value() const;
  std::size_t count() const;
  std::string text() const;  // The value as typed. REQUIRES: count() > 0.

 private:
  CLI::Option* option_ = nullptr;
};

class Command {
 public:
  Command() = default;
  explicit Command(CLI::App* app) : app_(app) {}

  Command add_subcommand(const std::string& name, const std::string& what = "") const;
  void require_subcommand() const;
  void footer(const std::string& text) const;
  void group(const std::string& name) const;
  void callback(const std::function<void()>& run) const;  // parse() runs it for a chosen command.

  // `target` must outlive the parser. Types: string, vector of strings, double, int, int64_t,
  // uint16_t, uint32_t, uint64_t, and optional of the last two.
  template <class Target>
  Option add_option(const std::string& name, Target& target, const std::string& what) const;
  Option add_option_function(const std::string& name,
                             const std::function<void(const std::string&)>& take,
                             const std::string& what) const;
  Option add_flag(const std::string& name, bool& target, const std::string& what) const;
  Option add_flag_callback(const std::string& name, const std::function<void()>& run,
                           const std::string& what) const;

  std::string name() const;
  std::string description() const;
  std::vector<Command> subcommands() const;
  std::vector<Option> options() const;
  bool parsed() const;
  std::size_t count(const std::string& option) const;
  // Returns an error for an option that was given an empty text. An unset variable in a script must
  // not select the default.
  MaybeError refuse_empty(std::initializer_list<const char*> options) const;

 private:
  CLI::App* app_ = nullptr;
};

class Parser {
 public:
  // `name` is the program name in the usage line and in messages.
  explicit Parser(const std::string& name = "", const std::string& what = "");
  ~Parser();
  Parser(const Parser&) = delete;
  Parser& operator=(const Parser&) = delete;

  Command root() const { return Command(app_.get()); }
  void set_version(const std::string& text) const;

  struct Outcome {
    enum class Kind { kRun, kPrint, kRefuse };
    Kind kind = Kind::kRun;
    std::string text;  // kPrint: the help or the version. kRefuse: the error and a pointer to help.
    std::string reason;  // kRefuse: CLI11's message.
  };
  // Parses `words` and sets the targets of the options. Call it once.
  Outcome parse(std::span<const std::string> words) const;

 private:
  std::unique_ptr<CLI::App> app_;
};

}  // namespace muster
