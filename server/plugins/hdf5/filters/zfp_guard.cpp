// SPDX-License-Identifier: Apache-2.0
// HDF5 has loaded the filter's library; its class is registered once more, under the same number,
// with a function of ours in front of the library's. It answers "not compressible" (0) where it
// must, and HDF5 stores the chunk without an optional filter then.
#include "server/plugins/hdf5/filters/zfp_guard.hpp"

#include <dlfcn.h>
#include <link.h>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "server/plugins/hdf5/filters/compression.hpp"

namespace leat::hdf5 {
namespace {

H5Z_func_t filter_of_library;

template <class Float>
bool all_finite(const void* data, std::size_t bytes) {
  const auto* at = static_cast<const unsigned char*>(data);
  for (std::size_t i = 0; i + sizeof(Float) <= bytes; i += sizeof(Float)) {
    Float value;
    std::memcpy(&value, at + i, sizeof value);
    if (!std::isfinite(value)) return false;
  }
  return true;
}

// By the header of zfp that H5Z-ZFP keeps as the dataset's settings: a word with its version, one
// with zfp's magic bytes, and in the lowest bits of the next one zfp_type - 1.
bool is_for_zfp(std::size_t count, const unsigned* values, const void* data, std::size_t bytes) {
  constexpr unsigned kTypeBits = 3, kFloat = 2, kDouble = 3;
  const unsigned type = count > 2 ? values[2] & kTypeBits : 0;
  if (type == kFloat) return all_finite<float>(data, bytes);
  if (type == kDouble) return all_finite<double>(data, bytes);
  return all_finite<float>(data, bytes) && all_finite<double>(data, bytes);
}

std::size_t guarded(unsigned flags, std::size_t count, const unsigned* values, std::size_t bytes,
                    std::size_t* room, void** data) {
  const bool reads = (flags & H5Z_FLAG_REVERSE) != 0;
  if (!reads && !is_for_zfp(count, values, *data, bytes)) return 0;
  return filter_of_library(flags, count, values, bytes, room, data);
}

// The class of zfp when it is this library that has it.
const H5Z_class2_t* class_in(const char* library) {
  void* const handle = dlopen(library, RTLD_LAZY | RTLD_NOLOAD);
  if (!handle) return nullptr;
  using Type = H5PL_type_t (*)();
  using Info = const void* (*)();
  const auto type = reinterpret_cast<Type>(dlsym(handle, "H5PLget_plugin_type"));
  const auto info = reinterpret_cast<Info>(dlsym(handle, "H5PLget_plugin_info"));
  const bool is_filter = type && info && type() == H5PL_TYPE_FILTER;
  const auto* kind = is_filter ? static_cast<const H5Z_class2_t*>(info()) : nullptr;
  if (kind && kind->id == kZfp) return kind;  // and the library stays
  dlclose(handle);
  return nullptr;
}

int add_name(dl_phdr_info* library, std::size_t, void* names) {
  if (library->dlpi_name && *library->dlpi_name)
    static_cast<std::vector<std::string>*>(names)->push_back(library->dlpi_name);
  return 0;
}

H5Z_class2_t find_class() {
  check(H5Zfilter_avail(kZfp), "looking for the filter zfp");
  std::vector<std::string> libraries;
  dl_iterate_phdr(add_name, &libraries);
  for (const std::string& each : libraries) {
    if (const H5Z_class2_t* found = class_in(each.c_str())) return *found;
  }
  throw std::runtime_error("the library of the filter zfp is not where HDF5 has it from");
}

}  // namespace

void guard_zfp() {
  static const herr_t done = [] {
    H5Z_class2_t ours = find_class();
    filter_of_library = ours.filter;
    ours.filter = guarded;
    return check(H5Zregister(&ours), "the filter zfp");
  }();
  (void)done;
}

}  // namespace leat::hdf5
