// SPDX-License-Identifier: Apache-2.0
// Modules of graphs in C++17 and newer; header only, over leat_module.h, whose conventions hold here too.
//
//     namespace lm = leat::module;
//     while (lm::wait()) {
//       double sum = 0;
//       for (const auto& u : lm::get<double>("u"))  // a View of each block, or of what each connection has brought
//         for (double each : u) sum += each;
//       lm::put("sum", sum, "K");
//     }
//
// Errors throw leat::Error; with LEAT_NO_EXCEPTIONS, or where exceptions are switched off, functions return the status
// instead, and get() fewer views. What lies outside of leat::module is that of leat.hpp; of libleat it needs nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <type_traits>
#include <vector>

#include "leat.hpp"
#include "leat_module.h"

namespace leat::module {

/// Throws an Error for an error.
inline leat_status check(leat_status status) {
#ifndef LEAT_NO_EXCEPTIONS
  if (status < 0) throw Error(status, leat_module_error());
#endif
  return status;
}

/// Ends the turn, and waits for the next one. False: the run is over, and the program should end.
inline bool wait() {
  const int turn = leat_wait();
  if (turn < 0) check(static_cast<leat_status>(turn));
  return turn == 1;
}

inline std::int64_t iteration() { return leat_turn_iteration(); }
/// The simulation's time.
inline double time() {
  double value = 0;
  check(leat_turn_time(&value));
  return value;
}

/// An array in C order. T is const where it is not this module's to write. Copies are of the same array.
template <class T>
class View {
 public:
  View() = default;
  View(T* data, const leat_part& part) : data_(data), part_(part) {}

  T* data() const { return data_; }
  std::size_t size() const { return static_cast<std::size_t>(part_.bytes) / sizeof(T); }
  int dims() const { return part_.dims; }
  /// Ghosts included.
  std::int64_t extent(int d) const { return part_.extent[d]; }
  T* begin() const { return data_; }
  T* end() const { return data_ + size(); }
  T& operator[](std::size_t i) const { return data_[i]; }
  /// One index for each dimension.
  template <class... Index>
  T& operator()(Index... index) const {
    static_assert(sizeof...(Index) <= LEAT_MODULE_DIMS, "an array has 8 dimensions at most");
    std::int64_t at = 0;
    int d = 0;
    ((at = at * part_.extent[d++] + static_cast<std::int64_t>(index)), ...);
    return data_[at];
  }
  /// All else that is known of it.
  const leat_part& part() const { return part_; }

 private:
  T* data_ = nullptr;
  leat_part part_{};
};

/// One array of what has come at the port, until the next wait(). Throws LEAT_ERROR_TYPE when its elements are no T.
template <class T>
View<const T> get(const char* port, int part) {
  leat_part found{};
  if (check(leat_get(port, part, &found)) != LEAT_OK) return {};
  if (found.type != type_of<T>()) {
    failed(LEAT_ERROR_TYPE, std::string("leat::module::get: the elements at port \"") + port +
                                "\" are of type " + std::to_string(found.type) +
                                " of leat_type, not " + std::to_string(type_of<T>()));
    return {};
  }
  return {static_cast<const T*>(found.data), found};
}

/// All that has come at the port.
template <class T>
std::vector<View<const T>> get(const char* port) {
  std::vector<View<const T>> views;
  const int count = leat_parts(port);
  if (count < 0) check(static_cast<leat_status>(count));
  for (int part = 0; part < count; ++part) views.push_back(get<T>(port, part));
  return views;
}

/// Memory to fill, and to give to put(), which then copies nothing.
template <class T>
View<T> memory(Extents extents) {
  leat_part part{};
  part.type = type_of<T>();
  part.bytes = sizeof(T);
  for (const std::int64_t extent : extents) {
    if (part.dims < LEAT_MODULE_DIMS) part.extent[part.dims++] = extent;
    part.bytes *= static_cast<std::uint64_t>(extent < 0 ? 0 : extent);
  }
  void* data = nullptr;
  check(leat_put_memory(part.bytes, &data));
  return {static_cast<T*>(data), part};
}

using Names = std::initializer_list<const char*>;

namespace detail {

template <class T>
leat_status put(const char* port, const T* data, const std::int64_t* extents, int dims,
                const char* unit, Names names) {
  if (names.size() != 0 && names.size() != static_cast<std::size_t>(dims))
    return failed(LEAT_ERROR_ARGUMENT, std::string("leat::module::put: port \"") + port +
                                           "\": " + std::to_string(names.size()) + " names for " +
                                           std::to_string(dims) + " dimensions");
  return check(leat_put_described(port, data, type_of<T>(), dims, extents, unit,
                                  names.size() != 0 ? names.begin() : nullptr));
}

}  // namespace detail

/// Hands over an array in C order, of `extents`. Names: of its dimensions, one for each, or none.
template <class T>
leat_status put(const char* port, const T* data, Extents extents, const char* unit = nullptr,
                Names names = {}) {
  return detail::put(port, data, extents.begin(), static_cast<int>(extents.size()), unit, names);
}

/// Hands over a View, as memory() gives it.
template <class T>
leat_status put(const char* port, const View<T>& view, const char* unit = nullptr,
                Names names = {}) {
  return detail::put(port, view.data(), view.part().extent, view.dims(), unit, names);
}

/// Hands over a number, or a contiguous range of one dimension (data() and size()).
template <class V>
leat_status put(const char* port, const V& value, const char* unit = nullptr, Names names = {}) {
  if constexpr (std::is_arithmetic_v<V>) {
    return detail::put(port, &value, nullptr, 0, unit, names);
  } else {
    const auto size = static_cast<std::int64_t>(value.size());
    return detail::put(port, value.data(), &size, 1, unit, names);
  }
}

/// "" when the graph does not say it.
inline std::string option(const char* name) {
  const char* const text = leat_module_option(name);
  return text ? text : "";
}

inline leat_status log(const std::string& text, const char* level = "info") {
  return check(leat_module_log(level, text.c_str()));
}

}  // namespace leat::module
