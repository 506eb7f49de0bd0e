// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/output/own_hdf5.hpp"

#include <hdf5.h>
#include <link.h>

#include <cstdint>
#include <string>

namespace leat::hdf5 {
namespace {

// Libraries come in the order in which they were loaded: what this one has brought comes after it.
struct Search {
  std::uintptr_t hdf5 = 0, own = 0;
  bool own_came = false;
  std::string path_before{};
};

bool holds(const dl_phdr_info& library, std::uintptr_t address) {
  for (int i = 0; i < library.dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = library.dlpi_phdr[i];
    const std::uintptr_t begin = library.dlpi_addr + part.p_vaddr;
    if (part.p_type == PT_LOAD && address >= begin && address - begin < part.p_memsz) return true;
  }
  return false;
}

int look(dl_phdr_info* library, std::size_t, void* context) {
  auto& search = *static_cast<Search*>(context);
  search.own_came = search.own_came || holds(*library, search.own);
  if (!search.own_came && holds(*library, search.hdf5)) search.path_before = library->dlpi_name;
  return search.own_came ? 1 : 0;
}

}  // namespace

std::string why_not_own_hdf5(const leat_run& run) {
  hbool_t is_safe = 0;
  if (!leat_run_is_in_simulation(&run) || (H5is_library_threadsafe(&is_safe) >= 0 && is_safe))
    return "";
  Search search{.hdf5 = reinterpret_cast<std::uintptr_t>(&H5open),
                .own = reinterpret_cast<std::uintptr_t>(&why_not_own_hdf5)};
  dl_iterate_phdr(look, &search);
  if (search.path_before.empty()) return "";
  return "the simulation has loaded " + search.path_before +
         ", which this store uses too and which is not built for several threads: write "
         "<dedicated place=\"process\"/>, or set LEAT_PLACE=process";
}

}  // namespace leat::hdf5
