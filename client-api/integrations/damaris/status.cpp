// SPDX-License-Identifier: Apache-2.0
#include "status.hpp"

#include <cstdio>
#include <set>
#include <utility>

#include "Damaris.h"

namespace leat::damaris {

int code_of(leat_status status, Named named) noexcept {
  switch (status) {
    case LEAT_OK:
    case LEAT_UNWANTED:
    case LEAT_DROPPED:
    case LEAT_SERVED:
      return DAMARIS_OK;
    case LEAT_ERROR_UNKNOWN_NAME:
      return named == Named::variable    ? DAMARIS_UNDEFINED_VARIABLE
             : named == Named::parameter ? DAMARIS_UNDEFINED_PARAMETER
                                         : DAMARIS_UNDEFINED_ACTION;
    case LEAT_ERROR_ARGUMENT:
    case LEAT_ERROR_TYPE:
      return DAMARIS_ARGUMENT_ERROR;
    case LEAT_ERROR_SHAPE:
      return DAMARIS_INVALID_DIMENSIONS;
    case LEAT_ERROR_TOO_LARGE:
    case LEAT_ERROR_FULL:
    case LEAT_ERROR_MEMORY:
      return DAMARIS_ALLOCATION_ERROR;
    case LEAT_ERROR_TIMEOUT:
    case LEAT_ERROR_SERVER:
      return DAMARIS_CHANNEL_ERROR;
    case LEAT_ERROR_CONFIG:
      return DAMARIS_CONFIG_ERROR;
    case LEAT_ERROR_STATE:
      return DAMARIS_NOT_INITIALIZED;
    case LEAT_ERROR_VERSION:
      return DAMARIS_INIT_ERROR;
    case LEAT_ERROR_LOST:
      return DAMARIS_FINALIZE_ERROR;
    case LEAT_ERROR_SYSTEM:
    case LEAT_ERROR_INTERNAL:
      return DAMARIS_ERROR_UNKNOWN;
  }
  return DAMARIS_ERROR_UNKNOWN;
}

const char* text_of(int code) noexcept {
  switch (code) {
#define DAMARIS_CODE(name, text) \
  case DAMARIS_##name:           \
    return text;
#include "codes.def"
#undef DAMARIS_CODE
    default:
      return "no code of Damaris";
  }
}

int refuse(int code, const char* call, const char* text) noexcept {
  try {
    static std::set<std::pair<const char*, const char*>> said;
    if (said.emplace(call, text).second) std::fprintf(stderr, "leat: %s: %s\n", call, text);
  } catch (...) {  // no memory: the code says it all the same
  }
  return code;
}

}  // namespace leat::damaris
