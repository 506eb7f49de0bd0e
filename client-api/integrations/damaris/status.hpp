// SPDX-License-Identifier: Apache-2.0
// From Leat's statuses to the error codes of Damaris, and what is said beside them.
#pragma once

#define LEAT_NO_TYPE_CHECK
#include <leat.h>

namespace leat::damaris {

/// What a call names, which says what LEAT_ERROR_UNKNOWN_NAME means.
enum class Named { variable, parameter, event };

int code_of(leat_status status, Named named = Named::variable) noexcept;

/// Prints `leat: damaris_write: text` on standard error, once for each text and call; they are
/// literals. Returns `code`, for `return refuse(...)`.
int refuse(int code, const char* call, const char* text) noexcept;

/// What a code means, for people. Of any number.
const char* text_of(int code) noexcept;

}  // namespace leat::damaris
