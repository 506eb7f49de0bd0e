// SPDX-License-Identifier: Apache-2.0
// The store as a plugin: what the server looks for in the library.
#include <algorithm>
#include <stdexcept>
#include <variant>

#include "server/plugins/hdf5/conventions/nodes.hpp"
#include "server/plugins/hdf5/conventions/run_description.hpp"
#include "server/plugins/hdf5/output/damaris_store.hpp"
#include "server/plugins/hdf5/output/file_count.hpp"
#include "server/plugins/hdf5/output/options.hpp"
#include "server/plugins/hdf5/output/own_hdf5.hpp"
#include "server/plugins/hdf5/output/pieces.hpp"
#include "server/plugins/hdf5/output/shared_store.hpp"
#include "server/plugins/hdf5/output/split_store.hpp"
#include "server/plugins/hdf5/output/store.hpp"
#include "server/plugins/hdf5/output/stored_form.hpp"

namespace leat::hdf5 {
namespace {

// Of the layout that the options ask for.
class ChosenStore {
 public:
  ChosenStore(const leat_run& run, Host host)
      : form_(form_of(run)), store_(chosen(form_.run(), host)) {}
  void iteration(const leat_iteration_data& data) {
    const leat_iteration_data& stored = form_.of(data);
    std::visit([&stored](auto& store) { store.iteration(stored); }, store_);
  }
  void close() {
    std::visit([](auto& store) { store.close(); }, store_);
  }
  static std::string check(const leat_run& run) {
    const StoredForm form = form_of(run);
    check_options(form.run());
    check_packed(form.run());
    const std::string why = why_no_split(run);
    return why.empty() ? why_not_own_hdf5(run) : why;
  }
  static bool makes_whole(const leat_run& run, std::uint64_t variable) {
    return !is_damaris(run) || DamarisStore::makes_whole(run, variable);
  }
  static bool changes_values(const leat_run& run, std::uint64_t variable) {
    return stored_as(*leat_variable_at(&run, variable)).is_any();
  }
  void results(const leat_result_set& set) {
    std::visit([&set](auto& store) { store.results(set); }, store_);
  }

 private:
  using Any = std::variant<Store, SharedStore, SplitStore, DamarisStore>;
  static bool is_damaris(const leat_run& run) {
    return option(run.options, run.option_count, kLayout) == kDamarisLayout;
  }
  static StoredForm form_of(const leat_run& run) {
    check_options(run);
    return StoredForm(run, !is_damaris(run));
  }
  // Who reads coordinates, and files of Damaris, makes no values of whole numbers.
  static void check_packed(const leat_run& run) {
    for (std::uint64_t i = 0; i < run.variable_count; ++i) {
      const leat_variable& variable = *leat_variable_at(&run, i);
      if (!stored_as(variable).is_packed()) continue;
      const std::string whose = std::string("variable \"") + variable.name + "\" has scale=\"...\"";
      if (is_damaris(run))
        throw std::runtime_error(whose +
                                 ", which files of layout=\"damaris\" have no room for: take "
                                 "one of them away");
      for (std::uint64_t m = 0; m < leat_run_mesh_count(&run); ++m) {
        const leat_mesh& mesh = *leat_mesh_at(&run, m);
        if (std::count(mesh.coordinate, mesh.coordinate + mesh.coordinate_count, i) > 0)
          throw std::runtime_error(whose + ", and is a coordinate of the mesh \"" + mesh.name +
                                   "\": take scale away");
      }
    }
  }
  // Damaris' one file of all ranks has an iteration; here it has all of them. The order of select-file is one of files of one server.
  static bool is_one_file_of_several_nodes(const leat_run& run) {
    const auto has = [&run](const char* name) {
      return !option(run.options, run.option_count, name).empty();
    };
    return is_one_of_several_nodes(run) && has(kFiles) && !has(kSelectFile);
  }
  // Who goes on in which file has to be known.
  static void check_append(const leat_run& run, const Host& host) {
    const char* const others = leat_run_succession(&run) > 0 ? "stores at staging nodes"
                               : shared_files(run, host) > 0 ? "servers that write files together "
                                                               "(files=)"
                                                             : nullptr;
    if (!others) return;
    throw std::runtime_error(
        std::string("append=\"true\" is for servers that write a file each, and not for ") +
        others + ". Take it away, then the output of the run before is set aside");
  }
  static Any chosen(const leat_run& run, const Host& host) {
    check_options(run);
    if (appends(run) && is_one_of_several_nodes(run)) check_append(run, host);
    if (is_damaris(run) && !is_one_file_of_several_nodes(run))
      return Any(std::in_place_type<DamarisStore>, run, host);
    if (is_damaris(run))
      host.info(std::string("file-mode=\"Collective\" on several nodes: all of them write ") +
                wanted_path(run) + ", one file of the whole run, in Leat's own layout");
    if (is_in_pieces(run)) return Any(std::in_place_type<SplitStore>, run, host);
    if (const int files = shared_files(run, host); files > 0)
      return Any(std::in_place_type<SharedStore>, run, host, files);
    return Any(std::in_place_type<Store>, run, host);
  }

  StoredForm form_;  // outlives the store
  Any store_;
};

}  // namespace
}  // namespace leat::hdf5

LEAT_PLUGIN(leat::hdf5::ChosenStore, "hdf5")
