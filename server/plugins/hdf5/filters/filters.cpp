// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/filters/filters.hpp"

#include <dlfcn.h>

#include <algorithm>

#include "server/plugins/hdf5/filters/zfp_guard.hpp"

namespace leat::hdf5 {
namespace {

constexpr std::uint32_t kMostDimensionsOfZfp = 4;

// Filters of hdf5plugin (PyPI) look for HDF5's functions among those that all libraries see, and a
// plugin's are not there. Only for who wants such a filter: another plugin may bring an HDF5 of its
// own.
void show_hdf5_to_filters() {
  Dl_info hdf5{};
  if (dladdr(reinterpret_cast<void*>(&H5open), &hdf5) != 0)
    (void)dlopen(hdf5.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_GLOBAL);
}

bool is_there(H5Z_filter_t filter) {
  const bool there = H5Zfilter_avail(filter) > 0;
  H5Eclear2(H5E_DEFAULT);
  return there;
}

std::string names_of_those_there() {
  std::string names = "none";
  for (const KnownFilter& each : known_filters()) {
    if (is_there(each.number)) names += std::string(", ") + each.name;
  }
  return names;
}

std::string folders() {
  unsigned count = 0;
  if (H5PLsize(&count) < 0) return "";
  std::string all;
  for (unsigned i = 0; i < count; ++i) {
    char path[4096] = "";
    if (H5PLget(i, path, sizeof path) > 0) all += (i > 0 ? ", " : "") + std::string(path);
  }
  return all;
}

// Null when it is none of ours.
const KnownFilter* known(H5Z_filter_t number) {
  for (const KnownFilter& each : known_filters()) {
    if (each.number == number) return &each;
  }
  return nullptr;
}

std::string what_is_there() {
  return "There are: " + names_of_those_there() + ". It looked in " + folders() +
         "; HDF5_PLUGIN_PATH names other folders. Debian has packages hdf5-filter-plugin*, PyPI "
         "has "
         "hdf5plugin";
}

void expect_there(const Compression& compression, const std::string& whose) {
  const std::string why = why_not_there(compression, whose);
  if (!why.empty()) throw std::runtime_error(why);
}

std::string why_not(const Compression& compression, const leat_variable& variable) {
  return why_not_for(compression, variable.type, variable.dims);
}

std::string own_of(const leat_variable& variable) {
  return option(variable.options, variable.option_count, "compression");
}

Compression of_store(const leat_run& run) {
  return compression_from(option(run.options, run.option_count, "compression"));
}

StoredFilter filter_at(hid_t creation, unsigned place) {
  StoredFilter found;
  std::size_t count = 0;
  H5Pget_filter2(creation, place, &found.flags, &count, nullptr, 0, nullptr, nullptr);
  found.values.resize(count);
  char name[128] = "";
  found.number = H5Pget_filter2(creation, place, &found.flags, &count, found.values.data(),
                                sizeof name, name, nullptr);
  found.name = name;
  return found;
}

}  // namespace

std::string why_not_there(const Compression& compression, const std::string& whose) {
  if (!compression || compression.filter == H5Z_FILTER_DEFLATE) return "";
  show_hdf5_to_filters();
  if (is_there(compression.filter)) return "";
  return "compression=\"" + compression.text + "\" of " + whose + ": HDF5 has no filter \"" +
         known(compression.filter)->name + "\" here (number " + std::to_string(compression.filter) +
         "). " + what_is_there();
}

std::string why_cannot_expand(H5Z_filter_t number, const std::string& name) {
  const KnownFilter* const ours = known(number);
  show_hdf5_to_filters();
  if (is_there(number)) return "";
  return "is compressed by the filter \"" + (ours ? ours->name : name) + "\" (number " +
         std::to_string(number) + "), which HDF5 does not find here. " + what_is_there();
}

std::string why_not_for(const Compression& compression, std::uint32_t type, std::uint32_t dims) {
  if (!compression.is_zfp()) return "";
  if (type != LEAT_FLOAT32 && type != LEAT_FLOAT64)
    return "zfp can do float and double only, and its type is another: take \"deflate:4\" for it";
  if (dims > kMostDimensionsOfZfp)
    return "zfp can do up to 4 dimensions, and it has " + std::to_string(dims) +
           ": take \"deflate:4\" for it";
  return "";
}

void check_filters(const leat_run& run) {
  expect_there(of_store(run), std::string("the store \"") + run.store + "\"");
  bool any_zfp = of_store(run).is_zfp();
  for (std::uint64_t i = 0; i < run.variable_count; ++i) {
    const leat_variable& variable = *leat_variable_at(&run, i);
    const Compression own = compression_from(own_of(variable));
    const std::string whose = std::string("the variable \"") + variable.name + "\"";
    expect_there(own, whose);
    const std::string reason = why_not(own, variable);
    if (!reason.empty())
      throw std::runtime_error("compression=\"" + own.text + "\" of " + whose + ": " + reason);
    any_zfp = any_zfp || own.is_zfp();
  }
  if (any_zfp) guard_zfp();
}

Compression compression_of(const leat_run& run, const leat_variable& variable) {
  if (!own_of(variable).empty()) return compression_from(own_of(variable));
  const Compression general = of_store(run);
  return why_not(general, variable).empty() ? general : Compression{};
}

std::vector<StoredFilter> filters_of(hid_t creation) {
  std::vector<StoredFilter> found;
  const int count = H5Pget_nfilters(creation);
  for (int i = 0; i < count; ++i) found.push_back(filter_at(creation, static_cast<unsigned>(i)));
  return found;
}

}  // namespace leat::hdf5
