// SPDX-License-Identifier: Apache-2.0
// What the layouts of the XML are now: their extents, computed from the parameters that the
// simulation has set. Private to the process; called with the session's mutex held.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "lib/base/scalar.hpp"
#include "lib/base/status.hpp"
#include "lib/shm/catalogue.hpp"

namespace leat::client {

struct LayoutShape {
  std::uint64_t generation = 0;  ///< of the parameters that it was computed from; 0: never
  std::array<std::int64_t, kMaxDims> extent{}, global{};
};

class LayoutTable {
 public:
  /// `config`: the XML's path, for messages.
  LayoutTable(const shm::Catalogue& catalogue, const std::string& config);

  /// Grows when a parameter changes: what was computed before may differ then.
  std::uint64_t generation() const noexcept { return generation_; }
  /// Computed at most once per change. Null, with `*error` filled, when a parameter has no value or
  /// an extent cannot be.
  const LayoutShape* shape(std::uint32_t layout, Error* error);

  bool is_set_to(std::uint32_t parameter, std::int64_t value) const noexcept {
    return set_[parameter] != 0 && values_[parameter] == value;
  }
  void set(std::uint32_t parameter, std::int64_t value) noexcept;
  /// The caller was refused another value for it, and may go on with arrays of that: no layout that
  /// it shapes has a shape until it is set to what it is.
  void refuse(std::uint32_t parameter, std::int64_t value) noexcept;
  bool is_refused(std::uint32_t parameter) const noexcept { return refused_.count(parameter) != 0; }
  bool depends_on(const shm::LayoutRecord& layout, std::uint32_t parameter) const noexcept;

 private:
  bool is_certain(const shm::LayoutRecord& layout, Error* error) const;
  bool evaluate_into(const shm::LayoutRecord& layout, shm::ProgramRef program, std::int64_t* out,
                     Error* error) const;

  shm::Catalogue catalogue_;
  std::string config_;
  std::vector<LayoutShape> layouts_;
  std::vector<std::int64_t> values_;
  std::vector<std::uint8_t> set_;
  std::map<std::uint32_t, std::int64_t> refused_;  // by parameter: the value
  std::uint64_t generation_ = 1;
};

}  // namespace leat::client
