// SPDX-License-Identifier: Apache-2.0
// From blocks to whole iterations: open, then complete when every client of the node has ended it
// or is gone. Private to the server's event loop.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "server/session/iteration.hpp"

namespace leat::server {

/// What one client wrote in one iteration.
class BlocksOfClient {
 public:
  /// The block that it replaces.
  std::optional<Block> add(const Block& block);
  /// Null when there is none of this variable and number.
  const Block* find(const Block& like) const noexcept;
  std::vector<Block>& blocks() noexcept { return blocks_; }
  const std::vector<Block>& blocks() const noexcept { return blocks_; }
  /// By variable and number.
  void sort();

 private:
  std::size_t place_of(const Block& block) const noexcept;
  void grow();

  std::vector<Block> blocks_;
  std::vector<std::uint32_t> places_;  // a hash table: 1 + index into blocks_; 0: free
};

/// Adding a block and asking for what is complete cost the same however many clients, variables
/// and blocks there are.
class IterationTracker {
 public:
  explicit IterationTracker(std::uint32_t clients);

  /// Adds a block to its client's current iteration. When it replaces one (same variable and block
  /// number), that one is returned for its memory to be released; and so is this one when its
  /// iteration is left out.
  std::optional<Block> add(const Block& block) { return add_to(current(block.client), block); }
  std::optional<Block> add_to(std::int64_t iteration, const Block& block);
  /// What add_to() would replace; null when there is none.
  const Block* find(std::int64_t iteration, const Block& like) const;
  /// It comes to be complete though nobody writes in it. Nothing when it is left out.
  void touch(std::int64_t iteration);
  /// The next one that can be touched; nothing when all clients are gone.
  std::optional<std::int64_t> next() const;
  /// The client has ended all before this one already.
  void resume(std::uint32_t client, std::int64_t iteration) { move_to(client, iteration); }
  /// The client has ended this iteration, and all before it.
  void ended(std::uint32_t client, std::int64_t iteration);
  /// Leaves an open iteration out: its blocks so far, for their memory to be released. Nothing when
  /// it is left out already. Later iterations do not wait for it.
  std::optional<std::vector<Block>> drop(std::int64_t iteration);
  /// It is left out, and some client has yet to end it.
  bool is_dropped(std::int64_t iteration) const { return dropped_.count(iteration) > 0; }
  /// `died`: it had not finalized, so its current iteration is not complete.
  void gone(std::uint32_t client, bool died);

  /// The next iteration that all clients have ended, in ascending order and no later than `last`; its
  /// blocks by variable, rank, block.
  std::optional<Iteration> take_complete(std::int64_t last = INT64_MAX);

  std::int64_t current(std::uint32_t client) const { return clients_[client].current; }
  bool empty() const noexcept { return open_.empty(); }
  bool holds(std::int64_t iteration) const { return open_.count(iteration) > 0; }
  /// Some block of it is like that.
  bool any(std::int64_t iteration, const std::function<bool(const Block&)>& is_like_that) const;
  /// The least iteration that holds blocks; INT64_MAX for none.
  std::int64_t oldest() const noexcept;
  /// The least that some client is in: all have ended those before. INT64_MAX when all are gone.
  std::int64_t least() const noexcept;

 private:
  struct Client {
    std::int64_t current = 0;  // the iteration it is in
    bool gone = false;
  };
  using Open = std::vector<BlocksOfClient>;  // by client

  void move_to(std::uint32_t client, std::int64_t iteration);

  std::vector<Client> clients_;
  std::map<std::int64_t, std::uint32_t> in_;  // how many clients that are not gone are in which
  std::int64_t died_in_ = INT64_MAX;  // the first iteration that a dead client had not ended
  std::map<std::int64_t, Open> open_;
  std::set<std::int64_t> dropped_;  // that some client has yet to end
};

}  // namespace leat::server
