#include "cli/common/parser.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <optional>

#include "base/text/text.h"

namespace muster {

namespace {

bool is_any(const CLI::App*) { return true; }

// The innermost chosen command, and the words that select it, such as "trace info".
struct Chosen {
  const CLI::App* app;
  std::string words;
};

Chosen find_chosen(const CLI::App& app) {
  Chosen chosen{&app, ""};
  while (!chosen.app->get_subcommands().empty()) {
    chosen.app = chosen.app->get_subcommands().front();
    chosen.words += (chosen.words.empty() ? "" : " ") + chosen.app->get_name();
  }
  return chosen;
}

// Extends CLI11's message: it contains the unknown word but no suggestions.
std::string usage_message(const CLI::App& app, const CLI::ParseError& error) {
  const Chosen chosen = find_chosen(app);
  std::string message = error.what();
  std::replace(message.begin(), message.end(), '\n', ' ');
  std::vector<std::string> known;
  for (const CLI::Option* option : chosen.app->get_options()) known.push_back(option->get_name());
  for (const CLI::App* sub : chosen.app->get_subcommands(is_any)) known.push_back(sub->get_name());
  const std::vector<std::string_view> names(known.begin(), known.end());
  const std::vector<std::string> left = chosen.app->remaining();
  const bool lacks_verb = dynamic_cast<const CLI::RequiredError*>(&error) != nullptr &&
                          !chosen.app->get_subcommands(is_any).empty();
  if ((lacks_verb || dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr) && !left.empty()) {
    const std::string word = left.front().substr(0, left.front().find('='));
    message = "unknown " +
              std::string(word.starts_with('-') ? "option "
                          : lacks_verb          ? "command "
                                                : "argument ") +
              in_quotes(word) +
              (lacks_verb ? few_suggestions(word, names) : suggestion(word, names));
  } else if (lacks_verb) {
    message = "a command is required" + suggestion("", names);
  } else if (dynamic_cast<const CLI::ConversionError*>(&error) != nullptr) {
    // "Could not convert: --seed = abc".
    const std::size_t colon = message.find(": ");
    const std::size_t equals = message.find(" = ");
    if (colon != std::string::npos && equals != std::string::npos && colon < equals) {
      message = message.substr(colon + 2, equals - colon - 2) +
                ": not a number: " + in_quotes(message.substr(equals + 3));
    }
  }
  const std::string path = app.get_name() + (chosen.words.empty() ? "" : " ") + chosen.words;
  return message + "; see '" + path + " --help'";
}

}  // namespace

Option Option::required() const { return Option(option_->required()); }
Option Option::type_name(const std::string& name) const { return Option(option_->type_name(name)); }
Option Option::group(const std::string& name) const { return Option(option_->group(name)); }
Option Option::capture_default_str() const { return Option(option_->capture_default_str()); }
Option Option::allow_extra_args(bool allow) const {
  return Option(option_->allow_extra_args(allow));
}
Option Option::expected(int count) const { return Option(option_->expected(count)); }
Option Option::expected(int min, int max) const { return Option(option_->expected(min, max)); }
Option Option::needs(Option other) const { return Option(option_->needs(other.option_)); }
Option Option::excludes(Option other) const { return Option(option_->excludes(other.option_)); }
Option Option::check(const Check& check) const { return Option(option_->check(check, "")); }
Option Option::check_range(int min, int max) const {
  return Option(option_->check(CLI::Range(min, max)));
}
Option Option::check_range(double min, double max) const {
  return Option(option_->check(CLI::Range(min, max)));
}
Option Option::check_not_negative() const { return Option(option_->check(CLI::NonNegativeNumber)); }

std::string Option::name() const { return option_->get_name(); }
std::string Option::description() const { return option_->get_description(); }
std::string Option::type_name() const { return option_->get_type_name(); }
bool Option::is_positional() const { return option_->get_positional(); }
bool Option::takes_value() const { return option_->get_expected_min() > 0; }
std::size_t Option::count() const { return option_->count(); }
std::string Option::text() const { return option_->as<std::string>(); }

std::vector<std::string> Option::all_names() const {
  std::vector<std::string> names;
  for (const std::string& name : option_->get_lnames()) names.push_back("--" + name);
  for (const std::string& name : option_->get_snames()) names.push_back("-" + name);
  return names;
}

Command Command::add_subcommand(const std::string& name, const std::string& what) const {
  return Command(app_->add_subcommand(name, what));
}
void Command::require_subcommand() const { app_->require_subcommand(1); }
void Command::footer(const std::string& text) const { app_->footer(text); }
void Command::group(const std::string& name) const { app_->group(name); }
void Command::callback(const std::function<void()>& run) const { app_->callback(run); }

template <class Target>
Option Command::add_option(const std::string& name, Target& target, const std::string& what) const {
  return Option(app_->add_option(name, target, what));
}
template Option Command::add_option(const std::string&, std::string&, const std::string&) const;
template Option Command::add_option(const std::string&, std::vector<std::string>&,
                                    const std::string&) const;
template Option Command::add_option(const std::string&, double&, const std::string&) const;
template Option Command::add_option(const std::string&, int&, const std::string&) const;
template Option Command::add_option(const std::string&, std::int64_t&, const std::string&) const;
template Option Command::add_option(const std::string&, std::uint16_t&, const std::string&) const;
template Option Command::add_option(const std::string&, std::uint32_t&, const std::string&) const;
template Option Command::add_option(const std::string&, std::uint64_t&, const std::string&) const;
template Option Command::add_option(const std::string&, std::optional<std::uint32_t>&,
                                    const std::string&) const;
template Option Command::add_option(const std::string&, std::optional<std::uint64_t>&,
                                    const std::string&) const;

Option Command::add_option_function(const std::string& name,
                                    const std::function<void(const std::string&)>& take,
                                    const std::string& what) const {
  return Option(app_->add_option_function<std::string>(name, take, what));
}
Option Command::add_flag(const std::string& name, bool& target, const std::string& what) const {
  return Option(app_->add_flag(name, target, what));
}
Option Command::add_flag_callback(const std::string& name, const std::function<void()>& run,
                                  const std::string& what) const {
  return Option(app_->add_flag_callback(name, run, what));
}

std::string Command::name() const { return app_->get_name(); }
std::string Command::description() const { return app_->get_description(); }
bool Command::parsed() const { return app_->parsed(); }
std::size_t Command::count(const std::string& option) const { return app_->count(option); }

std::vector<Command> Command::subcommands() const {
  std::vector<Command> commands;
  for (CLI::App* app : app_->get_subcommands([](CLI::App*) { return true; })) {
    commands.emplace_back(app);
  }
  return commands;
}

std::vector<Option> Command::options() const {
  std::vector<Option> options;
  for (CLI::Option* option : app_->get_options()) options.emplace_back(option);
  return options;
}

MaybeError Command::refuse_empty(std::initializer_list<const char*> options) const {
  for (const char* option : options) {
    for (const std::string& text : app_->get_option(option)->results()) {
      if (text.empty()) return Error{std::string(option) + ": must not be empty"};
    }
  }
  return std::nullopt;
}

Parser::Parser(const std::string& name, const std::string& what)
    : app_(std::make_unique<CLI::App>(what, name)) {}

Parser::~Parser() = default;

void Parser::set_version(const std::string& text) const {
  app_->set_version_flag("--version", text);
}

Parser::Outcome Parser::parse(std::span<const std::string> words) const {
  std::vector<std::string> reversed(words.rbegin(), words.rend());
  try {
    app_->parse(reversed);
    return {};
  } catch (const CLI::CallForHelp&) {
    return {Outcome::Kind::kPrint, app_->help(), ""};  // CLI11 descends into the chosen command.
  } catch (const CLI::CallForVersion& version) {
    return {Outcome::Kind::kPrint, std::string(version.what()) + "\n", ""};
  } catch (const CLI::ParseError& error) {
    return {Outcome::Kind::kRefuse, usage_message(*app_, error), error.what()};
  }
}

}  // namespace muster
