#include "light_headers.h"

template class nlohmann::basic_json<>;
