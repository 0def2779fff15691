// The functions of Connection for tickets and for the audit.

#include <cstdint>
#include <nlohmann/json.hpp>
#include <utility>

#include "api/server/connection.h"

namespace muster {
namespace {

constexpr std::string_view kJsonType = "application/json";

}  // namespace

// The manager records its own refusals.
void Connection::record_refusal(const Error& error, AskedCall asked) {
  ServerAct act;
  if (caller_) {
    act.caller = *caller_;
  } else if (!peer_.over_tcp) {
    act.caller = {.user = context_.auth->name_of(peer_.uid), .uid = peer_.uid, .via = "socket"};
  }
  act.caller.address = peer_.address;
  act.call = std::move(asked.call);
  act.object = std::move(asked.object);
  act.status = http_status(error.code);
  act.answer = error.message;
  context_.service->record(std::move(act));
}

void Connection::answer_ticket() {
  if (const MaybeError refusal = context_.auth->may_have_ticket(peer_)) {
    record_refusal(*refusal, {std::string(GiveTicket::kInfo.name), ""});
    return answer(*refusal);
  }
  ask(GiveTicket{}, [this](const Answer& reply) {
    if (reply.status >= 300) return answer(reply.status, reply.body, kJsonType, {});
    const auto& [ticket, until] =
        context_.auth->make_ticket({caller_->uid, caller_->user}, kTicketSeconds);
    const nlohmann::json body = {
        {"ticket", ticket}, {"until", until}, {"user", caller_->user}, {"url", context_.url}};
    answer(201, body.dump() + "\n", kJsonType, {});
  });
}

// The new generation is in force before the caller has the answer.
void Connection::answer_log_out(Call call) {
  ask(std::move(call), [this](const Answer& reply) {
    const nlohmann::json body = nlohmann::json::parse(reply.body, nullptr, false);
    if (reply.status == 200 && body.is_object()) {
      context_.auth->set_ticket_generation(caller_->uid,
                                           body.value("generation", std::uint64_t{0}));
    }
    answer(reply.status, reply.body, kJsonType, {});
  });
}

}  // namespace muster
