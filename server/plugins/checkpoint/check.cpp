// SPDX-License-Identifier: Apache-2.0
// What `leat check` starts for stores of type checkpoint.
#include "server/plugins/checkpoint/options.hpp"
#include "server/plugins/common/questions.hpp"

int main() {
  for (leat::Question question; leat::read_question(&question);) {
    if (question.is_of_store())
      answer(question, leat::checkpoint::why_no_option(question.name, question.value));
  }
  return 0;
}
