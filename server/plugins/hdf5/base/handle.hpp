// SPDX-License-Identifier: Apache-2.0
// HDF5 ids that close themselves, and errors that say what HDF5 said.
#pragma once

#include <hdf5.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace leat::hdf5 {

/// What the innermost function on HDF5's error stack said, e.g. "file write failed: No space left
/// on device"; clears it.
std::string innermost_error();

/// Keeps HDF5 from printing errors. It is a setting of the thread, and calls may come from several.
void be_quiet();

/// `what` failed: throws it together with HDF5's reason.
[[noreturn]] void fail(const std::string& what);

/// Negative results of HDF5 are errors.
template <class T>
T check(T result, const std::string& what) {
  if (result < 0) fail(what);
  return result;
}

/// An open HDF5 object of any kind.
class Id {
 public:
  Id() = default;
  Id(hid_t id, const std::string& what) : id_(check(id, what)) {}
  Id(Id&& other) noexcept : id_(std::exchange(other.id_, H5I_INVALID_HID)) {}
  Id& operator=(Id&& other) noexcept {
    std::swap(id_, other.id_);
    return *this;
  }
  ~Id() {
    if (id_ >= 0) H5Idec_ref(id_);
  }
  operator hid_t() const { return id_; }
  /// Leaves closing it to the caller.
  hid_t take() { return std::exchange(id_, H5I_INVALID_HID); }
  bool is_open() const { return id_ >= 0; }

 private:
  hid_t id_ = H5I_INVALID_HID;
};

}  // namespace leat::hdf5
