// SPDX-License-Identifier: Apache-2.0
// The module that this process is: its conversation with leatd, its turn, and what it takes and makes in it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "client-api/module/mapped_files.hpp"
#include "client-api/module/output_places.hpp"
#include "client-api/module/turn_order.hpp"
#include "lib/frames/frame.hpp"

namespace leat::module {

/// An array to be put.
struct PutArray {
  const void* data = nullptr;
  ScalarType type{};
  std::vector<std::int64_t> extents;
  std::vector<std::string> names;  ///< one for each
  std::string unit;                ///< "": as the graph says
};

class Module {
 public:
  /// Takes part: the first frames. An error when Leat has not started this process.
  Result<void> connect();
  const Setup& setup() const noexcept { return setup_; }

  /// False: the run is over.
  Result<bool> wait();
  /// Null outside of a turn.
  const Turn* turn() const noexcept { return turn_ ? &*turn_ : nullptr; }
  Result<const std::vector<TurnPart>*> parts(const std::string& port) const;
  Result<const void*> data_of(const TurnPart& part);
  Result<ParameterValue> parameter(const std::string& name) const;
  Result<double> real_parameter(const std::string& name) const;

  Result<void*> memory(std::uint64_t bytes);
  Result<void> put(const std::string& port, const PutArray& array);
  Result<void> log(std::string_view level, std::string_view text);

  /// The program ends, by itself: with status 0 a turn ends well.
  void program_ends(int status);

 private:
  Result<void> say(nlohmann::json head);
  Result<void> end_turn(const std::string& error);
  Result<const OutputPort*> may_put(const std::string& port, const PutArray& array,
                                    std::uint64_t* bytes) const;
  Result<std::uint64_t> placed(const PutArray& array, std::uint64_t bytes);
  Result<void> steer(const OutputPort& output, const PutArray& array);

  bool connected_ = false, over_ = false;
  pid_t process_ = 0;  // a child that was forked is no module
  Setup setup_;
  std::unique_ptr<MappedFiles> files_;
  std::unique_ptr<OutputPlaces> outputs_;
  Frame order_;
  std::optional<Turn> turn_;
  std::deque<std::vector<char>> aligned_;  // of this turn: what was not where its type may be
  std::set<std::string> put_;
};

}  // namespace leat::module
