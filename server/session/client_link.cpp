// SPDX-License-Identifier: Apache-2.0
#include "server/session/client_link.hpp"

#include <algorithm>

#include "lib/platform/futex.hpp"

namespace leat::server {

ClientLink::ClientLink(const shm::Segment& segment, std::uint32_t index, const model::Model& model)
    : segment_(segment),
      model_(model),
      area_(segment.client(index)),
      events_(area_.events, segment.header().event_slots, area_.client->event_tail,
              area_.server->event_head),
      releases_(area_.releases, segment.header().release_slots, area_.server->release_tail,
                area_.client->release_head),
      index_(index) {
  events_.start_at(saved().events);
  for (const model::Parameter& p : model.parameters) {
    values_.push_back(p.integer);
    set_.push_back(p.has_value && p.kind == model::Parameter::Kind::integer);
  }
}

void ClientLink::attach(const shm::Hello& hello, std::unique_ptr<shm::ToClient> connection) {
  hello_ = hello;
  connection_ = std::move(connection);
  phase_ = Phase::attached;
  came_ = true;
}

void ClientLink::resume() {
  const std::uint32_t phase = saved().phase;
  phase_ =
      phase <= static_cast<std::uint32_t>(Phase::dead) ? static_cast<Phase>(phase) : Phase::absent;
  came_ = phase_ != Phase::absent && saved().rank >= 0;
  if (came_) hello_.rank = saved().rank;
  failed_ = saved().failed;
  hello_.node_rank = static_cast<std::int32_t>(index_);
}

void ClientLink::come_back(const shm::Hello& hello, std::unique_ptr<shm::ToClient> connection) {
  came_ = true;
  hello_ = hello;
  connection_ = std::move(connection);
}

const shm::ClientRecord& ClientLink::saved() const noexcept {
  return area_.server->records[area_.server->record.load(std::memory_order_relaxed) & 1];
}

void ClientLink::save(std::int64_t iteration) noexcept {
  const std::uint32_t other = ~area_.server->record.load(std::memory_order_relaxed) & 1;
  area_.server->records[other] = {events_.taken(), iteration, static_cast<std::uint32_t>(phase_),
                                  came_ ? hello_.rank : -1, failed_};
  // Release: who sees which of the two holds, sees it whole. The slots are the client's again after
  // that only.
  area_.server->record.store(other, std::memory_order_release);
  events_.publish();
}

bool ClientLink::pop(shm::Event& event) noexcept { return events_.pop(event); }

bool ClientLink::release(const shm::Release& release) noexcept {
  const bool pushed = releases_.push(release);
  releases_.announce();
  wake_if_waiting();
  return pushed;
}

void ClientLink::wake_if_waiting() noexcept {
  if (!area_.client->waiting.load(std::memory_order_seq_cst)) return;
  area_.server->wake.fetch_add(1, std::memory_order_seq_cst);
  platform::futex_wake_all(area_.server->wake);
}

// A count that makes no sense is that of the client's own writes, and harms no other.
std::uint64_t ClientLink::take_untold() noexcept {
  const std::uint64_t all = area_.client->failed.load(std::memory_order_relaxed);
  const std::uint64_t untold = all > failed_ ? std::min(all - failed_, kMostUntold) : 0;
  failed_ += untold;
  return untold;
}

bool ClientLink::set_integer(std::uint32_t parameter, std::int64_t value) noexcept {
  if (parameter >= values_.size()) return false;
  const bool known = set_[parameter] && values_[parameter] == value;
  values_[parameter] = value;
  set_[parameter] = 1;
  return !known;
}

std::vector<std::pair<std::uint32_t, std::int64_t>> ClientLink::integers() const {
  std::vector<std::pair<std::uint32_t, std::int64_t>> all;
  for (std::uint32_t i = 0; i < values_.size(); ++i) {
    if (set_[i]) all.emplace_back(i, values_[i]);
  }
  return all;
}

bool ClientLink::check_extent(const shm::BlockHeader& header, const model::Layout& layout,
                              std::string* error) const {
  if (header.dims != layout.dimensions.size()) {
    *error = "it has " + std::to_string(header.dims) + " dimensions, its layout has " +
             std::to_string(layout.dimensions.size());
    return false;
  }
  // Extents beside one of 0 are bounded too: what stores compute from them must not overflow.
  std::uint64_t bytes = scalar_bytes(layout.type);
  bool empty = false;
  for (std::uint32_t d = 0; d < header.dims; ++d) {
    const auto length = static_cast<std::uint64_t>(std::max<std::int64_t>(1, header.extent[d]));
    empty = empty || header.extent[d] == 0;
    if (header.extent[d] < 0 || __builtin_mul_overflow(bytes, length, &bytes) ||
        bytes > segment_.header().segment_bytes) {
      *error = "its extent in dimension " + std::to_string(d) + " is " +
               std::to_string(header.extent[d]);
      return false;
    }
  }
  if (empty) bytes = 0;
  if (bytes == header.data_bytes) return true;
  *error = "its extents make " + std::to_string(bytes) + " bytes, but it has " +
           std::to_string(header.data_bytes);
  return false;
}

bool ClientLink::fill_global(const shm::BlockHeader& header, const model::Layout& layout,
                             Block* block, std::string* error) const {
  if (!layout.has_global) return true;
  bool empty = false, inside = header.has_position != 0;
  for (std::uint32_t d = 0; d < header.dims; ++d) {
    const model::Dimension& dimension = layout.dimensions[d];
    const auto& program = dimension.global.program;
    const ExpressionValue global =
        evaluate(program.data(), program.size(), {values_.data(), set_.data(), values_.size()});
    if (global.fault != ExpressionFault::none || global.value < 0) {
      *error = "its global extent \"" + dimension.global.text + "\" has no value";
      return false;
    }
    const std::int64_t own = header.extent[d] - dimension.ghost_low - dimension.ghost_high;
    empty = empty || own <= 0;
    inside = inside && header.position[d] >= 0 && own <= global.value &&
             header.position[d] <= global.value - own;
    block->global[d] = global.value;
  }
  if (empty) block->position = {};
  if (empty || inside) return true;
  *error = "it does not lie inside the global array";
  return false;
}

std::optional<Block> ClientLink::read_block(const shm::Event& event, std::string* error) const {
  // Copied once, then only the copy is looked at: the client could still write to the original.
  const shm::BlockHeader header = *segment_.at<shm::BlockHeader>(event.offset);
  if (event.subject >= model_.variables.size() || header.variable != event.subject ||
      header.block != event.block || header.iteration != event.iteration ||
      event.bytes != sizeof header + header.data_bytes) {
    *error = "its header differs from its event";
    return std::nullopt;
  }
  const model::Layout& layout = model_.layouts[model_.variables[event.subject].layout];
  Block block;
  block.client = index_;
  block.rank = hello_.rank;
  block.variable = event.subject;
  block.block = event.block;
  block.has_position = layout.has_global;
  std::copy(std::begin(header.extent), std::end(header.extent), block.extent.begin());
  if (header.has_position != 0)
    std::copy(std::begin(header.position), std::end(header.position), block.position.begin());
  block.data = segment_.at<char>(event.offset + sizeof header);
  block.bytes = header.data_bytes;
  if (model_.architecture.checksum == model::Checksum::crc32c) {
    block.checksum = header.checksum;
    if (header.has_checksum == 0) {
      *error = "it has no checksum";
      return std::nullopt;
    }
  }
  if (!check_extent(header, layout, error) || !fill_global(header, layout, &block, error)) {
    return std::nullopt;
  }
  return block;
}

}  // namespace leat::server
