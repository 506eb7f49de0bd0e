// SPDX-License-Identifier: Apache-2.0
// What `leat check` starts for stores of type hdf5. Standard input: six words for each option, each
// word with a zero byte behind it: whose it is (store "out"), the type (enum leat_scalar) and the
// number of dimensions of the variable that has it (0 and 0: a store has it), its name, its value,
// and what is to stand in front of the answer. Standard output: three words for each that is wrong:
// that, "error" or "warning", and the message.
#include <cstdlib>
#include <exception>
#include <iostream>
#include <map>
#include <string>

#include "server/plugins/hdf5/filters/filters.hpp"
#include "server/plugins/hdf5/output/options.hpp"
#include "server/plugins/hdf5/tools/program.hpp"

namespace leat::hdf5 {
namespace {

struct Question {
  std::string whose, type, dims, name, value, mark;
};

bool read_word(std::string* word) { return bool(std::getline(std::cin, *word, '\0')); }

bool read_question(Question* to) {
  for (std::string* word : {&to->whose, &to->type, &to->dims, &to->name, &to->value, &to->mark}) {
    if (!read_word(word)) return false;
  }
  return true;
}

void answer(const Question& question, const char* severity, const std::string& message) {
  if (!message.empty()) std::cout << question.mark << '\0' << severity << '\0' << message << '\0';
}

std::uint32_t number(const std::string& text) {
  return static_cast<std::uint32_t>(std::strtoul(text.c_str(), nullptr, 10));
}

void look_at_compression(const Question& question) {
  const Compression compression = compression_from(question.value);
  answer(question, "error", why_not_there(compression, "the " + question.whose));
  if (question.type == "0") return;
  const std::string why = why_not_for(compression, number(question.type), number(question.dims));
  if (!why.empty())
    answer(question, "error",
           "compression=\"" + compression.text + "\" of the " + question.whose + ": " + why);
}

void look_at(const Question& question) {
  try {
    if (question.name == "compression") return look_at_compression(question);
    answer(question, "error", why_no_option(question.name, question.value));
  } catch (const std::exception& e) {
    answer(question, "error", e.what());
  }
}

// Of one store.
using Questions = std::map<std::string, Question>;  // by option

void look_at_all(const Questions& questions) {
  std::map<std::string, std::string> options;
  for (const auto& [name, question] : questions) options[name] = question.value;
  if (const auto misfit = misfit_among(options))
    answer(questions.at(misfit->option), "error", misfit->why);
}

}  // namespace

int check_options_of_stores(const Words&) {
  be_quiet();
  std::map<std::string, Questions> of_stores;
  for (Question question; read_question(&question);) {
    look_at(question);
    if (question.type == "0") of_stores[question.whose][question.name] = question;
  }
  for (const auto& [store, questions] : of_stores) look_at_all(questions);
  return kGood;
}

}  // namespace leat::hdf5
