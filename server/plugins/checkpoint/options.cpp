// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/checkpoint/options.hpp"

#include <charconv>
#include <filesystem>
#include <stdexcept>

namespace leat::checkpoint {
namespace {

bool read_keep(const std::string& text, std::uint64_t* keep) {
  const char* const end = text.data() + text.size();
  const auto [behind, fault] = std::from_chars(text.data(), end, *keep);
  return fault == std::errc{} && behind == end && *keep > 0;
}

}  // namespace

std::string why_no_option(const std::string& name, const std::string& value) {
  if (name == "folder" || name == "copy" || name == "tells") return "";  // "tells" is the server's
  std::uint64_t keep = 0;
  if (name == "keep" && read_keep(value, &keep)) return "";
  if (name == "keep") return "option \"keep\" is \"" + value + "\", and is a number from 1 on";
  return "there is no option \"" + name +
         "\" of a checkpoint store; there are: \"folder\", \"copy\", \"keep\", "
         "\"tells\"";
}

Options options_of(const leat_run& run) {
  for (std::uint64_t i = 0; i < run.option_count; ++i) {
    const std::string why = why_no_option(run.options[i].name, run.options[i].value);
    if (!why.empty()) throw std::runtime_error(why);
  }
  const auto given = [&run](const char* name, const std::string& otherwise) {
    return option(run.options, run.option_count, name, otherwise);
  };
  Options options{given("folder", std::string(run.simulation) + ".checkpoint"), given("copy", ""),
                  2};
  (void)read_keep(given("keep", "2"), &options.keep);
  options.tells = given("tells", "");
  namespace fs = std::filesystem;
  const auto normal = [](const std::string& path) {
    return (fs::path(path) / "").lexically_normal();
  };
  if (!options.copy.empty() && normal(options.copy) == normal(options.folder))
    throw std::runtime_error("folder and copy are both " + options.folder +
                             ": the second place is another one, or leave copy away");
  return options;
}

}  // namespace leat::checkpoint
