// SPDX-License-Identifier: Apache-2.0
// What ranks hand over: blocks, and the iterations that they make up; and what plugins and scripts publish of them.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "lib/base/scalar.hpp"
#include "server/state/journal/records.hpp"

namespace leat::server {

// What ranks hand over: blocks, and the iterations that they make up. All that follows passes these
// on.
class SpillFile;
struct SharedFile;

/// Copies of blocks begin at multiples of it, in memory and in files.
inline constexpr std::uint64_t kBlockAlignment = 64;

/// Some of the stores, by their numbers, in memory that the next server goes on with. Of those from the 65th on nothing is noted.
class NotedStores {
 public:
  bool has(std::uint32_t store) const noexcept {
    return store < kMost && (bits_.load() >> store & 1) != 0;
  }
  void add(std::uint32_t store) noexcept {
    if (store < kMost) bits_.fetch_or(std::uint64_t{1} << store);
  }
  void clear() noexcept { bits_.store(0); }

 private:
  static constexpr std::uint32_t kMost = 64;
  std::atomic<std::uint64_t> bits_;
};

/// One committed block, checked; all values are the server's own copies.
struct Block {
  std::uint32_t client = 0;  ///< rank on the node
  std::int32_t rank = 0;     ///< rank in the simulation
  std::uint32_t variable = 0;
  std::uint32_t block = 0;
  bool has_position = false;          ///< in the global array
  std::optional<std::int32_t> level;  ///< of an amr mesh: `position` is among the cells of it
  std::array<std::int64_t, kMaxDims> extent{}, position{}, global{};
  std::uint64_t lease = 0;     ///< the region it lies in
  const void* data = nullptr;  ///< null while it lies on the disk
  std::uint64_t bytes = 0;
  std::optional<std::uint32_t> checksum;  ///< CRC-32C of the data, by the client
  const SpillFile* file = nullptr;        ///< on the disk: kept by the hold of its variable
  std::uint32_t place = 0;                ///< in that file
  /// It lies there, and not in the segment: the server has made it. Kept by the hold of its variable.
  const SharedFile* shared = nullptr;
  /// Of one that does not vary in time and is kept: the stores that have it.
  NotedStores* had = nullptr;
};

struct Iteration {
  std::int64_t number = 0;
  bool complete = true;  ///< false when a client died before it had ended it, or a block is lost
  std::vector<Block> blocks;
  /// By variable: its blocks stay as they are while a copy of its hold exists.
  std::map<std::uint32_t, std::shared_ptr<const void>> pins;
  /// Values of the node's first rank at its end of this iteration, by parameter.
  std::vector<ParameterValue> parameters;
  /// What happens in it, in order; said when it is complete.
  std::vector<Signal> signals{};
  /// Ranks that died in it, or before.
  std::vector<std::int32_t> died{};
  /// Of variables over time that are in it, by the number of their period: its begin and end.
  std::map<std::uint32_t, std::pair<double, double>> windows{};
  /// By the number of a period of the XML: whether something is due by it in this iteration. Empty: nobody asks.
  std::vector<std::uint8_t> due{};
  /// The run is over, and what is told then is in it, as every="last": it has the number of the last one, and comes behind that.
  bool is_end = false;
  /// Where it comes among others.
  std::int64_t place() const noexcept { return number + (is_end ? 1 : 0); }
  /// What was written once and is kept, of this iteration too: for stores that have not had it.
  std::vector<Block> constants{};
  /// Where such are kept: the stores that have taken any iteration.
  NotedStores* took = nullptr;
};

/// A block that is not, or may not be, in the stores as the simulation gave it.
struct BlockProblem {
  std::uint32_t client = 0;
  std::int32_t rank = 0;
  std::uint32_t variable = 0;
  std::uint32_t block = 0;
  std::string what;         ///< names the block, and both checksums
  std::uint64_t bytes = 0;  ///< of it, when it is lost
};

// A product is a named, typed, described array of one iteration. What one script or plugin has made
// in one call is published together; stores, plugins and scripts that subscribe to it get it.
struct Product {
  std::string name, unit;
  ScalarType type = ScalarType::float64;
  std::vector<std::string> dimensions;  ///< names; none: a number
  std::vector<std::int64_t> extents;    ///< of each dimension
  const void* data = nullptr;           ///< in C order; lies in the publication's memory
  std::uint64_t bytes = 0;
  std::map<std::string, double> stamps{};  ///< what its maker has said of it, for those that choose
};

/// A file in memory that other processes of this user can open, and this one has mapped.
struct SharedFile {
  std::string path;  ///< as long as this process lives
  const char* start = nullptr;
};

struct Publication {
  enum class Source { script, plugin };

  Source kind = Source::script;
  std::string source;  ///< name of the script, or of the store whose plugin it is
  std::int64_t iteration = 0;
  std::vector<Product> products;
  std::shared_ptr<const void> memory{};  ///< the products' data, until the last copy ends
  /// Of the iteration, as it had them; none: they are not known.
  std::vector<ParameterValue> parameters{};
  bool of_run = false;                       ///< what all of several servers gave is in it
  bool comes_again = false;                  ///< by the next server, should this one die meanwhile
  std::shared_ptr<const SharedFile> file{};  ///< in which the products lie; null: in no such file
  bool of_rank =
      false;  ///< a rank of the simulation has written it undeclared, in the iteration that it was in
};

/// The data in memory of our own, in which the products have places of their own from here on.
std::shared_ptr<const void> copy_data(std::vector<Product>* products);

/// Those of its products that patterns stand for, see model::is_wanted(): pointers into it.
std::vector<const Product*> wanted_of(const Publication& publication,
                                      const std::vector<std::string>& patterns);

/// Arrays that a rank of the simulation has written under names that the XML does not declare: the source is "undeclared@3".
bool is_undeclared(const Publication& publication) noexcept;

/// Makes one of two of the same source and iteration: what both have is as in the later one.
void replace_with(Publication* all, Publication later);

/// Makes one publication of two of the same source and iteration. "", or why not: a product is in
/// both.
std::string add_to(std::optional<Publication>* all, Publication more);

/// Whether bytes of the type and extents are `bytes`: extents that are negative, or make more than
/// can be, are not. Extents beside one of 0 count: what a subscriber computes from them must not
/// overflow.
bool extents_make(const Product& product, std::uint64_t bytes) noexcept;

// What becomes of an iteration in the stores.

// What is wrong with the blocks of an iteration, though each of them is right.
struct Finding {
  const char* what = "";  ///< "holes", "overlap", "not finite", "too large" or "not due"
  std::uint32_t variable = 0;
  std::int64_t iteration = 0;
  std::string text;  ///< the same as long as it is the same that is wrong
};

// What the pipeline is given, and what it says of it.

/// What a store has reduced over the servers of the run in an iteration, for a call of its plugin.
struct Delivery {
  std::size_t store = 0;
  std::int64_t iteration = 0;
  std::function<std::string()> call{};  ///< "", or how it has failed
};

using Work = std::variant<Iteration, Publication, Delivery>;

/// What became of one iteration, or of what somebody made of it, at one store.
struct StoreOutcome {
  std::string store;
  std::string error;     ///< empty: stored, or skipped
  bool skipped = false;  ///< left out, as the XML allows: the store was busy and others waited
};

/// What became of one piece of work, in order; but for what comes late.
struct PipelineResult {
  /// awaited: those stores have an iteration that the simulation waits for. late: from a store that
  /// was still busy with one when the others were done with it.
  enum class Kind { opened, awaited, iteration, late, products, closed } kind = Kind::iteration;
  std::int64_t iteration = 0;
  std::vector<StoreOutcome> outcomes{};  ///< of the stores that were called, with the iteration
  std::vector<StoreOutcome> products{};  ///< of those that were called with what was made of it
  std::vector<BlockProblem> problems{};  ///< of blocks whose checksums are not theirs
  std::vector<Finding> findings{};       ///< of global arrays, whose blocks are all right
  std::size_t at_work = 0;               ///< stores whose outcome comes late
  Work work{};                           ///< what it is about; its blocks are held until this ends
};

}  // namespace leat::server
