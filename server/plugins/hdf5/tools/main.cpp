// SPDX-License-Identifier: Apache-2.0
// Which program this is, the name says that it was started by: "view-hdf5" is that of `leat view`; and
// the small one that answers `leat check`.

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <iterator>
#include <limits>
#include <map>
#include <string>

#include "server/plugins/common/questions.hpp"
#include "server/plugins/hdf5/base/files.hpp"
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

namespace {

constexpr std::size_t kAny = std::numeric_limits<std::size_t>::max();

constexpr char kView[] = "TARGET [--output FILE] [--json]";
constexpr Program kPrograms[] = {
    {"check", 0, kAny, "", Care::none, check_options_of_stores},
    {"merge", 4, 4, "VIEW FILE [--force] [--json]", Care::watched, make_file_of_view},
    {"recover", 1, 1, "FILE", Care::watched, recover_file},
    {"state", 1, 2, "[--inside] FILE", Care::own, tell_state},
    {"view", 3, 3, kView, Care::watched, show_view},
    {"view", 4, 4, kView, Care::for_server, make_view_for_server},
};

int wrong_use(const std::string& file, const std::string& verb) {
  for (const Program& program : kPrograms) {
    if (verb != program.verb) continue;
    std::fprintf(stderr, "usage: leat %s %s\n", program.verb, program.usage);
    return kWrongUse;
  }
  std::fprintf(stderr, "%s is no name of a program of the hdf5 store\n", file.c_str());
  return kWrongUse;
}

void take_care(Care care, const char* speaker) {
  if (care == Care::own) prepare_for_files();
  if (care == Care::watched || care == Care::for_server) prepare_for_views(speaker);
  if (care == Care::for_server) tell_server_of_life();
}

int start(const Program& program, const Words& words) {
  const bool speaks = program.care != Care::for_server;
  static const std::string speaker = speaks ? std::string("leat ") + program.verb : "";
  take_care(program.care, speaker.c_str());
  try {
    return program.run(words);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s%s%s\n", speaker.c_str(), speaks ? ": " : "", e.what());
    return kBad;
  }
}

}  // namespace

void print_line(const nlohmann::ordered_json& said) {
  std::puts(said.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace).c_str());
}

}  // namespace leat::hdf5

int main(int argc, char** argv) {
  using namespace leat::hdf5;
  const std::string file = std::filesystem::path(argv[0]).filename();
  const std::string verb = file.substr(0, file.find("-hdf5"));
  const Words words(argv + 1, argv + argc);
  for (const Program& program : kPrograms) {
    const bool fits = words.size() >= program.least && words.size() <= program.most;
    if (fits && verb == program.verb) return start(program, words);
  }
  return wrong_use(file, verb);
}
