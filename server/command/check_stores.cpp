// SPDX-License-Identifier: Apache-2.0
// Options of stores, looked at by the program that comes with their plugin: `leat` knows nothing of
// HDF5 and its filters.
#include <filesystem>
#include <map>
#include <set>
#include <tuple>

#include "lib/node/output_folders.hpp"
#include "lib/os/child_process.hpp"
#include "lib/os/folder.hpp"
#include "lib/os/process.hpp"
#include "server/command/check_report.hpp"

namespace leat::command {
namespace {

// Filters are libraries that have to be loaded, from wherever they lie.
constexpr std::int64_t kQuestionLimitNs = 60'000'000'000;

std::string program_of(const std::string& type) {
  return platform::path_beside_program(LEAT_PLUGIN_FOLDER "/check-" + type);
}

// What is asked of one program, and where the answers belong.
struct Questions {
  std::string text;
  std::vector<model::SourceLocation> places;

  void add(const std::string& whose, std::uint32_t type, std::size_t dims,
           const model::Option& option) {
    for (const std::string& word : {whose, std::to_string(type), std::to_string(dims), option.name,
                                    option.value, std::to_string(places.size())})
      text += word + '\0';
    places.push_back(option.where);
  }
};

std::vector<std::string> words_in(const std::string& text) {
  std::vector<std::string> words;
  for (std::size_t at = 0, end; (end = text.find('\0', at)) != std::string::npos; at = end + 1)
    words.push_back(text.substr(at, end - at));
  return words;
}

// A variable's options go to each type of store that takes it, and to none twice.
std::map<std::string, Questions> questions_about(const model::Model& model) {
  std::map<std::string, Questions> by_type;
  for (const model::Store& store : model.stores) {
    for (const model::Option& option : store.options)
      by_type[store.type].add("store \"" + store.name + "\"", 0, 0, option);
  }
  for (const model::Variable& variable : model.variables) {
    std::map<std::string, const model::Variable*> asked;
    for (const std::uint32_t store : variable.stores) asked[model.stores[store].type] = &variable;
    const model::Layout& layout = model.layouts[variable.layout];
    for (const auto& [type, of] : asked) {
      for (const model::Option& option : of->options)
        by_type[type].add("variable \"" + of->name + "\"", static_cast<std::uint32_t>(layout.type),
                          layout.dimensions.size(), option);
    }
  }
  by_type.erase("");  // a library of the user's
  return by_type;
}

// One answer for each place: of a group's compression one is told, not one for each variable in it.
void take(CheckReport& report, const Questions& questions, const std::vector<std::string>& words) {
  std::set<std::tuple<std::string, int, int>> answered;
  for (std::size_t i = 0; i + 2 < words.size(); i += 3) {
    const std::size_t number = std::strtoul(words[i].c_str(), nullptr, 10);
    if (number >= questions.places.size()) return;
    const model::SourceLocation& where = questions.places[number];
    if (!answered.emplace(where.file, where.line, where.column).second) continue;
    const auto severity =
        words[i + 1] == "warning" ? model::Severity::warning : model::Severity::error;
    report.diagnostics.push_back({severity, where, words[i + 2]});
  }
}

// Of this machine; the run may have others.
void check_output_folders(CheckReport& report) {
  const auto warn = [&report](const model::SourceLocation& where, const std::string& why) {
    if (!why.empty()) report.diagnostics.push_back({model::Severity::warning, where, why});
  };
  for (const model::Store& store : report.model->stores) {
    for (const model::Option& option : store.options) {
      if (option.name == "folder") warn(option.where, platform::why_no_output_folder(option.value));
    }
  }
  const model::Scripts& scripts = report.model->scripts;
  if (scripts.exist()) warn(scripts.where, platform::why_no_output_folder(scripts.output));
}

}  // namespace

void check_stores(CheckReport& report) {
  for (const model::Store& store : report.model->stores) {
    std::string warning = store.library.empty() ? "" : platform::group_warning(store.library);
    if (!warning.empty())
      report.diagnostics.push_back({model::Severity::warning, store.where, std::move(warning)});
  }
  check_output_folders(report);
  for (const auto& [type, questions] : questions_about(*report.model)) {
    const std::string program = program_of(type);
    std::error_code missing;
    if (!std::filesystem::exists(program, missing)) continue;  // it has nothing to say
    const Result<std::string> output =
        platform::run_program({program}, questions.text, kQuestionLimitNs);
    if (output) {
      take(report, questions, words_in(*output));
    } else {
      report.diagnostics.push_back(
          {model::Severity::warning, questions.places.front(),
           "the options of " + type + " stores could not be looked at: " + output.error().message});
    }
  }
}

}  // namespace leat::command
