// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/output/damaris_store.hpp"

#include <stdexcept>
#include <string>

#include "server/plugins/hdf5/conventions/nodes.hpp"
#include "server/plugins/hdf5/output/blocks.hpp"
#include "server/plugins/hdf5/output/options.hpp"
#include "server/plugins/hdf5/output/select_file.hpp"

namespace leat::hdf5 {
namespace {

std::string choice_of(const leat_run& run, const char* name, const std::string& otherwise = "") {
  return option(run.options, run.option_count, name, otherwise);
}

DamarisFile::Plan plan_of(const leat_run& run, const Host& host) {
  check_options(run);
  DamarisFile::Plan plan;
  plan.mode = *file_mode_from(choice_of(run, kFileMode, "FilePerCore"));
  plan.several_blocks = choice_of(run, kDomains, "1") != "1";
  plan.durability = durability_from(choice_of(run, "durability"));
  plan.io = io_from(choice_of(run, "io"));
  if (plan.mode == FileMode::collective && is_one_of_several_nodes(run)) {
    host.warn(std::string("store \"") + run.store + "\": " + kFileMode +
              "=\"Collective\" makes one file of the blocks of one node, and this run has several: "
              "each server writes a file of its own, as with \"FilePerDedicatedCore\"" +
              (choice_of(run, kSelectFile).empty()
                   ? ""
                   : "; blocks are in it by rank, each in its own order, beside their index"));
    plan.mode = FileMode::per_server;
  }
  return plan;
}

// Blocks by themselves keep the order in which they were written, as with Damaris.
std::string order_of(const leat_run& run, FileMode mode) {
  return mode == FileMode::collective ? choice_of(run, kSelectFile) : "";
}

}  // namespace

DamarisStore::DamarisStore(const leat_run& run, Host host)
    : run_(run),
      host_(host),
      places_(places_of(run)),
      plan_(plan_of(run, host)),
      names_(run, host, plan_.mode),
      order_(run, host, order_of(run, plan_.mode)) {
  if (leat_run_is_resumed(&run)) order_.recover(names_.stored());
  host_.info("writing " + names_.of_all());
}

void DamarisStore::iteration(const leat_iteration_data& data) {
  be_quiet();
  const std::vector<BlockList> by_variable = by_variable_of(data, places_);
  order_.note(by_variable);
  if (by_variable.empty() || names_.is_stored(data.iteration)) return;
  std::string path = names_.of(data.iteration), errors;
  try {
    path = names_.make_room_for(data.iteration);
    DamarisFile file(path, run_, host_, plan_, &order_);
    errors = file.write(data, by_variable);
    file.publish();
  } catch (const std::exception& e) {
    throw std::runtime_error(path + ": not stored: " + e.what());
  }
  if (!errors.empty()) throw std::runtime_error(path + ": " + errors);
}

void DamarisStore::results(const leat_result_set& set) {
  if (said_results_) return;
  said_results_ = true;
  host_.warn(std::string("store \"") + run_.store + "\": what \"" + set.source +
             "\" has made is not stored in it: files of layout=\"damaris\" have no place for it. "
             "Give it a store of type hdf5 without that option, and this one products=\"\"");
}

}  // namespace leat::hdf5
