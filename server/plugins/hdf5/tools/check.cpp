// SPDX-License-Identifier: Apache-2.0
// What `leat check` starts for stores of type hdf5.
#include <cstdlib>
#include <exception>
#include <map>
#include <string>

#include "server/plugins/common/questions.hpp"
#include "server/plugins/hdf5/filters/filters.hpp"
#include "server/plugins/hdf5/output/options.hpp"
#include "server/plugins/hdf5/tools/program.hpp"

namespace leat::hdf5 {
namespace {

std::uint32_t number(const std::string& text) {
  return static_cast<std::uint32_t>(std::strtoul(text.c_str(), nullptr, 10));
}

void look_at_compression(const Question& question) {
  const Compression compression = compression_from(question.value);
  answer(question, why_not_there(compression, "the " + question.whose));
  if (question.is_of_store()) return;
  const std::string why = why_not_for(compression, number(question.type), number(question.dims));
  if (!why.empty())
    answer(question,
           "compression=\"" + compression.text + "\" of the " + question.whose + ": " + why);
}

void look_at(const Question& question) {
  try {
    if (question.name == "compression") return look_at_compression(question);
    answer(question, why_no_option(question.name, question.value));
  } catch (const std::exception& e) {
    answer(question, e.what());
  }
}

// Of one store.
using Questions = std::map<std::string, Question>;  // by option

void look_at_all(const Questions& questions) {
  std::map<std::string, std::string> options;
  for (const auto& [name, question] : questions) options[name] = question.value;
  if (const auto misfit = misfit_among(options)) answer(questions.at(misfit->option), misfit->why);
}

}  // namespace

int check_options_of_stores(const Words&) {
  be_quiet();
  std::map<std::string, Questions> of_stores;
  for (Question question; read_question(&question);) {
    look_at(question);
    if (question.is_of_store()) of_stores[question.whose][question.name] = question;
  }
  for (const auto& [store, questions] : of_stores) look_at_all(questions);
  return kGood;
}

}  // namespace leat::hdf5
