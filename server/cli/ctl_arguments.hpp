// SPDX-License-Identifier: Apache-2.0
// Orders as people type them, and the events that say what has come of them: for `leat ctl` and `leat top`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lib/control/protocol.hpp"

namespace leat::cli {

/// The arguments of a verb by its words: NAME is one, NAME=VALUE are two, [NAME...] is a list. Empty:
/// the words that are given are others.
std::optional<control::Json> arguments_of(const control::Verb& verb,
                                          const std::vector<std::string>& given);

/// Whether an event says what has come of an order: of the same thing, of the whole node, and by who gave it.
bool is_outcome(const control::Json& event, const control::Verb& verb,
                const control::Json& arguments, const control::Json& reply);

}  // namespace leat::cli
