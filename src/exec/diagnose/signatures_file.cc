#include "exec/diagnose/signatures_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "base/file/document.h"
#include "base/file/item_reader.h"
#include "base/file/item_text.h"
#include "base/text/text.h"
#include "base/types/check.h"

namespace muster {

namespace {

constexpr std::array<std::string_view, 1> kSignatureFileKeys = {"signatures"};
constexpr std::array<std::string_view, 13> kKeys = {
    "id",      "reason",   "kind",   "bucket", "reaction", "priority", "echo",
    "generic", "patterns", "unless", "within", "says",     "advice"};
constexpr std::array<std::string_view, 2> kKinds = {"explicit", "implicit"};
constexpr std::array<Bucket, 3> kBuckets = {Bucket::kUser, Bucket::kEngine,
                                            Bucket::kInfrastructure};
constexpr Bounds kPriority = {0, 999};
constexpr int kUsualPriority = 50;  // Wins over most built-in signatures.

// Whether to check each pattern, so that the error message shows the invalid one. A test checks the
// built-in patterns.
enum class Trust : std::uint8_t { kCheck, kBuiltIn };

class SignaturesReader {
 public:
  SignaturesReader(std::string file, Trust trust) : reader_(std::move(file)), trust_(trust) {}

  Result<std::vector<Signature>> read(const Item& root) {
    reader_.allow_keys(root, kSignatureFileKeys);
    for (const Item& entry : reader_.list(root, "signatures").items) {
      if (reader_.failed()) break;
      Signature signature = read_signature(entry);
      if (out_.size() >= kMaxSignatures) {
        reader_.refuse(entry, fmt::format("more than {} signatures", kMaxSignatures));
      }
      const bool twice = std::any_of(out_.begin(), out_.end(), [&](const Signature& other) {
        return other.id == signature.id;
      });
      if (twice) reader_.refuse(entry, "duplicate signature id: " + in_quotes(signature.id));
      out_.push_back(std::move(signature));
    }
    if (reader_.failed()) return reader_.error();
    return std::move(out_);
  }

 private:
  Signature read_signature(const Item& entry) {
    reader_.allow_keys(entry, kKeys);
    Signature out;
    out.id = reader_.name(reader_.member(entry, "id"));
    out.reason = read_reason(reader_.member(entry, "reason"));
    if (const Item* kind = entry.find("kind")) out.is_explicit = read_kind(*kind);
    const Item* bucket = entry.find("bucket");
    out.bucket = bucket == nullptr ? info_of(out.reason).bucket() : read_bucket(*bucket);
    const Item* reaction = entry.find("reaction");
    out.reaction = reaction == nullptr ? reaction_to(out.reason) : read_reaction(*reaction);
    out.priority = static_cast<int>(reader_.whole_or(entry, "priority", kPriority, kUsualPriority));
    if (const Item* echo = entry.find("echo")) out.echo = reader_.flag(*echo);
    if (const Item* generic = entry.find("generic")) out.generic = reader_.flag(*generic);
    out.patterns = read_patterns(reader_.list(entry, "patterns"), true);
    if (const Item* unless = entry.find("unless")) out.unless = read_patterns(*unless, false);
    if (const Item* within = entry.find("within")) out.within = read_patterns(*within, false);
    out.says = read_words(reader_.member(entry, "says"), kMaxSaysBytes);
    if (const Item* advice = entry.find("advice")) {
      out.advice = read_words(*advice, kMaxAdviceBytes);
    }
    return out;
  }

  template <class Names>
  std::string word(const Item& item, std::string_view what, const Names& names) {
    const std::string text = reader_.name(item);
    if (std::find(names.begin(), names.end(), text) == names.end()) {
      reader_.refuse(
          item, fmt::format("unknown {}: {}{}", what, in_quotes(text), suggestion(text, names)));
    }
    return text;
  }

  Reason read_reason(const Item& item) {
    std::vector<std::string_view> keys;
    for (const ReasonInfo& info : reasons()) keys.push_back(info.key);
    return find_reason(word(item, "reason", keys)).value_or(Reason::kNoSignature);
  }

  bool read_kind(const Item& item) { return word(item, "kind", kKinds) == "explicit"; }

  Bucket read_bucket(const Item& item) {
    std::vector<std::string_view> keys;
    for (const Bucket bucket : kBuckets) keys.push_back(key_of(bucket));
    const std::string text = word(item, "bucket", keys);
    const auto at = std::find(keys.begin(), keys.end(), text);
    return at == keys.end() ? Bucket::kUnknown
                            : kBuckets[static_cast<std::size_t>(at - keys.begin())];
  }

  Reaction read_reaction(const Item& item) {
    std::vector<std::string_view> keys;
    for (std::size_t i = 0; i < kReactionCount; ++i) keys.push_back(key_of(Reaction(i)));
    return find_reaction(word(item, "reaction", keys)).value_or(Reaction::kStop);
  }

  std::vector<std::string> read_patterns(const Item& list, bool must_be_found) {
    std::vector<std::string> out;
    reader_.expect_list(list);
    if (list.items.size() > kMaxPatterns) {
      reader_.refuse(list, fmt::format("more than {} patterns", kMaxPatterns));
    }
    for (const Item& item : list.items) {
      if (reader_.failed()) break;
      out.push_back(reader_.line(item));
      if (trust_ == Trust::kBuiltIn || reader_.failed()) continue;
      if (const auto fault = fault_in_pattern(out.back(), must_be_found)) {
        reader_.refuse(item, fmt::format("invalid pattern {}: {}", in_quotes(out.back()), *fault));
      }
    }
    if (trust_ == Trust::kCheck && !reader_.failed()) {
      const auto fault = fault_together(out);
      if (fault) reader_.refuse(list, fmt::format("the patterns cannot be combined: {}", *fault));
    }
    return out;
  }

  std::string read_words(const Item& item, std::size_t most) {
    std::string text = reader_.line(item);
    if (text.size() > most) reader_.refuse(item, fmt::format("longer than {} bytes", most));
    return text;
  }

  ItemReader reader_;
  Trust trust_;
  std::vector<Signature> out_;
};

}  // namespace

Result<std::vector<Signature>> read_signatures(const std::string& path) {
  const Result<Item> root = read_document(path);
  if (!root.ok()) return root.error();
  return SignaturesReader(shown_path(path), Trust::kCheck).read(root.value());
}

Result<std::vector<Signature>> parse_signatures(std::string_view text, const std::string& name) {
  const Result<Item> root = parse_document(text, name);
  if (!root.ok()) return root.error();
  return SignaturesReader(name, Trust::kCheck).read(root.value());
}

// Generated at build time from signatures/GROUP.yaml.
std::string_view builtin_scheduler_lines();
std::string_view builtin_gpu_lines();
std::string_view builtin_memory_lines();
std::string_view builtin_storage_lines();
std::string_view builtin_network_lines();
std::string_view builtin_environment_lines();
std::string_view builtin_inputs_lines();
std::string_view builtin_programs_lines();
std::string_view builtin_ends_lines();

std::vector<Signature> builtin_signatures() {
  std::vector<Signature> out;
  for (const auto lines : {builtin_scheduler_lines, builtin_gpu_lines, builtin_memory_lines,
                           builtin_storage_lines, builtin_network_lines, builtin_environment_lines,
                           builtin_inputs_lines, builtin_programs_lines, builtin_ends_lines}) {
    Result<std::vector<Signature>> read =
        SignaturesReader("signatures", Trust::kBuiltIn).read(from_lines(lines()));
    MUSTER_CHECK(read.ok());
    std::vector<Signature> group = std::move(read).value();
    std::move(group.begin(), group.end(), std::back_inserter(out));
  }
  return out;
}

}  // namespace muster
