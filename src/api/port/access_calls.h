#pragma once

// API calls about callers: the audit, tickets for browsers, and logging out. For calls.h.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "api/port/call_info.h"

namespace muster {

struct ListAudit {  // Rows of the audit, newest first.
  static constexpr CallInfo kInfo{.name = "listAudit"};
  std::string user;                     // Empty: all users.
  std::optional<std::uint64_t> job;     // Id of a job or array.
  std::optional<double> since;          // Seconds since 1970.
  std::string verb;                     // CallInfo::name; empty: all calls.
  std::optional<std::uint64_t> before;  // Only rows with a lower number.
  std::size_t limit = 100;
};
struct GiveTicket {  // The server creates the ticket after the answer.
  static constexpr CallInfo kInfo{.name = "giveTicket", .writes = true};
};
struct LogOut {  // Makes all earlier tickets of the caller invalid.
  static constexpr CallInfo kInfo{.name = "logOut", .writes = true};
};

}  // namespace muster
