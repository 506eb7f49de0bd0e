// SPDX-License-Identifier: Apache-2.0
// Words of the XML before which the environment comes: what suits one machine, or one run.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <string>

#include "lib/model/read_steps.hpp"
#include "lib/model/words.hpp"

namespace leat::model {

/// What `variable` of the environment says, else the attribute. A word that is none of `words` is an
/// error.
template <class Number, std::size_t n>
Number chosen_word(ReadContext& context, const Attributes& attributes, const char* attribute,
                   const char* variable, const Word<Number> (&words)[n]) {
  const char* const chosen = std::getenv(variable);
  const std::string word = chosen && *chosen ? chosen : attributes.text(attribute);
  const Number number = number_of(words, word);
  if (word == word_of(words, number)) return number;
  std::string all;
  for (const Word<Number>& each : words) all += " \"" + std::string(each.word) + "\"";
  context.error(attributes.where(attribute),
                std::string(variable) + "=\"" + word + "\": it is one of" + all);
  return number;
}

/// What LEAT_RUNS says if that is one of `able`, else the attribute: a run has analyses of several
/// kinds, and each word is none of all of them.
template <std::size_t n>
Schedule chosen_schedule(ReadContext& context, const Attributes& attributes,
                         const Schedule (&able)[n]) {
  const Schedule chosen = chosen_word(context, attributes, "runs", "LEAT_RUNS", kSchedules);
  const bool can = std::find(std::begin(able), std::end(able), chosen) != std::end(able);
  return can ? chosen : number_of(kSchedules, attributes.text("runs"));
}

}  // namespace leat::model
