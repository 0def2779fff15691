#include "exec/diagnose/signatures.h"

#include <algorithm>

#include "base/types/check.h"

namespace muster {

namespace {

// Typical log lines of healthy jobs.
constexpr std::string_view kOrdinary =
    "2024-05-14 23:55:39,233 INFO trainer: epoch 3 step 1200/5000 loss: 0.3121 train_loss=0.31 "
    "lr 1.0e-04 grad_norm 0.31 tokens/s 1024 samples/s 811.5 eta 1:02:03 mem 10.1 GB\n"
    "Epoch 0:  10%|#  | 100/1000 [00:10<01:30, 10.0it/s, loss=2.1, v_num=1, accuracy=0.71]\n"
    "epoch 3 step 122 loss 0.3121 lr 1e-4 127 132 134 135 136 137 139 143 401 403 404 429 500 503\n"
    "DEBUG dataloader: reading data file /data/train/shard-00017.tar from cache, worker 3 of 8\n"
    "saving model checkpoint to /out/model.ckpt-100; saved checkpoint; loading config, weights\n"
    "NCCL INFO Channel 00 : 0[0] -> 1[1] via P2P/IPC; Using network IB; comm 0x7f rank 0 nranks 8\n"
    "validation set: 0.9134 best so far, process group nccl on node 1, cuda:0 device GPU version "
    "2\n"
    "output shape (32, 10) expected input size image batch samples iteration time memory used "
    "writing summary, evaluating, connection to server, starting python version 3.10 requires\n";

RE2::Options pattern_options() {
  RE2::Options out;
  out.set_case_sensitive(false);
  out.set_encoding(RE2::Options::EncodingLatin1);  // Logs can contain any bytes.
  out.set_log_errors(false);
  return out;
}

std::string any_of(const std::vector<std::string>& patterns) {
  std::string out;
  for (const std::string& pattern : patterns) {
    out += (out.empty() ? "(?:" : "|(?:") + pattern + ")";
  }
  return out;
}

std::unique_ptr<RE2> compiled(const std::vector<std::string>& patterns) {
  if (patterns.empty()) return nullptr;
  auto out = std::make_unique<RE2>(any_of(patterns), pattern_options());
  MUSTER_CHECK(out->ok());
  return out;
}

}  // namespace

std::optional<std::string> fault_in_pattern(const std::string& pattern, bool must_be_found) {
  if (pattern.size() > kMaxPatternBytes) {
    return "longer than " + std::to_string(kMaxPatternBytes) + " bytes";
  }
  const RE2 alone(pattern, pattern_options());
  if (!alone.ok()) return alone.error();
  if (alone.Match("", 0, 0, RE2::UNANCHORED, nullptr, 0)) return "matches an empty line";
  if (!must_be_found) return std::nullopt;
  re2::FilteredRE2 filtered(static_cast<int>(kMinLiteral));
  int id = 0;
  std::vector<std::string> literals;
  std::vector<int> without_any;
  if (filtered.Add(pattern, pattern_options(), &id) != RE2::NoError) return "too large";
  filtered.Compile(&literals);
  // Without literals, AllPotentials() returns nothing, so it is called only if there are some.
  if (!literals.empty()) filtered.AllPotentials({}, &without_any);
  if (literals.empty() || !without_any.empty()) {
    return "has no " + std::to_string(kMinLiteral) + " characters of literal text to search for";
  }
  return std::nullopt;
}

std::optional<std::string> fault_together(const std::vector<std::string>& patterns) {
  const RE2 together(any_of(patterns), pattern_options());
  if (!together.ok()) return together.error();
  if (together.ProgramSize() > kMaxProgram)
    return "too large; use fewer repetitions, or split it into two signatures";
  return std::nullopt;
}

Signatures::Signatures(std::vector<Signature> list)
    : list_(std::move(list)),
      filtered_(std::make_unique<re2::FilteredRE2>(static_cast<int>(kMinLiteral))) {
  for (std::size_t i = 0; i < list_.size(); ++i) {
    MUSTER_CHECK(find(list_[i].id) == i);
    int id = -1;
    MUSTER_CHECK(filtered_->Add(any_of(list_[i].patterns), pattern_options(), &id) == RE2::NoError);
    MUSTER_CHECK(id == static_cast<int>(i));
    unless_.push_back(compiled(list_[i].unless));
    within_.push_back(compiled(list_[i].within));
  }
  std::vector<std::string> literals;
  if (!list_.empty()) filtered_->Compile(&literals);
  literals_ = std::make_unique<LiteralScan>(literals);
  triggers_ = std::make_unique<LiteralScan>(choose_triggers(literals));
}

// Chooses the literals of the first scan. Literals that are common in ordinary lines are excluded,
// as long as no pattern consists of excluded literals only.
std::vector<std::string> Signatures::choose_triggers(
    const std::vector<std::string>& literals) const {
  std::vector<int> common;
  LiteralScan(literals).all(kOrdinary, common);
  std::vector<int> left_out;
  for (const int literal : common) {
    std::vector<int> more = left_out;
    more.push_back(literal);
    std::sort(more.begin(), more.end());
    std::vector<int> pass;
    filtered_->AllPotentials(more, &pass);
    if (pass.empty()) left_out = std::move(more);
  }
  std::vector<std::string> out;
  for (std::size_t i = 0; i < literals.size(); ++i) {
    const bool without = std::binary_search(left_out.begin(), left_out.end(), static_cast<int>(i));
    if (!without) out.push_back(literals[i]);
  }
  return out;
}

std::optional<std::size_t> Signatures::find(std::string_view id) const {
  const auto at = std::find_if(list_.begin(), list_.end(),
                               [&](const Signature& signature) { return signature.id == id; });
  if (at == list_.end()) return std::nullopt;
  return static_cast<std::size_t>(at - list_.begin());
}

std::vector<int> Signatures::potentials(const std::vector<int>& literals) const {
  std::vector<int> out;
  filtered_->AllPotentials(literals, &out);
  std::sort(out.begin(), out.end());
  return out;
}

std::optional<Signatures::Span> Signatures::match(std::size_t at, std::string_view line,
                                                  std::size_t from) const {
  const re2::StringPiece text(line.data(), line.size());
  re2::StringPiece found;
  if (!filtered_->GetRE2(static_cast<int>(at))
           .Match(text, from, text.size(), RE2::UNANCHORED, &found, 1)) {
    return std::nullopt;
  }
  const RE2* const unless = unless_[at].get();
  if (unless != nullptr && unless->Match(text, 0, text.size(), RE2::UNANCHORED, nullptr, 0)) {
    return std::nullopt;
  }
  const auto begin = static_cast<std::size_t>(found.data() - line.data());
  return Span{begin, begin + found.size()};
}

bool Signatures::stands_within(std::size_t at, std::string_view traceback) const {
  const RE2* const within = within_[at].get();
  const re2::StringPiece text(traceback.data(), traceback.size());
  return within == nullptr || within->Match(text, 0, text.size(), RE2::UNANCHORED, nullptr, 0);
}

std::vector<Signature> merged(std::vector<Signature> own, std::vector<Signature> builtin) {
  const std::size_t mine = own.size();
  for (Signature& signature : builtin) {
    const auto end = own.begin() + static_cast<std::ptrdiff_t>(mine);
    const bool shadowed = std::any_of(
        own.begin(), end, [&](const Signature& other) { return other.id == signature.id; });
    if (!shadowed) own.push_back(std::move(signature));
  }
  return own;
}

}  // namespace muster
