#include <fmt/format.h>

#include <algorithm>
#include <ostream>
#include <string>
#include <vector>

#include "base/terminal/table.h"
#include "base/text/text.h"
#include "base/types/version.h"
#include "cli/common/command.h"
#include "cli/common/parser.h"
#include "cli/live/doctor_command.h"
#include "cli/live/live_options.h"
#include "cli/live/serve_command.h"
#include "cli/main/completion.h"
#include "cli/sim/calibrate_command.h"
#include "cli/sim/sim_command.h"
#include "cli/sim/sweep_command.h"
#include "cli/study/analyze_command.h"
#include "cli/study/classify_command.h"
#include "cli/study/layers_command.h"
#include "cli/study/report_command.h"
#include "cli/study/reproduce_command.h"
#include "cli/study/trace_command.h"
#include "cli/study/view_command.h"
#include "engine/mechanism/registry.h"
#include "engine/placement/registry.h"
#include "engine/policy/registry.h"
#include "engine/scheduler/scheduler.h"

namespace muster {

namespace {

template <class Entries>
void list_parts(const Entries& entries, const char* title, std::ostream& out) {
  Table table({{title, Align::kLeft}, {"", Align::kLeft}});
  for (const auto& entry : entries) {
    table.add_row({std::string(entry.name), std::string(entry.doc)});
  }
  out << table.render(color_mode_for(1));
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

// Returns all commands and options, for shell completion.
VerbWords words_of(Command command) {
  VerbWords words{command.name(), command.description(), {}, {}, false, false};
  for (const Option option : command.options()) {
    if (option.is_positional()) {
      words.takes_jobs = words.takes_jobs || option.type_name() == "ID";
      words.takes_nodes = words.takes_nodes || option.type_name() == "NODE";
    }
    for (const std::string& name : option.all_names()) {
      words.options.push_back({name, option.description()});
    }
  }
  for (const Command sub : command.subcommands()) words.verbs.push_back(words_of(sub));
  return words;
}

// The commands that `muster` without arguments shows, by task.
struct Task {
  const char* title;
  std::vector<std::string> commands;
};
const std::vector<Task>& first_tasks() {
  static const std::vector<Task> tasks = {
      {"Run jobs", {"submit", "queue", "status", "logs", "why", "cancel"}},
      {"Watch the cluster", {"nodes", "view"}},
      {"Operate a manager", {"serve"}},
      {"Compare schedulers", {"sim"}},
  };
  return tasks;
}

std::string overview(Command root) {
  std::string text = root.description() + "\n";
  for (const Task& task : first_tasks()) {
    text += fmt::format("\n{}:\n", task.title);
    for (const Command command : root.subcommands()) {
      if (std::ranges::find(task.commands, command.name()) == task.commands.end()) continue;
      text += fmt::format("  {:<8}  {}\n", command.name(), command.description());
    }
  }
  return text +
         "\nExample:\n  muster submit --gpus 1 -- python3 train.py\n"
         "\nAll commands: muster --help. Options of one command: muster submit --help\n";
}

// Every subcommand, with the values of its options.
class AllCommands {
 public:
  explicit AllCommands(Command root);
  LiveCommands& live() { return live_; }
  // Runs the chosen subcommand. `command` is the whole command line, which some write to files.
  int run(Streams streams, const std::string& command);

 private:
  void add_completion();

  Command root_;
  SimCommand sim_;
  SweepCommand sweep_;
  ServeCommand serve_;
  ReportCommand report_;
  ReproduceCommand reproduce_;
  ViewCommand view_;
  TraceCommand trace_;
  AnalyzeCommand analyze_;
  CalibrateCommand calibrate_;
  ClassifyCommand classify_;
  LayersCommand layers_;
  DoctorCommand doctor_;
  LiveCommands live_;
  Command policies_, completion_;
  std::string shell_;
};

AllCommands::AllCommands(Command root) : root_(root) {
  root.require_subcommand();
  root.footer(
      "Example: compare CPU and memory tuning with proportional shares on 16 nodes of 8 GPUs:\n"
      "  muster sim --cluster 16x8 --mechanism proportional,tune --round 300s");
  sim_.add_to(root);
  sweep_.add_to(root);
  serve_.add_to(root);
  report_.add_to(root);
  reproduce_.add_to(root);
  view_.add_to(root);
  trace_.add_to(root);
  analyze_.add_to(root);
  calibrate_.add_to(root);
  classify_.add_to(root);
  layers_.add_to(root);
  doctor_.add_to(root);
  live_.add_to(root);
  policies_ = root.add_subcommand("policies", "list all policies, mechanisms and placements");
  policies_.footer("Example:\n  muster policies");
  add_completion();
}

void AllCommands::add_completion() {
  completion_ =
      root_.add_subcommand("completion", "print a script for command completion in a shell");
  completion_.footer("Example:\n  source <(muster completion bash)");
  completion_.add_option("shell", shell_, "bash, zsh or fish")
      .required()
      .check([](const std::string& text) {
        const bool known =
            std::find(std::begin(kShells), std::end(kShells), text) != std::end(kShells);
        return known ? "" : "unknown shell " + in_quotes(text) + suggestion(text, kShells);
      });
}

int AllCommands::run(Streams streams, const std::string& command) {
  if (live_.chosen()) return live_.run(streams);
  if (sim_.chosen()) return sim_.run(streams, command);
  if (sweep_.chosen()) return sweep_.run(streams);
  if (serve_.chosen()) return serve_.run(streams);
  if (report_.chosen()) return report_.run(streams);
  if (reproduce_.chosen()) return reproduce_.run(streams);
  if (view_.chosen()) return view_.run(streams);
  if (trace_.chosen()) return trace_.run(streams);
  if (analyze_.chosen()) return analyze_.run(streams, command);
  if (calibrate_.chosen()) return calibrate_.run(streams);
  if (classify_.chosen()) return classify_.run(streams);
  if (layers_.chosen()) return layers_.run(streams);
  if (doctor_.chosen()) return doctor_.run(streams);
  if (completion_.parsed()) {
    streams.out << completion_script(shell_, words_of(root_));
    return kExitDone;
  }
  MUSTER_CHECK(policies_.parsed());
  return list_all(streams);
}

}  // namespace

int run_muster(std::span<const std::string> words, Streams streams) {
  const Parser parser("muster",
                      "Muster schedules jobs on shared GPU clusters: when they run, where and with "
                      "which resources.");
  parser.set_version(fmt::format("muster {}", kMusterVersion));
  AllCommands commands(parser.root());
  if (words.empty()) {
    streams.out << overview(parser.root());
    return kExitDone;
  }
  const Parser::Outcome outcome = parser.parse(commands.live().keep_tail(words));
  switch (outcome.kind) {
    case Parser::Outcome::Kind::kPrint:
      streams.out << outcome.text;
      return kExitDone;
    case Parser::Outcome::Kind::kRefuse:
      return complain(streams, outcome.text);
    case Parser::Outcome::Kind::kRun:
      break;
  }
  return commands.run(streams, command_line(words));
}

}  // namespace muster
