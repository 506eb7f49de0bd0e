// SPDX-License-Identifier: Apache-2.0
#include "server/driver/start_checks.hpp"

#include <filesystem>
#include <optional>

#include "lib/platform/limits.hpp"
#include "lib/platform/memory.hpp"
#include "lib/platform/output_folder.hpp"

namespace leat::server {
namespace {

// What threads, plugins and an iteration at work need beside what there is once all is loaded.
constexpr std::uint64_t kWorkingSpace = std::uint64_t{256} << 20;
// Descriptors beside those of ranks: the loop's own, files, workers of scripts.
constexpr std::uint64_t kOwnDescriptors = 30;

// The folder that a store writes to, and where the XML says so; nothing of a library of the user's
// that does not say it.
std::optional<std::string> folder_of(const model::Store& store, model::SourceLocation* where) {
  const bool is_ours = store.type == "hdf5";
  std::filesystem::path folder, file;
  *where = store.where;
  for (const model::Option& option : store.options) {
    if (option.name == "folder") folder = option.value;
    if (option.name == "file" && is_ours) file = option.value;
    if (option.name == "folder" || (option.name == "file" && file.has_parent_path()))
      *where = option.where;
  }
  if (folder.empty() && !is_ours) return std::nullopt;
  return (folder / file.parent_path()).string();
}

}  // namespace

Result<void> make_output_folders(const model::Model& model) {
  for (const model::Store& store : model.stores) {
    model::SourceLocation where;
    const std::optional<std::string> folder = folder_of(store, &where);
    if (!folder) continue;
    const std::string why = platform::make_output_folder(*folder);
    if (why.empty()) continue;
    return Error{Status::ERROR_CONFIG, model::Diagnostic{model::Severity::error, where,
                                                         "store \"" + store.name + "\": " + why}
                                           .str()};
  }
  if (!model.scripts.exist()) return {};
  const std::string why = platform::why_no_output_folder(model.scripts.output);
  if (why.empty()) return {};
  return Error{Status::ERROR_CONFIG,
               model::Diagnostic{model::Severity::error, model.scripts.where, why}.str()};
}

Result<void> check_limits(const model::Model& model, std::int32_t node_ranks) {
  using platform::format_bytes;
  const std::uint64_t buffer = model.architecture.buffer_bytes, in_use = platform::address_space();
  const std::uint64_t space = platform::most_address_space();
  if (space < in_use + buffer + kWorkingSpace) {
    return Error{Status::ERROR_MEMORY,
                 "the address space of a process is limited to " + format_bytes(space) +
                     " (ulimit -v): the server of a run with a buffer of " + format_bytes(buffer) +
                     " needs " + format_bytes(in_use + buffer + kWorkingSpace) +
                     "; raise the limit, as with `ulimit -v unlimited`, or make <buffer "
                     "size=\"...\"> smaller"};
  }
  const std::uint64_t most = platform::most_descriptors();
  const std::uint64_t needed = kOwnDescriptors + static_cast<std::uint64_t>(node_ranks);
  if (most >= needed) return {};
  return Error{Status::ERROR_SYSTEM, "a process may have " + std::to_string(most) +
                                         " files open (ulimit -n): the server of " +
                                         std::to_string(node_ranks) + " ranks needs " +
                                         std::to_string(needed) + "; raise the limit"};
}

}  // namespace leat::server
