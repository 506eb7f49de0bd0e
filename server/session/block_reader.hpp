// SPDX-License-Identifier: Apache-2.0
// What one client says of its blocks, checked against the model and the integers that it has set:
// nothing is believed. Private to the engine's thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lib/model/model.hpp"
#include "lib/shm/segment.hpp"
#include "server/session/iteration.hpp"

namespace leat::server {

class BlockReader {
 public:
  BlockReader(const shm::Segment& segment, std::uint32_t client, const model::Model& model);

  /// True when that is news.
  bool set_integer(std::uint32_t parameter, std::int64_t value) noexcept;
  /// The parameters that have an integer, and which.
  std::vector<std::pair<std::uint32_t, std::int64_t>> integers() const;

  /// A block event made into a Block with everything checked against the model, except where it
  /// lies: the caller has made sure that [offset, offset + bytes) is leased to this client. An
  /// error says what made no sense.
  std::optional<Block> read(const shm::Event& event, std::int32_t rank, std::string* error) const;

 private:
  bool check_extent(const shm::BlockHeader& header, const model::Layout& layout,
                    std::string* error) const;
  bool fill_place(const shm::BlockHeader& header, const model::Layout& layout, Block* block,
                  std::string* error) const;
  bool fill_level(const shm::BlockHeader& header, const model::Mesh& mesh, Block* block,
                  std::string* error) const;
  bool fill_global(const shm::BlockHeader& header, const model::Layout& layout, Block* block,
                   std::string* error) const;

  const shm::Segment& segment_;
  const model::Model& model_;
  std::uint32_t client_;
  std::vector<std::int64_t> values_;
  std::vector<std::uint8_t> set_;
};

}  // namespace leat::server
