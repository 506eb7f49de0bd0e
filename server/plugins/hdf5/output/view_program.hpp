// SPDX-License-Identifier: Apache-2.0
// A server makes views in a process of their own, the program view-hdf5 beside the plugin: the HDF5
// library crashes over some damaged files and never comes back from others, and the parts of other
// nodes may be anything, over a network file system also what is not yet there.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

namespace leat::hdf5 {

/// What the program is to do: the words behind its name.
struct ViewOrder {
  std::string folder, path, maker;
  enum class Kind { make, last, rest } kind = Kind::make;  ///< rest: last, without what is damaged
};

/// Returns what the program has said, by lines. Calls `progress` at each of its signs of life.
/// Throws with what the program said, when it could not; or when it took longer than `limit`: then
/// it is killed.
std::vector<std::string> make_view_outside(const ViewOrder& order, std::chrono::seconds limit,
                                           const std::function<void()>& progress);

}  // namespace leat::hdf5
