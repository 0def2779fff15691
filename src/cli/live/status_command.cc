// muster status: shows one job in detail.

#include <fmt/format.h>

#include <ostream>

#include "api/client/target.h"
#include "base/terminal/table_columns.h"
#include "base/text/utf8.h"
#include "base/text/wording.h"
#include "cli/live/answer_text.h"
#include "cli/live/job_table.h"
#include "cli/live/live_session.h"
#include "cli/live/live_verbs.h"

namespace muster {
namespace {

using Json = nlohmann::json;

std::string when(const Json& object, const char* key, double now) {
  if (!object.contains(key)) return "";
  const double at = number_at(object, key);
  return fmt::format("{} ({} ago)", local_time(at), brief_time(now - at));
}

std::string gib(const Json& object, const char* key) {
  if (!object.contains(key)) return "";
  const double amount = number_at(object, key);
  return amount < 1 ? fmt::format("{:.0f} MiB", amount * 1024) : fmt::format("{:.4g} GiB", amount);
}

std::string given(const Json& job) {
  std::string text = fmt::format("{}", count_at(job, "gpus"));
  if (const std::string where = text_at(job, "where"); !where.empty()) text += " on " + where;
  if (job.contains("cpus")) {
    const double cpus = number_at(job, "cpus");
    text += fmt::format(", {:.4g} CPU{}", cpus, cpus == 1 ? "" : "s");
  }
  if (job.contains("mem_gib")) text += ", " + gib(job, "mem_gib");
  return text;
}

// Formats a value: a command as a shell command line, a list with commas, other values unchanged.
std::string value_text(const std::string& key, const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  const bool is_time =
      key == "time_limit" || key == "estimate" || key == "grace" || key == "prerun";
  if (is_time && value.is_number()) return brief_time(value.get<double>());
  std::string text;
  if (value.is_array()) {
    std::vector<std::string> words;
    for (const Json& word : value) words.push_back(value_text("", word));
    if (key == "command") return command_line(words).substr(std::string("muster ").size());
    for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
    return text;
  }
  if (value.is_object()) {
    for (const auto& [name, inner] : value.items()) {
      if (key == "env" && name == "PATH") {
        text += (text.empty() ? "" : " ") + std::string("PATH=…");  // Long, and rarely relevant.
        continue;
      }
      text += (text.empty() ? "" : " ") + name + "=" + value_text("", inner);
    }
    return text;
  }
  return json_line(value);
}

// An argument of the command may be a script with several lines.
std::string on_one_line(const std::string& text) {
  std::string out;
  for (const char c : text) out += c == '\n' ? std::string("\\n") : std::string(1, c);
  return out;
}

void add_request(Facts& facts, const Json& job) {
  const auto request = job.find("request");
  if (request == job.end() || !request->is_object()) return;
  for (const auto& [key, value] : request->items()) {
    if (key == "name" || key == "tenant" || key == "gpus" || key == "priority") continue;
    std::string label = key;
    std::replace(label.begin(), label.end(), '_', ' ');
    facts.add(label, on_one_line(value_text(key, value)));
  }
}

// Returns how the lease ended. The manager sends no text for success: that is "0".
std::string exit_text(const Json& lease) {
  const std::string said = text_at(lease, "exit");
  return said.empty() && text_at(lease, "state") == "finished" ? "0" : said;
}

std::string leases_text(const Json& leases, double now) {
  if (leases.empty()) return "";
  Table table({right("LEASE"), left("WHERE"), left("STATE"), left("STARTED"), right("RAN"),
               right("CPU"), right("MEM PEAK"), left("ISOLATION"), left("EXIT")});
  for (const Json& lease : leases) {
    const bool began = lease.contains("started");
    const double until = number_at(lease, "ended", now);
    table.add_row({std::to_string(count_at(lease, "number")), text_at(lease, "where"),
                   text_at(lease, "state"), began ? local_time(number_at(lease, "started")) : "-",
                   began ? brief_time(until - number_at(lease, "started")) : "-",
                   lease.contains("cpu_s") ? brief_time(number_at(lease, "cpu_s")) : "-",
                   lease.contains("mem_peak_gib") ? gib(lease, "mem_peak_gib") : "-",
                   text_at(lease, "isolation"), exit_text(lease)});
  }
  return "\n" + table.render(color_mode_for(1), output_width());
}

std::string progress_line(const Json& job, double now) {
  const std::string text = progress_text(job);
  if (text.empty() || !job["progress"].contains("at")) return text;
  return text + fmt::format(" ({} ago)", brief_time(now - number_at(job["progress"], "at")));
}

std::string dropped_text(const Json& job) {
  const auto progress = job.find("progress");
  if (progress == job.end() || !progress->is_object()) return "";
  const double lines = number_at(*progress, "dropped_lines");
  const double bytes = number_at(*progress, "skipped_bytes");
  std::string text;
  if (lines > 0) text = fmt::format("{:.0f} lines", lines);
  if (bytes > 0) text += fmt::format("{}{:.1f} MB unread", text.empty() ? "" : ", ", bytes / 1e6);
  return text;
}

std::string remaining_text(const Json& job) {
  const auto found = job.find("remaining");
  return found == job.end() ? "" : text_at(*found, "words");
}

std::string cache_text(const Json& job) {
  const auto progress = job.find("progress");
  if (progress == job.end() || !progress->is_object()) return "";
  const auto found = progress->find("cache");
  if (found == progress->end() || !found->is_object()) return "";
  const auto gb = [&](const char* key) { return number_at(*found, key) / 1e9; };
  const double whole = gb("dataset_bytes") > 0 ? gb("dataset_bytes") : gb("budget_bytes");
  std::string text = fmt::format("{:.1f}", gb("held_bytes"));
  if (whole > 0) text += fmt::format(" of {:.1f}", whole);
  text += " GB held";
  const double reads = number_at(*found, "hits") + number_at(*found, "misses");
  if (!(reads > 0)) return text;
  return text +
         fmt::format(", {:.0f}% of reads from memory", 100 * number_at(*found, "hits") / reads);
}

std::string status_text(const Json& job) {
  const double now = now_since_1970();
  Facts facts;
  const std::string tenant = text_at(job, "tenant");
  facts.add("user", text_at(job, "user") + (tenant.empty() ? "" : ", tenant " + tenant));
  facts.add("GPUs", given(job));
  facts.add("why", text_at(job, "why"));
  facts.add("evidence", evidence_text(job));
  facts.add("advice", text_at(job, "advice"));
  facts.add("progress", progress_line(job, now));
  facts.add("dropped reports", dropped_text(job));
  facts.add("left", remaining_text(job));
  facts.add("cache", cache_text(job));
  facts.add("submitted", when(job, "submitted", now));
  facts.add("started", when(job, "started", now));
  facts.add("ended", when(job, "ended", now));
  if (number_at(job, "ran_s") > 0) facts.add("ran", brief_time(number_at(job, "ran_s")));
  if (number_at(job, "priority") != 0) facts.add("priority", json_line(job["priority"]));
  if (job.contains("array")) {
    facts.add("array", fmt::format("{}, index {}", count_at(job, "array"), count_at(job, "index")));
  }
  add_request(facts, job);
  return fmt::format("job {}  {}  {}\n", job_id_text(job), printable(name_text(job)),
                     printable(state_text(job))) +
         facts.text() + leases_text(list_at(job, "leases"), now);
}

}  // namespace

int run_status(const LiveOptions& options, Streams streams) {
  return with_manager(options, streams, [&](ApiClient& client) {
    if (const std::optional<std::string> array = array_in(options.names.front())) {
      const Result<JobTable> jobs = list_array(client, *array);
      if (!jobs.ok()) return complain(streams, jobs.error());
      streams.out << (options.json ? json_line(listing_json(jobs.value())) + "\n"
                                   : listing_text(jobs.value()));
      return kExitDone;
    }
    const std::string env = options.show_env ? "?show_env=1" : "";
    return show(client, "/v1/jobs/" + escaped(options.names.front()) + env, options, streams,
                status_text);
  });
}

}  // namespace muster
