// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/raw/options.hpp"

#include <stdexcept>

namespace leat::raw {
namespace {

std::string why_neither(const std::string& name, const std::string& value, const std::string& one,
                        const std::string& other) {
  if (value == one || value == other) return "";
  return "option \"" + name + "\" is \"" + value + "\", and may be \"" + one + "\" or \"" + other +
         "\"";
}

std::string folder_of(const leat_run& run) {
  std::string folder =
      option(run.options, run.option_count, "folder", std::string(run.simulation) + ".raw");
  if (run.ranks > run.node_ranks) folder += "." + std::to_string(leat_run_first_rank(&run));
  return folder;
}

}  // namespace

std::string why_no_option(const std::string& name, const std::string& value) {
  if (name == "folder") return "";
  if (name == "file-per") return why_neither(name, value, "variable", "iteration");
  if (name == "durability") return why_neither(name, value, "none", "iteration");
  if (name == "io") {
    try {
      io_from(value);
    } catch (const std::exception& e) {
      return e.what();
    }
    return "";
  }
  return "there is no option \"" + name +
         "\" of a raw store; there are: \"folder\", \"file-per\", \"durability\", \"io\"";
}

Options options_of(const leat_run& run) {
  for (std::uint64_t i = 0; i < run.option_count; ++i) {
    const std::string why = why_no_option(run.options[i].name, run.options[i].value);
    if (!why.empty()) throw std::runtime_error(why);
  }
  const auto is_iteration = [&run](const char* name) {
    return option(run.options, run.option_count, name) == "iteration";
  };
  return {folder_of(run), is_iteration("file-per"), is_iteration("durability"),
          io_from(option(run.options, run.option_count, "io"))};
}

}  // namespace leat::raw
