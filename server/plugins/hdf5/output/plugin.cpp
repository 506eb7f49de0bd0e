// SPDX-License-Identifier: Apache-2.0
// The store as a plugin: what the server looks for in the library.
#include <stdexcept>
#include <variant>

#include "server/plugins/hdf5/conventions/nodes.hpp"
#include "server/plugins/hdf5/output/damaris_store.hpp"
#include "server/plugins/hdf5/output/file_count.hpp"
#include "server/plugins/hdf5/output/options.hpp"
#include "server/plugins/hdf5/output/own_hdf5.hpp"
#include "server/plugins/hdf5/output/shared_store.hpp"
#include "server/plugins/hdf5/output/store.hpp"

namespace leat::hdf5 {
namespace {

// Of the layout that the options ask for.
class ChosenStore {
 public:
  ChosenStore(const leat_run& run, Host host) : store_(chosen(run, host)) {}
  void iteration(const leat_iteration_data& data) {
    std::visit([&data](auto& store) { store.iteration(data); }, store_);
  }
  void close() {
    std::visit([](auto& store) { store.close(); }, store_);
  }
  static std::string check(const leat_run& run) {
    check_options(run);
    return why_not_own_hdf5(run);
  }
  static bool makes_whole(const leat_run& run, std::uint64_t variable) {
    return !is_damaris(run) || DamarisStore::makes_whole(run, variable);
  }
  void results(const leat_result_set& set) {
    std::visit([&set](auto& store) { store.results(set); }, store_);
  }

 private:
  using Any = std::variant<Store, SharedStore, DamarisStore>;
  static bool is_damaris(const leat_run& run) {
    return option(run.options, run.option_count, kLayout) == kDamarisLayout;
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
    if (const int files = shared_files(run, host); files > 0)
      return Any(std::in_place_type<SharedStore>, run, host, files);
    return Any(std::in_place_type<Store>, run, host);
  }

  Any store_;
};

}  // namespace
}  // namespace leat::hdf5

LEAT_PLUGIN(leat::hdf5::ChosenStore, "hdf5")
