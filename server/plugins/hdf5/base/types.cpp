// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/base/types.hpp"

#include <cstring>
#include <limits>
#include <string>

#include "server/include/plugin.h"

namespace leat::hdf5 {
namespace {

Id copy_of(hid_t type) { return Id(H5Tcopy(type), "copying a type"); }

Id complex_of(hid_t part, std::size_t bytes) {
  Id type(H5Tcreate(H5T_COMPOUND, 2 * bytes), "making a complex type");
  check(H5Tinsert(type, "r", 0, part), "making a complex type");
  check(H5Tinsert(type, "i", bytes, part), "making a complex type");
  return type;
}

// Or each of the two parts of a complex number.
struct Element {
  template <class T>
  Element(leat_scalar number, hid_t in_hdf5, T nothing, int times = 1)
      : scalar(number), type(in_hdf5), bytes(sizeof nothing), parts(times) {
    std::memcpy(fill, &nothing, sizeof nothing);
  }
  leat_scalar scalar;
  hid_t type;
  std::size_t bytes;
  int parts;
  std::uint8_t fill[sizeof(double)];
};

template <class T>
using Limits = std::numeric_limits<T>;

const Element& element_of(std::uint32_t scalar) {
  static const Element all[] = {
      {LEAT_INT8, H5T_NATIVE_INT8, Limits<std::int8_t>::min()},
      {LEAT_INT16, H5T_NATIVE_INT16, Limits<std::int16_t>::min()},
      {LEAT_INT32, H5T_NATIVE_INT32, Limits<std::int32_t>::min()},
      {LEAT_INT64, H5T_NATIVE_INT64, Limits<std::int64_t>::min()},
      {LEAT_UINT8, H5T_NATIVE_UINT8, Limits<std::uint8_t>::max()},
      {LEAT_UINT16, H5T_NATIVE_UINT16, Limits<std::uint16_t>::max()},
      {LEAT_UINT32, H5T_NATIVE_UINT32, Limits<std::uint32_t>::max()},
      {LEAT_UINT64, H5T_NATIVE_UINT64, Limits<std::uint64_t>::max()},
      {LEAT_FLOAT32, H5T_NATIVE_FLOAT, Limits<float>::quiet_NaN()},
      {LEAT_FLOAT64, H5T_NATIVE_DOUBLE, Limits<double>::quiet_NaN()},
      {LEAT_COMPLEX64, H5T_NATIVE_FLOAT, Limits<float>::quiet_NaN(), 2},
      {LEAT_COMPLEX128, H5T_NATIVE_DOUBLE, Limits<double>::quiet_NaN(), 2},
      {LEAT_CHAR, H5T_C_S1, '\0'},
  };
  for (const Element& element : all) {
    if (element.scalar == scalar) return element;
  }
  throw std::runtime_error("unknown element type " + std::to_string(scalar));
}

}  // namespace

Id type_of(std::uint32_t scalar) {
  const Element& element = element_of(scalar);
  return element.parts == 2 ? complex_of(element.type, element.bytes) : copy_of(element.type);
}

std::vector<std::uint8_t> fill_value(std::uint32_t scalar) {
  const Element& element = element_of(scalar);
  std::vector<std::uint8_t> fill;
  for (int part = 0; part < element.parts; ++part)
    fill.insert(fill.end(), element.fill, element.fill + element.bytes);
  return fill;
}

}  // namespace leat::hdf5
