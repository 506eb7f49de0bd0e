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

template <class T>
std::vector<std::uint8_t> bytes_of(T value, int times = 1) {
  std::vector<std::uint8_t> bytes(sizeof value * static_cast<std::size_t>(times));
  for (int i = 0; i < times; ++i)
    std::memcpy(&bytes[sizeof value * static_cast<std::size_t>(i)], &value, sizeof value);
  return bytes;
}

template <class T>
using Limits = std::numeric_limits<T>;

}  // namespace

Id type_of(std::uint32_t scalar) {
  switch (static_cast<leat_scalar>(scalar)) {
    case LEAT_INT8:
      return copy_of(H5T_NATIVE_INT8);
    case LEAT_INT16:
      return copy_of(H5T_NATIVE_INT16);
    case LEAT_INT32:
      return copy_of(H5T_NATIVE_INT32);
    case LEAT_INT64:
      return copy_of(H5T_NATIVE_INT64);
    case LEAT_UINT8:
      return copy_of(H5T_NATIVE_UINT8);
    case LEAT_UINT16:
      return copy_of(H5T_NATIVE_UINT16);
    case LEAT_UINT32:
      return copy_of(H5T_NATIVE_UINT32);
    case LEAT_UINT64:
      return copy_of(H5T_NATIVE_UINT64);
    case LEAT_FLOAT32:
      return copy_of(H5T_NATIVE_FLOAT);
    case LEAT_FLOAT64:
      return copy_of(H5T_NATIVE_DOUBLE);
    case LEAT_COMPLEX64:
      return complex_of(H5T_NATIVE_FLOAT, sizeof(float));
    case LEAT_COMPLEX128:
      return complex_of(H5T_NATIVE_DOUBLE, sizeof(double));
    case LEAT_CHAR:
      return copy_of(H5T_C_S1);
  }
  throw std::runtime_error("unknown element type " + std::to_string(scalar));
}

std::vector<std::uint8_t> fill_value(std::uint32_t scalar) {
  switch (static_cast<leat_scalar>(scalar)) {
    case LEAT_INT8:
      return bytes_of(Limits<std::int8_t>::min());
    case LEAT_INT16:
      return bytes_of(Limits<std::int16_t>::min());
    case LEAT_INT32:
      return bytes_of(Limits<std::int32_t>::min());
    case LEAT_INT64:
      return bytes_of(Limits<std::int64_t>::min());
    case LEAT_UINT8:
      return bytes_of(Limits<std::uint8_t>::max());
    case LEAT_UINT16:
      return bytes_of(Limits<std::uint16_t>::max());
    case LEAT_UINT32:
      return bytes_of(Limits<std::uint32_t>::max());
    case LEAT_UINT64:
      return bytes_of(Limits<std::uint64_t>::max());
    case LEAT_FLOAT32:
      return bytes_of(Limits<float>::quiet_NaN());
    case LEAT_FLOAT64:
      return bytes_of(Limits<double>::quiet_NaN());
    case LEAT_COMPLEX64:
      return bytes_of(Limits<float>::quiet_NaN(), 2);
    case LEAT_COMPLEX128:
      return bytes_of(Limits<double>::quiet_NaN(), 2);
    case LEAT_CHAR:
      return bytes_of('\0');
  }
  throw std::runtime_error("unknown element type " + std::to_string(scalar));
}

}  // namespace leat::hdf5
