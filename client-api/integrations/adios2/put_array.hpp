// SPDX-License-Identifier: Apache-2.0
// What a Put of ADIOS2 says of its array, and what Leat calls that.
#pragma once

#include <adios2/cxx/Variable.h>
#include <leat_build.h>

#include <algorithm>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

namespace leat_adios2 {

// 0: Leat has none.
template <class T>
constexpr std::int32_t type_of() {
  if constexpr (std::is_same_v<T, char> || std::is_same_v<T, std::string>) return LEAT_TYPE_CHAR;
  if constexpr (std::is_same_v<T, std::int8_t>) return LEAT_TYPE_INT8;
  if constexpr (std::is_same_v<T, std::int16_t>) return LEAT_TYPE_INT16;
  if constexpr (std::is_same_v<T, std::int32_t>) return LEAT_TYPE_INT32;
  if constexpr (std::is_same_v<T, std::int64_t>) return LEAT_TYPE_INT64;
  if constexpr (std::is_same_v<T, std::uint8_t>) return LEAT_TYPE_UINT8;
  if constexpr (std::is_same_v<T, std::uint16_t>) return LEAT_TYPE_UINT16;
  if constexpr (std::is_same_v<T, std::uint32_t>) return LEAT_TYPE_UINT32;
  if constexpr (std::is_same_v<T, std::uint64_t>) return LEAT_TYPE_UINT64;
  if constexpr (std::is_same_v<T, float>) return LEAT_TYPE_FLOAT32;
  if constexpr (std::is_same_v<T, double>) return LEAT_TYPE_FLOAT64;
  if constexpr (std::is_same_v<T, std::complex<float>>) return LEAT_TYPE_COMPLEX64;
  if constexpr (std::is_same_v<T, std::complex<double>>) return LEAT_TYPE_COMPLEX128;
  return 0;
}

// What one Put says of its array.
struct PutArray {
  std::string name, type_name;
  std::int32_t type = 0;
  std::int64_t element_bytes = 1;
  bool is_global = false;  // a part of an array of all ranks
  bool is_joined = false;  // one whose place nobody says
  adios2::Dims shape, start, count;
  const void* data = nullptr;
};

template <class T>
PutArray put_array_of(const adios2::Variable<T>& variable, const T* values) {
  PutArray array;
  array.name = variable.Name();
  array.name.erase(0, array.name.find_first_not_of('/'));
  array.type_name = variable.Type();
  array.type = type_of<T>();
  array.data = values;
  const adios2::ShapeID shape = variable.ShapeID();
  array.is_global = shape == adios2::ShapeID::GlobalArray;
  array.is_joined = shape == adios2::ShapeID::JoinedArray;
  if (array.is_global) array.start = variable.Start();
  if (array.is_global) array.shape = variable.Shape();
  if constexpr (std::is_same_v<T, std::string>) {  // its letters
    array.data = values->data();
    array.count = {values->size()};
  } else {
    array.element_bytes = sizeof(T);
    if (shape != adios2::ShapeID::GlobalValue && shape != adios2::ShapeID::LocalValue)
      array.count = variable.Count();
  }
  return array;
}

// As leat_write_array wants it.
inline leat_array array_of(const PutArray& put, bool is_fortran) {
  leat_array array{};
  array.struct_size = sizeof array;
  array.data = const_cast<void*>(put.data);  // only read
  array.type = put.type;
  array.dims = static_cast<std::int32_t>(put.count.size());
  array.column_major = is_fortran;
  std::int64_t stride = put.element_bytes;
  const std::size_t dims = std::min<std::size_t>(put.count.size(), LEAT_MAX_DIMS);
  for (std::size_t i = 0; i < dims; ++i) {
    const std::size_t d = is_fortran ? i : dims - 1 - i;  // what varies fastest comes first
    array.extent[d] = static_cast<std::int64_t>(put.count[d]);
    array.stride[d] = stride;
    stride *= array.extent[d];
  }
  return array;
}

inline std::string joined(const adios2::Dims& numbers) {
  std::string text;
  for (const std::size_t number : numbers)
    text += (text.empty() ? "" : ",") + std::to_string(number);
  return text;
}

// <variable .../> for <data>, with which it is one array.
inline std::string xml_of_global(const PutArray& put, bool is_fortran) {
  std::string name = put.name, groups, behind, free_dimensions;
  for (std::size_t end = 0; (end = name.find('/')) != std::string::npos; name.erase(0, end + 1)) {
    groups += "<group name=\"" + name.substr(0, end) + "\">";
    behind += "</group>";
  }
  for (std::size_t d = 0; d < put.shape.size(); ++d) free_dimensions += d ? ",?" : "?";
  return groups + "<variable name=\"" + name + "\" type=\"" +
         (put.type == LEAT_TYPE_COMPLEX64 ? "complex64" : put.type_name) + "\" dimensions=\"" +
         free_dimensions + "\" global=\"" + joined(put.shape) + "\"" +
         (is_fortran ? " order=\"fortran\"" : "") + "/>" + behind;
}

}  // namespace leat_adios2
