// SPDX-License-Identifier: Apache-2.0
// What `leat check` asks the program that comes with a plugin, check-TYPE, about options of stores.
// Standard input: six words for each option, each word with a zero byte behind it: whose it is
// (store "out"), the type (enum leat_scalar) and the number of dimensions of the variable that has
// it (0 and 0: a store has it), its name, its value, and what is to stand in front of the answer.
// Standard output: three words for each that is wrong: that, "error" or "warning", and the message.
#pragma once

#include <string>

namespace leat {

struct Question {
  std::string whose, type, dims, name, value, mark;

  bool is_of_store() const { return type == "0"; }
};

/// The next one. False: that was all.
bool read_question(Question* to);
/// That an option is wrong; nothing where `message` is "".
void answer(const Question& question, const std::string& message);

}  // namespace leat
