// SPDX-License-Identifier: Apache-2.0
// Leat for C++17 and newer; header only, over leat.h.
//
//     leat::Session session("flow.xml");
//     leat::write("pressure", pressure);         // one dimension: std::vector, std::array, std::span
//     leat::write("u", u.data(), {nz, ny, nx});  // C order
//     leat::write("v", view);                    // std::mdspan and alike, strides included
//     leat::end_iteration();
//     session.finalize();                        // throws when something could not be stored
//
// Type, number of dimensions and extents are checked against the XML. Errors throw leat::Error;
// with LEAT_NO_EXCEPTIONS, or where exceptions are switched off, functions return the status
// instead and never throw. Thread safe, as leat.h says. leat_calls.hpp has the simple calls.
#pragma once

#include <array>
#include <complex>
#include <cstdint>
#include <cstdlib>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

#include "leat_build.h"

#if !defined(LEAT_NO_EXCEPTIONS) && !defined(__cpp_exceptions)
#define LEAT_NO_EXCEPTIONS
#endif

namespace leat {

/// What a call threw; what() is the whole message.
class Error : public std::runtime_error {
 public:
  Error(leat_status status, const std::string& message)
      : std::runtime_error(message), status_(status) {}
  leat_status status() const noexcept { return status_; }

 private:
  leat_status status_;
};

/// Throws an Error for an error; returns what is none, LEAT_UNWANTED for example.
inline leat_status check(leat_status status) {
#ifndef LEAT_NO_EXCEPTIONS
  if (status < 0) throw Error(status, leat_last_error());
#endif
  return status;
}

/// The same for what is found here and not by the library; leat_last_error() does not know it.
inline leat_status failed(leat_status status, const std::string& message) {
#ifndef LEAT_NO_EXCEPTIONS
  throw Error(status, message);
#else
  (void)message;
  return status;
#endif
}

/// The leat_type of an element type; does not compile for what Leat cannot store.
template <class T>
constexpr leat_type type_of() {
  using U = std::remove_cv_t<T>;
  constexpr bool is_complex =
      std::is_same_v<U, std::complex<float>> || std::is_same_v<U, std::complex<double>>;
  static_assert(
      (std::is_arithmetic_v<U> && sizeof(U) <= 8 && !std::is_same_v<U, bool>) || is_complex,
      "Leat stores integers, float, double, std::complex of them, and char");
  if constexpr (is_complex) {
    return sizeof(U) == 8 ? LEAT_TYPE_COMPLEX64 : LEAT_TYPE_COMPLEX128;
  } else if constexpr (std::is_floating_point_v<U>) {
    return sizeof(U) == 4 ? LEAT_TYPE_FLOAT32 : LEAT_TYPE_FLOAT64;
  } else if constexpr (std::is_same_v<U, char>) {
    return LEAT_TYPE_CHAR;
  } else {
    constexpr int log2 = sizeof(U) == 1 ? 0 : sizeof(U) == 2 ? 1 : sizeof(U) == 4 ? 2 : 3;
    return static_cast<leat_type>((std::is_signed_v<U> ? LEAT_TYPE_INT8 : LEAT_TYPE_UINT8) + log2);
  }
}

using Extents = std::initializer_list<std::int64_t>;
using Reals = std::initializer_list<double>;

namespace detail {

template <class T>
leat_array array_of(const T* data, const std::int64_t* extent, std::size_t dims) {
  leat_array array{};
  array.struct_size = sizeof array;
  array.data = const_cast<void*>(static_cast<const void*>(data));
  array.type = type_of<T>();
  array.dims = static_cast<std::int32_t>(dims);
  auto stride = static_cast<std::int64_t>(sizeof(T));
  for (std::size_t d = dims; d-- > 0 && d < LEAT_MAX_DIMS;) {
    array.extent[d] = extent[d];
    array.stride[d] = stride;
    stride *= extent[d];
  }
  return array;
}

template <class V>
leat_status get_integer(const char* parameter, V& value) {
  auto wide = static_cast<std::int64_t>(value);
  const leat_status status = check(leat_get_int(parameter, &wide));
  const auto narrow = static_cast<V>(wide);
  if (static_cast<std::int64_t>(narrow) != wide || (narrow < V{}) != (wide < 0)) {
    return failed(LEAT_ERROR_TYPE, std::string("leat::get: the value of \"") + parameter + "\", " +
                                       std::to_string(wide) + ", does not fit the variable given");
  }
  value = narrow;
  return status;
}

inline leat_status get_text(const char* parameter, std::string& value) {
  std::uint64_t bytes = 0;
  leat_status status = check(leat_get_string(parameter, nullptr, 0, &bytes));
  if (status != LEAT_OK || bytes == 0) return status;  // 0 with LEAT=off
  std::string text(static_cast<std::size_t>(bytes), '\0');
  status = check(leat_get_string(parameter, &text[0], bytes, nullptr));
  if (status == LEAT_OK) value = text.c_str();
  return status;
}

template <class V, class = void>
struct is_view : std::false_type {};
template <class V>
struct is_view<V, std::void_t<decltype(std::declval<const V&>().data_handle()),
                              decltype(std::declval<const V&>().stride(0)), decltype(V::rank())>>
    : std::true_type {};

}  // namespace detail

/// An array in C order, of `extents`.
template <class T>
leat_status write(const char* variable, const T* data, Extents extents, std::uint32_t block = 0) {
  const leat_array array = detail::array_of(data, extents.begin(), extents.size());
  return check(leat_write_array(variable, block, &array));
}

namespace detail {

template <class V>
leat_array array_in(V& value) {
  leat_array array{};
  if constexpr (detail::is_view<V>::value) {
    using T = std::remove_pointer_t<decltype(value.data_handle())>;
    array = detail::array_of(value.data_handle(), nullptr, 0);
    array.dims = static_cast<std::int32_t>(V::rank());
    for (std::size_t d = 0; d < V::rank() && d < LEAT_MAX_DIMS; ++d) {
      array.extent[d] = static_cast<std::int64_t>(value.extent(d));
      array.stride[d] =
          static_cast<std::int64_t>(value.stride(d)) * static_cast<std::int64_t>(sizeof(T));
    }
  } else if constexpr (std::is_arithmetic_v<V>) {
    array = detail::array_of(&value, nullptr, 0);
  } else {
    const auto size = static_cast<std::int64_t>(value.size());
    array = detail::array_of(value.data(), &size, 1);
  }
  return array;
}

}  // namespace detail

/// A number, a contiguous range of one dimension (data() and size()), or a view of any rank that
/// looks like std::mdspan (data_handle(), extent(d), stride(d), rank()).
template <class V>
leat_status write(const char* variable, const V& value, std::uint32_t block = 0) {
  const leat_array array = detail::array_in(value);
  return check(leat_write_array(variable, block, &array));
}

/// Several at once, as write_all("u,v,w", u, v, w): each as write() takes it. All are written, whatever becomes of one; the first
/// error counts.
template <class... V>
leat_status write_all(const char* variables, const V&... values) {
  const leat_array arrays[] = {detail::array_in(values)...};
  return check(leat_write_arrays(variables, arrays, static_cast<std::int32_t>(sizeof...(V))));
}

/// The same under any name: of one that the XML does not declare, undeclared="..." of <data> says what becomes of it.
template <class T>
leat_status write_any(const char* name, const T* data, Extents extents) {
  const leat_array array = detail::array_of(data, extents.begin(), extents.size());
  return check(leat_write_any_array(name, &array));
}

template <class V>
leat_status write_any(const char* name, const V& value) {
  const leat_array array = detail::array_in(value);
  return check(leat_write_any_array(name, &array));
}

/// Fills an array in C order, of `extents`, with what the checkpoint has of it.
template <class T>
leat_status read(const char* variable, T* data, Extents extents, std::uint32_t block = 0) {
  const leat_array array = detail::array_of(data, extents.begin(), extents.size());
  return check(leat_read_array(variable, block, &array));
}

/// The same of what write() takes, at its size.
template <class V>
leat_status read(const char* variable, V& value, std::uint32_t block = 0) {
  const leat_array array = detail::array_in(value);
  return check(leat_read_array(variable, block, &array));
}

/// Several at once, as write_all() writes them.
template <class... V>
leat_status read_all(const char* variables, V&... values) {
  const leat_array arrays[] = {detail::array_in(values)...};
  return check(leat_read_arrays(variables, arrays, static_cast<std::int32_t>(sizeof...(V))));
}

/// Memory of the segment, until commit().
template <class T>
struct Array {
  /// Null with LEAT=off, when nobody knows the shape, and in an iteration that is left out: then
  /// compute in memory of your own; commit() does no harm.
  T* data = nullptr;
  std::array<std::int64_t, LEAT_MAX_DIMS> extent{};
  int dims = 0;
  std::int64_t size() const {
    std::int64_t product = data ? 1 : 0;
    for (int d = 0; d < dims; ++d) product *= extent[static_cast<std::size_t>(d)];
    return product;
  }
  T* begin() const { return data; }
  T* end() const { return data + size(); }
};

/// Throws LEAT_ERROR_TYPE when T is not what the XML declares.
template <class T>
Array<T> alloc(const char* variable, std::uint32_t block = 0) {
  leat_array memory{};
  memory.struct_size = sizeof memory;
  Array<T> array;
  if (check(leat_alloc_array(variable, block, &memory)) != LEAT_OK) return array;
  if (memory.type != type_of<T>()) {
    // The same check, and the same message, as for a write.
    memory.type = type_of<T>();
    check(leat_write_array(variable, block, &memory));
    return array;
  }
  array.data = static_cast<T*>(memory.data);
  array.dims = memory.dims;
  for (int d = 0; d < memory.dims; ++d)
    array.extent[static_cast<std::size_t>(d)] = memory.extent[d];
  return array;
}

inline leat_list list_of(Extents numbers) {
  return {sizeof(leat_list), numbers.begin(), static_cast<std::int32_t>(numbers.size()), 0};
}
inline leat_reals list_of(Reals numbers) {
  return {sizeof(leat_reals), numbers.begin(), static_cast<std::int32_t>(numbers.size()), 0};
}

/// While it lives, this rank's cores have nothing to do: see leat_idle_begin.
class IdlePhase {
 public:
  explicit IdlePhase(const char* site) { leat_idle_begin(site); }
  IdlePhase(const IdlePhase&) = delete;
  IdlePhase& operator=(const IdlePhase&) = delete;
  ~IdlePhase() { leat_idle_end(); }
};
inline std::int64_t iteration() { return leat_iteration(); }
inline bool wanted(const char* variable) { return check(leat_wanted(variable)) == LEAT_OK; }

/// Gives a parameter its value: an integer, a floating-point number, or a text.
template <class V>
leat_status set(const char* parameter, const V& value) {
  if constexpr (std::is_integral_v<V>) {
    return check(leat_set_int(parameter, static_cast<std::int64_t>(value)));
  } else if constexpr (std::is_floating_point_v<V>) {
    return check(leat_set_double(parameter, static_cast<double>(value)));
  } else {
    return check(leat_set_string(parameter, std::string(value).c_str()));
  }
}

/// The value of a parameter in the current iteration, steered or not, into an integer, a
/// floating-point number or a std::string; see leat_get_int. `value` stays as it is with LEAT=off
/// and after an error: give it what the code uses without Leat.
template <class V>
leat_status get(const char* parameter, V& value) {
  if constexpr (std::is_floating_point_v<V>) {
    auto wide = static_cast<double>(value);
    const leat_status status = check(leat_get_double(parameter, &wide));
    value = static_cast<V>(wide);
    return status;
  } else if constexpr (std::is_integral_v<V>) {
    return detail::get_integer(parameter, value);
  } else {
    return detail::get_text(parameter, value);
  }
}

/// From leat_init to leat_finalize. One at a time in a process.
class Session {
 public:
  explicit Session(const std::string& config) : status_(check(leat_init(config.c_str()))) {}
  Session(const std::string& config, const leat_ranks& ranks)
      : status_(check(leat_init_ranks(config.c_str(), &ranks))) {}
  Session(Session&& other) noexcept : status_(std::exchange(other.status_, LEAT_ERROR_STATE)) {}
  Session& operator=(Session&&) = delete;
  /// Finalizes; losses are printed, since a destructor cannot throw. Call finalize() to have them
  /// as an error.
  ~Session() {
    if (status_ != LEAT_ERROR_STATE) leat_finalize();
  }

  leat_status finalize() {
    if (std::exchange(status_, LEAT_ERROR_STATE) == LEAT_ERROR_STATE) return LEAT_OK;
    return check(leat_finalize());
  }
  /// Of leat_init; for code without exceptions.
  leat_status status() const noexcept { return status_; }

 private:
  leat_status status_;  // LEAT_ERROR_STATE: it has ended, or is somebody else's
};

}  // namespace leat

#include "leat_calls.hpp"  // over check() and list_of()
