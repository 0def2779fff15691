#pragma once

// Error answers of the API. The manager, `muster view` and the HTTP server all use these functions.

#include <string>

#include "api/port/service.h"
#include "base/types/error.h"

namespace muster {

// Returns {"error": MESSAGE, "code": NAME} on one line. Omits Error::place, which may be a path
// that the caller must not see. Invalid UTF-8 bytes become U+FFFD.
std::string error_json(const Error& error);

// Returns error_json() as the body, and http_status() of the code as the status.
Answer error_answer(const Error& error);

// Returns the kBusy error for a caller with too many pending requests.
Error too_many_questions();

}  // namespace muster
