// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/output/options.hpp"

#include <algorithm>
#include <filesystem>
#include <stdexcept>
#include <vector>

#include "lib/model/splitting.hpp"
#include "server/plugins/common/io_choice.hpp"
#include "server/plugins/hdf5/conventions/nodes.hpp"
#include "server/plugins/hdf5/conventions/run_description.hpp"
#include "server/plugins/hdf5/disk/named_file.hpp"
#include "server/plugins/hdf5/filters/filters.hpp"

namespace leat::hdf5 {
namespace {

std::string without_blanks(const std::string& text) {
  const auto first = text.find_first_not_of(" \t\n");
  if (first == std::string::npos) return "";
  return text.substr(first, text.find_last_not_of(" \t\n") - first + 1);
}

std::vector<std::string> split_at(const std::string& text, char separator) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(separator, begin), text.size());
    parts.push_back(without_blanks(text.substr(begin, end - begin)));
    begin = end + 1;
  }
  return parts;
}

}  // namespace

std::optional<std::map<std::string, std::string>> select_file_from(const std::string& text) {
  std::map<std::string, std::string> index_of;
  for (const std::string& part : split_at(text, ';')) {
    const std::vector<std::string> sides = split_at(part, ':');
    if (sides.size() != 2 || sides[0].empty()) return std::nullopt;
    for (const std::string& variable : split_at(sides[1], ',')) {
      if (variable.empty() || !index_of.emplace(variable, sides[0]).second) return std::nullopt;
    }
  }
  return index_of;
}

namespace {

namespace fs = std::filesystem;

constexpr const char* kNames[] = {"file", "folder", "compression", "durability", "exists",
                                  "io",   kLayout,  kFileMode,     kDomains,     kSelectFile,
                                  kFiles, kAppend,  kSplit,        kOneRow};

bool is_count(const std::string& text) {
  return !text.empty() && text.size() < 10 && text[0] != '0' &&
         text.find_first_not_of("0123456789") == std::string::npos;
}

std::string why_no_files(const std::string& value) {
  if (value == kFilePerNode || value == kFilesAuto ||
      (is_count(value) && std::stoi(value) <= kMostFiles))
    return "";
  return "option files=\"" + value +
         "\": expected \"node\" for a file of each server, \"auto\" for what suits the file "
         "system, or how many files all servers write together, from 1 to 999";
}

std::string why_no_pieces(const std::string& value) {
  const Result<model::Every> split = model::parse_split(value);
  return split ? "" : "option split=\"" + value + "\": " + split.error().message;
}

std::string why_no_choice(const std::string& name, const std::string& value, const std::string& one,
                          const std::string& other) {
  if (value == one || value == other) return "";
  return "option " + name + "=\"" + value + "\": expected \"" + one + "\" or \"" + other + "\"";
}

}  // namespace

std::string why_no_option(const std::string& name, const std::string& value) {
  if (std::find(std::begin(kNames), std::end(kNames), name) == std::end(kNames))
    return "the hdf5 store has no option \"" + name +
           "\"; it has file, folder, compression, durability, append, exists, io, files, split, "
           "layout, file-mode, domains and select-file";
  if (name == "exists") return why_no_choice(name, value, "keep", "replace");
  if (name == kAppend || name == kOneRow) return why_no_choice(name, value, "true", "false");
  if (name == kLayout) return why_no_choice(name, value, "leat", kDamarisLayout);
  if (name == kFileMode && !file_mode_from(value))
    return "option file-mode=\"" + value +
           "\": expected \"FilePerCore\", \"FilePerDedicatedCore\" or \"Collective\"";
  if (name == kFiles) return why_no_files(value);
  if (name == kSplit) return why_no_pieces(value);
  if (name == kDomains && !is_count(value))
    return "option domains=\"" + value + "\": expected how many blocks a rank writes, from 1 on";
  if (name == kSelectFile && !select_file_from(value))
    return "option select-file=\"" + value +
           "\": expected \"INDEX: VARIABLE, ...; INDEX: ...\": variables behind the one that has "
           "the places of their values, each in one list";
  try {
    if (name == "io") io_from(value);
    if (name == "durability") durability_from(value);
    return "";
  } catch (const std::exception& e) {
    return e.what();
  }
}

std::string why_no_folder(const std::string& folder) {
  if (folder.empty() || fs::is_directory(folder)) return "";
  return "the output folder \"" + fs::absolute(folder).string() + "\" " +
         (fs::exists(folder) ? "is not a folder" : "does not exist") +
         ": make it before the run, or change folder=\"...\" of the store";
}

bool appends(const leat_run& run) {
  return option(run.options, run.option_count, kAppend) == "true";
}

std::string wanted_path(const leat_run& run) {
  const std::string folder = option(run.options, run.option_count, "folder", ".");
  const std::string why = why_no_folder(folder);
  if (!why.empty()) throw std::runtime_error(why);
  const std::string file =
      option(run.options, run.option_count, "file", std::string(run.simulation) + ".h5");
  return (fs::path(folder) / file).lexically_normal();
}

std::optional<Misfit> misfit_among(const std::map<std::string, std::string>& options) {
  const auto layout = options.find(kLayout);
  const bool is_damaris = layout != options.end() && layout->second == kDamarisLayout;
  for (const char* name : {kFileMode, kDomains, kSelectFile}) {
    if (!is_damaris && options.count(name) > 0)
      return Misfit{name, std::string("option ") + name + " is one of layout=\"damaris\" only"};
  }
  const auto exists = options.find("exists");
  if (const auto append = options.find(kAppend);
      append != options.end() && append->second == "true") {
    if (exists != options.end() && exists->second == "replace")
      return Misfit{kAppend,
                    "option append=\"true\" goes on in the file that is there, and "
                    "exists=\"replace\" removes it: take one of them away"};
    if (is_damaris)
      return Misfit{kAppend,
                    "option append is for files that have several iterations; with "
                    "layout=\"damaris\" each has its own"};
  }
  if (options.count(kSplit) > 0) {
    const auto files = options.find(kFiles);
    if (is_damaris)
      return Misfit{kSplit,
                    "option split is for files that have several iterations; with "
                    "layout=\"damaris\" each has its own"};
    if (files != options.end() && files->second != kFilePerNode)
      return Misfit{kSplit, "option split is for files of a server each, and files=\"" +
                                files->second +
                                "\" has them written together: take one of them away"};
  }
  const auto mode = options.find(kFileMode);
  const bool is_collective =
      mode != options.end() && file_mode_from(mode->second) == FileMode::collective;
  if (is_damaris && !is_collective && options.count(kFiles) > 0)
    return Misfit{kFiles,
                  "option files with layout=\"damaris\" is for file-mode=\"Collective\" only: "
                  "other files of Damaris are of one server each"};
  return std::nullopt;
}

void check_options(const leat_run& run) {
  std::map<std::string, std::string> options;
  for (std::uint64_t i = 0; i < run.option_count; ++i) {
    const std::string why = why_no_option(run.options[i].name, run.options[i].value);
    if (!why.empty()) throw std::runtime_error(why);
    options[run.options[i].name] = run.options[i].value;
  }
  if (const auto misfit = misfit_among(options)) throw std::runtime_error(misfit->why);
  be_quiet();
  check_filters(run);
}

}  // namespace leat::hdf5
