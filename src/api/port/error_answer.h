#pragma once

// The one way to answer a call with an error. The manager, the viewer and the server use it.

#include <string>

#include "api/port/service.h"
#include "base/types/error.h"

namespace muster {

// {"error": MESSAGE, "code": NAME} on one line. Error::place is not shown: it may be a path that is
// none of the caller's business. Bytes that are not UTF-8 become U+FFFD.
std::string error_json(const Error& error);

// The same with http_status() of the code.
Answer error_answer(const Error& error);

// The error of a caller who has too many questions waiting.
Error too_many_questions();

}  // namespace muster
