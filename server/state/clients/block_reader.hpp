// SPDX-License-Identifier: Apache-2.0
// What one client says of its blocks, checked against the model and the integers that it has set: nothing is believed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/expression.hpp"
#include "lib/model/model.hpp"
#include "lib/shm/segment.hpp"
#include "server/state/iterations/iteration.hpp"

namespace leat::server {

// The integers that one client has set, and since when: what shapes a block is what held when its
// event came, also for a server that takes over later.

/// Values of all parameters at one time.
struct IntegersThen {
  std::vector<std::int64_t> values;
  std::vector<std::uint8_t> set;

  ParameterValues view() const noexcept { return {values.data(), set.data(), values.size()}; }
  bool put(std::uint32_t parameter, std::int64_t value) noexcept;
};

class ClientIntegers {
 public:
  struct Change {
    std::uint64_t event;  ///< of the client, counted from 1; 0: before all
    std::uint32_t parameter;
    std::int64_t value;
  };

  explicit ClientIntegers(const std::vector<model::Parameter>& parameters);

  /// True when that is news. A parameter that there is not is passed over.
  bool set(const Change& change);
  ParameterValues now() const noexcept { return now_.view(); }
  /// For a block that `event` has handed over.
  IntegersThen at(std::uint64_t event) const;
  /// All that a successor needs, from the oldest on.
  std::vector<Change> changes() const;

 private:
  IntegersThen base_, now_;
  std::vector<Change> changes_;  // of base_, in the order of their events
};

// What one client says of its blocks, checked against the model and the integers that it has set:
// nothing is believed. Private to the engine's thread.
class BlockReader {
 public:
  BlockReader(const shm::Segment& segment, std::uint32_t client, const model::Model& model);

  ClientIntegers& integers() noexcept { return integers_; }
  const ClientIntegers& integers() const noexcept { return integers_; }

  /// A block event made into a Block with everything checked against the model, except where it
  /// lies: the caller has made sure that [offset, offset + bytes) is leased to this client. An
  /// error says what made no sense.
  std::optional<Block> read(const shm::Event& event, std::int32_t rank, std::string* error) const;
  /// The same of a block whose event a dead server has taken.
  std::optional<Block> read_found(const shm::Event& event, std::int32_t rank,
                                  std::string* error) const;

 private:
  std::optional<Block> read_with(const ParameterValues& integers, const shm::Event& event,
                                 std::int32_t rank, std::string* error) const;
  bool check_extent(const shm::BlockHeader& header, const model::Layout& layout,
                    std::string* error) const;
  bool fill_place(const ParameterValues& integers, const shm::BlockHeader& header,
                  const model::Layout& layout, Block* block, std::string* error) const;
  bool fill_level(const shm::BlockHeader& header, const model::Mesh& mesh, Block* block,
                  std::string* error) const;
  bool fill_global(const ParameterValues& integers, const shm::BlockHeader& header,
                   const model::Layout& layout, Block* block, std::string* error) const;

  const shm::Segment& segment_;
  const model::Model& model_;
  std::uint32_t client_;
  ClientIntegers integers_;
};

}  // namespace leat::server
