// SPDX-License-Identifier: Apache-2.0
#include "lib/shm/steering.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace leat::shm {
namespace {

constexpr unsigned kStateBits = 2;

std::uint64_t decision_of(std::uint64_t sequence, SteeringState state) noexcept {
  return sequence << kStateBits | static_cast<std::uint64_t>(state);
}

std::uint64_t sequence_in(std::uint64_t decision) noexcept { return decision >> kStateBits; }

SteeringState state_in(std::uint64_t decision) noexcept {
  return static_cast<SteeringState>(decision & ((1u << kStateBits) - 1));
}

std::size_t words_of(std::uint32_t text_bytes) noexcept {
  return std::max<std::size_t>(1, (text_bytes + 7) / 8);
}

// Acquire: the caller's next look at `decision` comes after these reads, and sees what was stored
// in it before any of the fields that they see.
SteeredValue read(const SteeringSlot& slot) noexcept {
  SteeredValue value;
  value.text_bytes = std::min(slot.text_bytes.load(std::memory_order_acquire), kMostSteeredText);
  for (std::size_t i = 0; i < words_of(value.text_bytes); ++i) {
    value.words[i] = slot.value[i].load(std::memory_order_acquire);
  }
  return value;
}

// Release: whoever sees one of these sees that `decision` had changed before.
void write(SteeringSlot& slot, std::int64_t effective, const SteeredValue& value) noexcept {
  slot.effective.store(effective, std::memory_order_release);
  slot.text_bytes.store(value.text_bytes, std::memory_order_release);
  for (std::size_t i = 0; i < words_of(value.text_bytes); ++i) {
    slot.value[i].store(value.words[i], std::memory_order_release);
  }
}

}  // namespace

SteeredValue SteeredValue::of(std::int64_t integer) noexcept {
  SteeredValue value;
  value.words[0] = static_cast<std::uint64_t>(integer);
  return value;
}

SteeredValue SteeredValue::of(double real) noexcept {
  SteeredValue value;
  value.words[0] = std::bit_cast<std::uint64_t>(real);
  return value;
}

SteeredValue SteeredValue::of(std::string_view text) noexcept {
  SteeredValue value;
  value.text_bytes =
      static_cast<std::uint32_t>(std::min<std::size_t>(text.size(), kMostSteeredText));
  std::memcpy(value.words.data(), text.data(), value.text_bytes);
  return value;
}

double SteeredValue::real() const noexcept { return std::bit_cast<double>(words[0]); }

std::string_view SteeredValue::text() const noexcept {
  return {reinterpret_cast<const char*>(words.data()), text_bytes};
}

SteeringWriter::SteeringWriter(const Segment& segment)
    : area_(segment.steering()), sequences_(area_.slots.size()) {
  for (std::size_t i = 0; i < sequences_.size(); ++i) {
    sequences_[i] = sequence_in(area_.slots[i].decision.load(std::memory_order_acquire));
    next_sequence_ = std::max(next_sequence_, sequences_[i] + 1);
  }
}

bool SteeringWriter::is_committed(std::uint32_t index) const noexcept {
  const std::uint64_t decision = area_.slots[index].decision.load(std::memory_order_acquire);
  return state_in(decision) == SteeringState::committed;
}

SteeredValue SteeringWriter::value(std::uint32_t index) const noexcept {
  return read(area_.slots[index]);
}

void SteeringWriter::propose(std::uint32_t index, std::int64_t effective,
                             const SteeredValue& value) noexcept {
  SteeringSlot& slot = area_.slots[index];
  const std::uint64_t sequence = sequences_[index] = next_sequence_++;
  slot.decision.store(decision_of(sequence, SteeringState::none), std::memory_order_relaxed);
  write(slot, effective, value);
  slot.decision.store(decision_of(sequence, SteeringState::proposed), std::memory_order_seq_cst);
  area_.header->version.fetch_add(1, std::memory_order_seq_cst);
}

bool SteeringWriter::decide(std::uint32_t index, SteeringState outcome) noexcept {
  std::uint64_t expected = decision_of(sequences_[index], SteeringState::proposed);
  return area_.slots[index].decision.compare_exchange_strong(
      expected, decision_of(sequences_[index], outcome), std::memory_order_seq_cst);
}

SteeringReader::SteeringReader(const Segment& segment, std::uint32_t client)
    : area_(segment.steering()),
      iteration_(segment.client(client).client->iteration),
      taken_(area_.slots.size()) {}

// Looks again only when the server, or another client, has moved the slot meanwhile.
bool SteeringReader::takes(std::uint32_t index, std::int64_t iteration,
                           SteeredValue* value) noexcept {
  SteeringSlot& slot = area_.slots[index];
  std::uint64_t decision = slot.decision.load(std::memory_order_seq_cst);
  for (;;) {
    const SteeringState state = state_in(decision);
    const std::uint64_t sequence = sequence_in(decision);
    if (state == SteeringState::none || state == SteeringState::withdrawn) return false;
    if (sequence == taken_[index]) return false;
    const std::int64_t effective = slot.effective.load(std::memory_order_acquire);
    if (effective <= iteration && state == SteeringState::proposed) {
      // A client that is here already ends the matter; when another was faster, `decision` says
      // who.
      const std::uint64_t withdrawn = decision_of(sequence, SteeringState::withdrawn);
      if (slot.decision.compare_exchange_strong(decision, withdrawn, std::memory_order_seq_cst)) {
        return false;
      }
      continue;
    }
    *value = read(slot);
    const std::uint64_t now = slot.decision.load(std::memory_order_seq_cst);
    if (now != decision) {
      decision = now;
      continue;
    }
    if (effective <= iteration) {
      taken_[index] = sequence;
      return true;
    }
    next_effective_ = std::min(next_effective_, effective);
    return false;
  }
}

}  // namespace leat::shm
