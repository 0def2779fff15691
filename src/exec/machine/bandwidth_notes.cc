#include "exec/machine/bandwidth_notes.h"

#include <unistd.h>

#include <chrono>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>
#include <vector>

#include "base/os/files.h"

namespace muster {
namespace {

using nlohmann::json;

constexpr const char* kFile = "bandwidth.json";
constexpr std::size_t kMaxNoteBytes = 64 << 10;
constexpr std::size_t kMaxNotes = 200;
constexpr std::int64_t kValidSeconds = std::int64_t{30} * 24 * 3600;

struct Note {
  std::string host;  // Several machines can share a home directory.
  BandwidthKey key;
  double mib_per_s = 0;
  std::int64_t at = 0;  // Seconds since 1970.
};

bool is_for(const Note& note, const std::string& host, const BandwidthKey& key) {
  return note.host == host && note.key.device == key.device && note.key.kind == key.kind;
}

std::string this_host() {
  char host[256] = "";
  return ::gethostname(host, sizeof host - 1) == 0 ? host : "";
}

std::int64_t now_seconds() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::seconds>(since).count();
}

std::optional<Note> note_of(const json& entry, std::int64_t now) {
  if (!entry.is_object()) return std::nullopt;
  const auto field = [&](const char* name) { return entry.value(name, json()); };
  const json host = field("host"), device = field("device"), kind = field("kind");
  const json speed = field("mib_per_s"), at = field("at");
  if (!host.is_string() || !device.is_number_unsigned() || !kind.is_string() ||
      !speed.is_number() || !at.is_number_unsigned()) {
    return std::nullopt;
  }
  Note note{host.get<std::string>(),
            {device.get<std::uint64_t>(), kind.get<std::string>()},
            speed.get<double>(),
            0};
  const auto when = at.get<std::uint64_t>();
  const bool fresh = when <= static_cast<std::uint64_t>(now) &&
                     static_cast<std::uint64_t>(now) - when <= kValidSeconds;
  if (!fresh || !std::isfinite(note.mib_per_s) || note.mib_per_s <= 0 || note.mib_per_s > 1e9) {
    return std::nullopt;
  }
  note.at = static_cast<std::int64_t>(when);
  return note;
}

std::vector<Note> read_notes(const Fd& directory) {
  const auto text = read_file(directory.get(), kFile, kMaxNoteBytes);
  if (!text.ok()) return {};
  const json document = json::parse(text.value(), nullptr, false);
  if (!document.is_object() || document.value("version", json()) != 1) return {};
  const json figures = document.value("figures", json());
  if (!figures.is_array()) return {};
  const std::int64_t now = now_seconds();
  std::vector<Note> notes;
  for (const json& entry : figures) {
    if (auto note = note_of(entry, now)) notes.push_back(std::move(*note));
  }
  return notes;
}

std::string text_of(const std::vector<Note>& notes) {
  json figures = json::array();
  for (const Note& note : notes) {
    figures.push_back({{"host", note.host},
                       {"device", note.key.device},
                       {"kind", note.key.kind},
                       {"mib_per_s", note.mib_per_s},
                       {"at", note.at}});
  }
  const json document = {{"version", 1}, {"figures", std::move(figures)}};
  return document.dump(1, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace

std::optional<double> recall_bandwidth(const std::string& directory, const BandwidthKey& key) {
  if (directory.empty()) return std::nullopt;
  const auto opened = open_directory(directory);
  if (!opened.ok()) return std::nullopt;
  const std::string host = this_host();
  for (const Note& note : read_notes(opened.value())) {
    if (is_for(note, host, key)) return note.mib_per_s;
  }
  return std::nullopt;
}

void note_bandwidth(const std::string& directory, const BandwidthKey& key, double mib_per_s) {
  if (directory.empty()) return;
  std::error_code ignored;
  std::filesystem::create_directories(directory, ignored);
  const auto opened = open_directory(directory);
  if (!opened.ok()) return;
  std::vector<Note> notes = read_notes(opened.value());
  const std::string host = this_host();
  std::erase_if(notes, [&](const Note& note) { return is_for(note, host, key); });
  if (notes.size() >= kMaxNotes)
    notes.erase(notes.begin());  // The oldest, because they are sorted by age.
  notes.push_back({host, key, mib_per_s, now_seconds()});
  const auto refusal = write_whole(opened.value(), kFile, text_of(notes));
  static_cast<void>(refusal);
}

}  // namespace muster
