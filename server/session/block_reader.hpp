// SPDX-License-Identifier: Apache-2.0
// What one client says of its blocks, checked against the model and the integers that it has set:
// nothing is believed. Private to the engine's thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lib/model/model.hpp"
#include "lib/shm/segment.hpp"
#include "server/session/client_integers.hpp"
#include "server/session/iteration.hpp"

namespace leat::server {

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
