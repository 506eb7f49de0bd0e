// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/common/questions.hpp"

#include <iostream>

namespace leat {

bool read_question(Question* to) {
  for (std::string* word : {&to->whose, &to->type, &to->dims, &to->name, &to->value, &to->mark}) {
    if (!std::getline(std::cin, *word, '\0')) return false;
  }
  return true;
}

void answer(const Question& question, const std::string& message) {
  if (!message.empty()) std::cout << question.mark << '\0' << "error" << '\0' << message << '\0';
}

}  // namespace leat
