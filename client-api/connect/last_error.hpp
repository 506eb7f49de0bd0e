// SPDX-License-Identifier: Apache-2.0
// The message behind a status: kept per thread for leat_last_error, and printed once per kind.
#pragma once

#include <cstdint>
#include <string>

#include "lib/base/status.hpp"

namespace leat::client {

/// Keeps `text` for this thread and prints `leat: rank 3: text` on standard error, unless a failure
/// of the same status and subject (a variable's name, say) was printed before by this process.
/// Returns `status`, for `return fail(...)`.
Status fail(Status status, const std::string& text, const std::string& subject = "") noexcept;
/// ERROR_SYSTEM of an allocation that failed: takes nothing from the heap itself.
Status fail_without_memory() noexcept;

/// As fail, but prints only when `print`: one rank of a node speaks for all.
Status fail_quietly(Status status, const std::string& text, bool print) noexcept;

/// Keeps `text` for this thread.
void store_error(const std::string& text) noexcept;

/// A number from 1 on for failures of this status and subject, always the same one. *is_new: there was
/// none yet. 0: there are too many kinds already.
std::uint32_t number_of_kind(Status status, const std::string& subject, bool* is_new) noexcept;

/// Prints it as fail does; it is no failure.
void tell(const std::string& text) noexcept;

const char* last_error() noexcept;

/// The rank that printed messages name; -1 for none.
void set_message_rank(int rank) noexcept;

/// Lets each failure be printed again, for a new session.
void forget_printed() noexcept;

/// In a child that was forked: another thread of the parent may have held what is locked here.
void start_anew_in_child() noexcept;

}  // namespace leat::client
