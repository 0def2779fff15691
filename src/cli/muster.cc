#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <ostream>

#include "base/text.h"
#include "base/version.h"
#include "cli/analyze_command.h"
#include "cli/calibrate_command.h"
#include "cli/classify_command.h"
#include "cli/command.h"
#include "cli/completion.h"
#include "cli/doctor_command.h"
#include "cli/layers_command.h"
#include "cli/live_options.h"
#include "cli/report_command.h"
#include "cli/serve_command.h"
#include "cli/sim_command.h"
#include "cli/sweep_command.h"
#include "cli/trace_command.h"
#include "cli/view_command.h"
#include "config/profiles_file.h"
#include "mechanism/registry.h"
#include "placement/registry.h"
#include "policy/registry.h"
#include "report/table.h"
#include "scheduler/scheduler.h"

namespace muster {

namespace {

template <class Entries>
void list_parts(const Entries& entries, const char* title, std::ostream& out) {
  Table table({{title, Align::kLeft}, {"", Align::kLeft}});
  for (const auto& entry : entries) {
    table.add_row({std::string(entry.name), std::string(entry.doc)});
  }
  out << table.render(ink_for(1));
}

int list_all(Streams streams) {
  list_parts(policies(), "policy", streams.out);
  streams.out << '\n';
  list_parts(mechanisms(), "mechanism", streams.out);
  streams.out << '\n';
  list_parts(placements(), "placement", streams.out);
  streams.out << '\n';
  list_parts(presets(), "scheduler", streams.out);
  return kExitDone;
}

// The library's messages name the word but not what was meant.
std::string usage_message(const CLI::App& app, const CLI::ParseError& error) {
  const auto any = [](const CLI::App*) { return true; };
  const CLI::App* deepest = &app;
  std::string path = "muster";
  while (!deepest->get_subcommands().empty()) {
    deepest = deepest->get_subcommands().front();
    path += " " + deepest->get_name();
  }
  std::string message = error.what();
  std::replace(message.begin(), message.end(), '\n', ' ');
  std::vector<std::string> known;
  for (const CLI::Option* option : deepest->get_options()) known.push_back(option->get_name());
  for (const CLI::App* sub : deepest->get_subcommands(any)) known.push_back(sub->get_name());
  const std::vector<std::string_view> names(known.begin(), known.end());
  const std::vector<std::string> left = deepest->remaining();
  const bool lacks_verb = dynamic_cast<const CLI::RequiredError*>(&error) != nullptr &&
                          !deepest->get_subcommands(any).empty();
  if ((lacks_verb || dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr) && !left.empty()) {
    const std::string word = left.front().substr(0, left.front().find('='));
    message = "unknown " + std::string(word.starts_with('-') ? "option " : "word ") +
              in_quotes(word) + suggestion(word, names);
  } else if (lacks_verb) {
    message = "say what to do" + suggestion("", names);
  } else if (dynamic_cast<const CLI::ConversionError*>(&error) != nullptr) {
    // "Could not convert: --seed = abc".
    const std::size_t colon = message.find(": ");
    const std::size_t equals = message.find(" = ");
    if (colon != std::string::npos && equals != std::string::npos && colon < equals) {
      message = message.substr(colon + 2, equals - colon - 2) +
                ": not a number: " + in_quotes(message.substr(equals + 3));
    }
  }
  return message + "; see '" + path + " --help'";
}

// All verbs and options, as a shell completes them.
VerbWords words_of(const CLI::App& app) {
  VerbWords words{app.get_name(), app.get_description(), {}, {}, false, false};
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_positional()) {
      words.takes_jobs = words.takes_jobs || option->get_type_name() == "ID";
      words.takes_nodes = words.takes_nodes || option->get_type_name() == "NODE";
    }
    for (const std::string& name : option->get_lnames()) {
      words.options.push_back({"--" + name, option->get_description()});
    }
    for (const std::string& name : option->get_snames()) {
      words.options.push_back({"-" + name, option->get_description()});
    }
  }
  for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; })) {
    words.verbs.push_back(words_of(*sub));
  }
  return words;
}

}  // namespace

std::string command_line(std::span<const std::string> words) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-";
  std::string line = "muster";
  for (const std::string& word : words) {
    line += ' ';
    if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) {
      line += word;
      continue;
    }
    line += shell_word(word);
  }
  return line;
}

int complain(Streams streams, std::string_view message) {
  std::string line;  // One line, whatever a name contained.
  for (const char c : message) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      line += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      line += c;
    }
  }
  streams.err << "muster: " << line << '\n';
  return kExitBadInput;
}

std::string refuse_seed(const std::string& text) {
  const Result<std::int64_t> number = parse_int(text);
  if (!number.ok()) return number.error().message;
  return number.value() < 0 ? "negative: " + in_quotes(text) : "";
}

Result<ProfileTable> load_profiles(const std::string& path, std::ostream& notes) {
  if (path.empty()) return builtin_profiles();
  Result<ProfileFile> file = read_profiles(path);
  if (!file.ok()) return file.error();
  for (const std::string& note : file.value().notes) notes << "note: " << note << '\n';
  return std::move(file.value().table);
}

int run_muster(std::span<const std::string> words, Streams streams) {
  CLI::App app("Muster decides who runs next on a shared GPU cluster, with how much, and where.",
               "muster");
  app.require_subcommand(1);
  app.set_version_flag("--version", fmt::format("muster {}", kMusterVersion));
  SimCommand sim;
  sim.add_to(app);
  SweepCommand sweep;
  sweep.add_to(app);
  ServeCommand serve;
  serve.add_to(app);
  ReportCommand report;
  report.add_to(app);
  ViewCommand view;
  view.add_to(app);
  TraceCommand trace;
  trace.add_to(app);
  AnalyzeCommand analyze;
  analyze.add_to(app);
  CalibrateCommand calibration;
  calibration.add_to(app);
  ClassifyCommand classify_logs;
  classify_logs.add_to(app);
  LayersCommand layers;
  layers.add_to(app);
  DoctorCommand doctor;
  doctor.add_to(app);
  LiveCommands live;
  live.add_to(app);
  CLI::App* const policies_command =
      app.add_subcommand("policies", "list every policy, mechanism and placement");
  policies_command->footer("Example:\n  muster policies");
  CLI::App* const completion =
      app.add_subcommand("completion", "print a script by which a shell completes muster");
  completion->footer("Example:\n  source <(muster completion bash)");
  std::string shell;
  completion->add_option("shell", shell, "bash, zsh or fish")
      ->required()
      ->check([](const std::string& text) {
        const bool known =
            std::find(std::begin(kShells), std::end(kShells), text) != std::end(kShells);
        return known ? "" : "unknown shell " + in_quotes(text) + suggestion(text, kShells);
      });
  app.footer(
      "Example: what would tuning CPU and memory gain on 16 servers of 8 GPUs?\n"
      "  muster sim --cluster 16x8 --mechanism proportional,tune --round 300s");
  const std::vector<std::string> ours = live.keep_tail(words);
  std::vector<std::string> reversed(ours.rbegin(), ours.rend());
  try {
    app.parse(reversed);
  } catch (const CLI::CallForHelp&) {
    const CLI::App* deepest = &app;
    std::string path;
    while (!deepest->get_subcommands().empty()) {
      path += (path.empty() ? "" : " ") + deepest->get_name();
      deepest = deepest->get_subcommands().front();
    }
    streams.out << deepest->help(path);
    return kExitDone;
  } catch (const CLI::CallForVersion& version) {
    streams.out << version.what() << '\n';
    return kExitDone;
  } catch (const CLI::ParseError& error) {
    return complain(streams, usage_message(app, error));
  }
  if (live.chosen()) return live.run(streams);
  if (sim.chosen()) return sim.run(streams, command_line(words));
  if (sweep.chosen()) return sweep.run(streams);
  if (serve.chosen()) return serve.run(streams);
  if (report.chosen()) return report.run(streams);
  if (view.chosen()) return view.run(streams);
  if (trace.chosen()) return trace.run(streams);
  if (analyze.chosen()) return analyze.run(streams, command_line(words));
  if (calibration.chosen()) return calibration.run(streams);
  if (classify_logs.chosen()) return classify_logs.run(streams);
  if (layers.chosen()) return layers.run(streams);
  if (doctor.chosen()) return doctor.run(streams);
  if (completion->parsed()) {
    streams.out << completion_script(shell, words_of(app));
    return kExitDone;
  }
  MUSTER_CHECK(policies_command->parsed());
  return list_all(streams);
}

}  // namespace muster
