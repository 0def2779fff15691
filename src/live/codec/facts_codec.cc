#include "live/codec/facts_codec.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace muster {

namespace {

std::string facts_text(const WaitFacts& facts) {
  if (!facts.room) return fmt::format(R"({{"cause":"{}"}})", facts.cause);
  const WaitFacts::Room& room = *facts.room;
  const nlohmann::json closed =
      room.closed.empty() ? nlohmann::json::array() : nlohmann::json(room.closed);
  return fmt::format(
      R"({{"cause":"{}","needs":{},"free":{},"gpus":{},"most_on_one":{},"waiting":{},)"
      R"("closed_gpus":{},"closed":{}}})",
      facts.cause, room.needs, room.free, room.gpus, room.most_on_one, room.waiting,
      room.closed_gpus, closed.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

std::string facts_text(const StartFacts& facts) {
  std::string text =
      fmt::format(R"({{"gpus":{},"cpus":{:.4g},"mem_gib":{:.4g},"policy":"{}","mechanism":"{}",)"
                  R"("placement":"{}","waited_s":{:.3f},"waited_for_s":{{)",
                  facts.total.gpus, static_cast<double>(facts.total.cpu_milli) / 1'000,
                  static_cast<double>(facts.total.mem_mib) / 1'024, facts.policy, facts.mechanism,
                  facts.placement, facts.waited.in_seconds());
  for (std::size_t i = 0; i < kWaitCauses; ++i) {
    text += fmt::format("{}\"{}\":{:.3f}", i == 0 ? "" : ",", kWaitCauseNames[i],
                        facts.waited_for.by_cause[i].in_seconds());
  }
  return text + "}}";
}

std::string facts_text(std::monostate) { return ""; }

}  // namespace

std::string facts_json(const NoteFacts& facts) {
  return std::visit([](const auto& each) { return facts_text(each); }, facts);
}

}  // namespace muster
