#include "cli/main/completion.h"

#include <fmt/format.h>

#include "base/types/check.h"

namespace muster {
namespace {

constexpr std::string_view kJobs = "muster queue --limit 0 2>/dev/null | awk 'NR > 2 {print $1}'";
constexpr std::string_view kNodes = "muster nodes 2>/dev/null | awk 'NR > 2 {print $1}'";

// Returns the first line of `text` in single quotes, with `escape` for each single quote in it.
std::string quoted(std::string_view text, std::string_view escape) {
  std::string out = "'";
  for (const char c : text.substr(0, text.find('\n'))) {
    if (c == '\'') {
      out += escape;
    } else {
      out += c;
    }
  }
  return out + "'";
}

std::string option_names(const VerbWords& verb) {
  std::string names;
  for (const OptionWord& option : verb.options) {
    names += (names.empty() ? "" : " ") + option.name;
  }
  return names;
}

std::string verb_names(const VerbWords& verb) {
  std::string names;
  for (const VerbWords& sub : verb.verbs) names += (names.empty() ? "" : " ") + sub.name;
  return names;
}

// Calls add(first word, second word or empty, verb). Two-word commands come before their parent,
// because the scripts use the first match.
template <class Add>
void for_each_verb(const VerbWords& root, Add add) {
  for (const VerbWords& verb : root.verbs) {
    for (const VerbWords& sub : verb.verbs) add(verb.name, sub.name, sub);
    add(verb.name, std::string(), verb);
  }
}

std::string bash_script(const VerbWords& root) {
  std::string cases;
  for_each_verb(root,
                [&](const std::string& first, const std::string& second, const VerbWords& verb) {
                  std::string more = verb_names(verb);
                  if (verb.takes_jobs) more = fmt::format("$({})", kJobs);
                  if (verb.takes_nodes) more = fmt::format("$({})", kNodes);
                  cases += fmt::format("    \"{} {}\"*)\n      options=\"{}\"\n", first, second,
                                       option_names(verb));
                  if (!more.empty())
                    cases += fmt::format("      words() {{ echo \"{}\"; }}\n", more);
                  cases += "      ;;\n";
                });
  return fmt::format(
      "# Completion of muster for bash: source <(muster completion bash)\n"
      "_muster() {{\n"
      "  local current=${{COMP_WORDS[COMP_CWORD]}} options=\"\"\n"
      "  words() {{ :; }}\n"
      "  if ((COMP_CWORD == 1)); then\n"
      "    COMPREPLY=($(compgen -W \"{} {}\" -- \"$current\"))\n"
      "    return\n"
      "  fi\n"
      "  case \"${{COMP_WORDS[1]}} ${{COMP_WORDS[2]}}\" in\n"
      "{}"
      "  esac\n"
      "  if [[ $current == -* ]]; then\n"
      "    COMPREPLY=($(compgen -W \"$options\" -- \"$current\"))\n"
      "  else\n"
      "    COMPREPLY=($(compgen -W \"$(words)\" -- \"$current\"))\n"
      "  fi\n"
      "  unset -f words\n"
      "}}\n"
      "complete -o default -F _muster muster\n",
      verb_names(root), option_names(root), cases);
}

std::string zsh_script(const VerbWords& root) {
  const auto described = [](std::string_view name, std::string_view what) {
    std::string text(name);
    text += ':';
    return quoted(text + std::string(what), "'\\''");
  };
  std::string verbs;
  for (const VerbWords& verb : root.verbs) verbs += "    " + described(verb.name, verb.what) + "\n";
  std::string cases;
  for_each_verb(root,
                [&](const std::string& first, const std::string& second, const VerbWords& verb) {
                  cases += fmt::format("    '{} {}'*)\n      options=(\n", first, second);
                  for (const OptionWord& option : verb.options) {
                    cases += "        " + described(option.name, option.what) + "\n";
                  }
                  cases += "      )\n";
                  if (!verb.verbs.empty())
                    cases += fmt::format("      more=({})\n", verb_names(verb));
                  if (verb.takes_jobs) cases += fmt::format("      more=($({}))\n", kJobs);
                  if (verb.takes_nodes) cases += fmt::format("      more=($({}))\n", kNodes);
                  cases += "      ;;\n";
                });
  return fmt::format(
      "#compdef muster\n"
      "# Completion of muster for zsh: source <(muster completion zsh)\n"
      "_muster() {{\n"
      "  local -a verbs options more\n"
      "  verbs=(\n{}  )\n"
      "  if ((CURRENT == 2)); then\n"
      "    _describe verb verbs\n"
      "    return\n"
      "  fi\n"
      "  case \"${{words[2]}} ${{words[3]}}\" in\n"
      "{}"
      "  esac\n"
      "  if [[ ${{words[CURRENT]}} == -* ]]; then\n"
      "    _describe option options\n"
      "  elif ((${{#more}})); then\n"
      "    compadd -a more\n"
      "  else\n"
      "    _files\n"
      "  fi\n"
      "}}\n"
      "if [[ ${{funcstack[1]}} == _muster ]]; then\n"
      "  _muster \"$@\"\n"
      "else\n"
      "  compdef _muster muster\n"
      "fi\n",
      verbs, cases);
}

std::string fish_option(const OptionWord& option) {
  const bool is_long = option.name.starts_with("--");
  return fmt::format("{} {} -d {}", is_long ? "-l" : "-s", option.name.substr(is_long ? 2 : 1),
                     quoted(option.what, "\\'"));
}

std::string fish_script(const VerbWords& root) {
  std::string out = "# Completion of muster for fish: muster completion fish | source\n";
  for (const VerbWords& verb : root.verbs) {
    out += fmt::format("complete -c muster -n __fish_use_subcommand -f -a {} -d {}\n", verb.name,
                       quoted(verb.what, "\\'"));
  }
  for_each_verb(
      root, [&](const std::string& first, const std::string& second, const VerbWords& verb) {
        std::string when = "__fish_seen_subcommand_from " + first;
        if (!second.empty()) when += "; and __fish_seen_subcommand_from " + second;
        const std::string begin = fmt::format("complete -c muster -n '{}'", when);
        for (const OptionWord& option : verb.options)
          out += begin + " " + fish_option(option) + "\n";
        for (const VerbWords& sub : verb.verbs) {
          out += fmt::format("{} -f -a {} -d {}\n", begin, sub.name, quoted(sub.what, "\\'"));
        }
        if (verb.takes_jobs)
          out += fmt::format("{} -f -a {}\n", begin, quoted(fmt::format("({})", kJobs), "\\'"));
        if (verb.takes_nodes)
          out += fmt::format("{} -f -a {}\n", begin, quoted(fmt::format("({})", kNodes), "\\'"));
      });
  return out;
}

}  // namespace

std::string completion_script(std::string_view shell, const VerbWords& root) {
  if (shell == "bash") return bash_script(root);
  if (shell == "zsh") return zsh_script(root);
  MUSTER_CHECK(shell == "fish");
  return fish_script(root);
}

}  // namespace muster
