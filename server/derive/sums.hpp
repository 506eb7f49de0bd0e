// SPDX-License-Identifier: Apache-2.0
// What variables over time have come to so far, in shared memory that outlives the server: one that takes over goes on with the same sums,
// bit for bit.
//
// Each sum is there twice, in two slots: that of an iteration is computed of the other slot's, which stays as it is until the next
// iteration. So a server that is killed at any instruction leaves a slot that is whole, and an iteration that is given again is added to what was there
// before it, once.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "lib/base/status.hpp"
#include "lib/os/shared_regions.hpp"
#include "server/state/iterations/iteration.hpp"

namespace leat::server {

/// A slot of a sum: the state at the end of an iteration.
struct SumSlot {
  std::atomic<std::int64_t> number;  ///< 1 + the iteration; 0: being written, or none
  std::int64_t count;                ///< iterations that are in it; 0: none yet
  double weight;                     ///< of them together
  double window;                     ///< in which period it is: where that begins
  double since;                      ///< the time at which it begins
  double time;                       ///< at the end of the last iteration that is in it
  double until;                      ///< the time that it has come to
  std::uint32_t is_whole;            ///< the period is over: what comes next begins a new one
  NotedStores had;                   ///< of what does not vary in time: Block::had
  std::int64_t
      told_in;  ///< 1 + the iteration in which it was told without a value of that; 0: none
};

/// The time that the run had come to.
struct ClockSlot {
  std::atomic<std::int64_t> number;  ///< 1 + the iteration; 0: none
  double time, before;               ///< at its end, and at that of the one before
  double step;  ///< the first time step of the run, by which others are weighed; 0: not known
  double length_before;  ///< of the step before
  double wall_before;
  std::uint32_t is_first,
      has_time;   ///< nothing was known of one before; the simulation had said a time
  double length;  ///< of its own step, by which it was told whether a mark had been reached
  double origin;  ///< the time of the first iteration
  double wall, wall_begin;  ///< seconds by the clock of the machine, and of the first iteration
};

/// One of two slots, and the one that it is computed of.
template <class Slot>
struct SlotPair {
  const Slot* before = nullptr;  ///< null: there is nothing
  Slot* now = nullptr;
  int number = 0;        ///< of `now`
  bool is_done = false;  ///< `now` has this iteration, and nothing is known of the one before
};

/// Of the two slots of an iteration; what `now` had is not valid any more. Without `now`: later iterations are in both.
template <class Slot>
SlotPair<Slot> begin_slot(Slot (&slots)[2], std::int64_t iteration) noexcept {
  SlotPair<Slot> pair;
  const std::int64_t a = slots[0].number.load(), b = slots[1].number.load();
  // The later one of those before this iteration.
  const auto is_before = [&](std::int64_t number) { return number > 0 && number <= iteration; };
  const bool has_a = is_before(a), has_b = is_before(b);
  if (!has_a && !has_b && std::max(a, b) > iteration + 1) return pair;
  const int base = has_a && (!has_b || a > b) ? 0 : has_b ? 1 : -1;
  if (base < 0 && (a == iteration + 1 || b == iteration + 1)) {
    pair.number = a == iteration + 1 ? 0 : 1;
    pair.now = &slots[pair.number];
    pair.is_done = true;
    return pair;
  }
  if (base >= 0) pair.before = &slots[base];
  pair.number = base < 0 ? 0 : 1 - base;
  pair.now = &slots[pair.number];
  pair.now->number.store(0);
  return pair;
}

/// Of one block of one variable. Its data are two slots of `arrays` lists of doubles.
class Sum {
 public:
  struct Facts {
    std::uint64_t bytes;  ///< of the record, head included
    std::uint32_t kind, variable;
    std::int32_t rank;
    std::uint32_t client, block, dims, has_position, arrays, has_level;
    std::int32_t level;
    std::array<std::int64_t, kMaxDims> extent, position, global;
    std::uint64_t elements;
  };
  struct Head : Facts {
    SumSlot slots[2];
  };

  Head& head() const noexcept { return *reinterpret_cast<Head*>(region_.start()); }
  double* array(int slot, std::uint32_t number) const noexcept;
  /// The block that it is of, without data.
  Block as_block() const noexcept;
  bool is_like(const Block& block, std::size_t dims) const noexcept;

 private:
  friend class Sums;
  explicit Sum(os::MappedRegion region) : region_(std::move(region)) {}
  os::MappedRegion region_;
};

/// All of a server.
class Sums {
 public:
  /// Goes on with the file at `path` where that was made for the same XML; "" for one that ends with this process.
  static Result<std::unique_ptr<Sums>> open(const std::string& path, std::uint64_t config_hash);

  ClockSlot (&clock() const noexcept)[2];
  /// Iteration::took.
  NotedStores& took() const noexcept;
  /// The iteration that all of it has come to; -1 for none.
  std::int64_t last_iteration() const noexcept;
  /// Writes all of it to a file of this name in a folder. "" or why it is not there; what was there before is then as it was.
  std::string save(const std::string& path) const;
  /// The last iteration of what save() has written to that file, or why it is of no use.
  static Result<std::int64_t> last_saved(const std::string& saved, std::uint64_t config_hash);
  /// A file that save() has written becomes what open() goes on with at `path`. Why not, else "".
  static std::string restore(const std::string& saved, const std::string& path);
  /// Of what this rank has given as this block: one that lies as it, or any. Null when there is none.
  Sum* own(const Block& block, std::size_t dims) noexcept;
  Sum* own(const Block& block) noexcept;
  /// One of the variable at the place of the block, whoever gave it first, that is not among `others`. Null when there is none.
  Sum* at_place(const Block& block, std::size_t dims, const std::set<Sum*>& others) noexcept;
  /// Those of a variable, in the order of ranks and blocks.
  std::vector<Sum*> all_of(std::uint32_t variable);
  /// A new one, in the place of `old`, if it is there. No arrays: what does not vary in time, with one slot.
  Result<Sum*> make(const Block& like, std::size_t dims, std::uint32_t arrays, Sum* old);

 private:
  struct FileHead;

  explicit Sums(os::UniqueFd file) : file_(std::move(file)) {}
  Result<void> begin(std::uint64_t config_hash);
  FileHead& head() const noexcept { return *reinterpret_cast<FileHead*>(head_region_.start()); }

  using Key = std::tuple<std::uint32_t, std::int32_t, std::uint32_t>;
  os::UniqueFd file_;
  os::MappedRegion head_region_;
  std::multimap<Key, Sum> sums_;  // of who gave them first
};

}  // namespace leat::server
