// SPDX-License-Identifier: Apache-2.0
// What can be known of a run before it runs: sizes, shapes on meshes, who makes products of products, memory.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lib/model/expression_parser.hpp"
#include "lib/model/model.hpp"
#include "lib/model/read_steps.hpp"

namespace leat::model {

// What the values of the parameters that are known already say about a layout.

/// Says so when an extent cannot be computed or is negative, when ghosts are more than the block,
/// and when the whole is smaller than the interior of one block. What hangs on a parameter without
/// a value is left to the run.
void check_layout(ReadContext& context, const Layout& layout, const Attributes& attributes);

// Whether a variable fits the mesh that it lies on.

/// Elements of the whole in dimension `d`, when they are known with these parameters: of the global
/// array, else of a block without its ghosts.
std::optional<std::int64_t> whole_extent(const IntegerValues& parameters, const Layout& layout,
                                         std::size_t d);

/// Sizes that the XML leaves to the simulation, compared: each such parameter has some value, each another, and none a multiple of
/// others, once and once more.
class AssumedSizes {
 public:
  explicit AssumedSizes(const Model& model);
  /// Of the whole in dimension `d`, under both assumptions. Nothing: it is no size.
  std::optional<std::pair<std::int64_t, std::int64_t>> whole(const Layout& layout,
                                                             std::size_t d) const;
  /// How many elements less the other one has whatever the simulation sets. Nothing: that depends on it.
  std::optional<std::int64_t> less(const Layout& layout, std::size_t d, const Layout& other,
                                   std::size_t of_other) const;

 private:
  IntegerValues values_, otherwise_;
};

/// Says what of a variable does not fit its mesh: the number of dimensions, or extents that are
/// known before the run. Extents may differ by one from those of the coordinates: centres, nodes,
/// and what lies on the faces of cells.
void check_on_mesh(ReadContext& context, const Variable& variable);

// Where values lie along each dimension of a uniform mesh: staggered grids have some quantities at
// the centres of cells and others on their faces.

/// Sets Variable::centerings of all variables on uniform meshes, from their sizes: a mesh has as many
/// cells along an axis as the shortest zonal array on it has values; one value more is the nodes, at
/// both ends of each cell. Without zonal ones the longest nodal array has the nodes. Another size is a
/// warning, and those values have no known place. Sizes of parameters without a value, like nx and
/// nx+1, are compared where they differ by the same number whatever the simulation sets.
void place_on_uniform_meshes(ReadContext& context);

// Who makes products of products: in which order they have to work, and whether two wait for each
// other.

/// One that takes products, and says what it makes of them.
struct ProductMaker {
  std::string source;              ///< the store, or the script, that publishes
  std::vector<std::string> takes;  ///< patterns of "<source>/<product>"
  std::vector<std::string> makes;  ///< names of products; none: it makes nothing of them
  bool on_staging = false;         ///< nodes have nothing of what it makes
};

ProductMaker maker_of(const Store& store);
/// Of all stores.
std::vector<ProductMaker> makers_of(const Model& model);

/// Words separated by white space.
std::vector<std::string> words_of(const std::string& text);

/// Whether one of the patterns stands for `name`, "<source>/<product>". A pattern has the wildcards
/// of a shell; '*' also stands for '/'. Where the source is of one node of several, "stats@4", it may
/// be written with or without the "@4".
bool is_wanted(const std::vector<std::string>& patterns, const std::string& name);

/// The same without the "@4" of its source.
std::string without_node(const std::string& name);

/// Why this is no name for a product, which is one in files and in patterns: "" when it is.
std::string why_no_product_name(const std::string& name);

struct ProductFlow {
  /// By maker: 0 for those that make nothing of products, else 1 more than the highest of those
  /// whose products they take. Nothing when there is a circle.
  std::vector<int> steps;
  /// "a/x -> b/y -> a/x": products that are made of each other; "" for none.
  std::string circle;
};

/// Nobody takes what it has published itself.
ProductFlow product_flow(const std::vector<ProductMaker>& makers);

/// A circle, or one that takes its own products, as an error that says what to do; "" for none.
std::string why_endless(const std::vector<ProductMaker>& makers);

/// Of one on a node that names another one on staging nodes, from which nothing comes back: an error that says what to do; "" where
/// it does not.
std::string why_never_there(const ProductMaker& taker, const std::vector<ProductMaker>& all);

// How much of the segment one iteration takes.
struct VariableEstimate {
  std::uint32_t variable = 0;
  bool taken = true;  ///< by a store or scripts; what none takes is not copied and counts nothing
  /// Of data. Unknown when varying or a parameter has no value.
  std::optional<std::uint64_t> bytes_per_rank;
  std::uint64_t segment_bytes_per_rank = 0;  ///< what these take in the segment, as far as known
  std::string why_unknown;
  bool impossible = false;  ///< unknown because it is wrong: negative, divided by zero, too large
};

struct MemoryEstimate {
  std::vector<VariableEstimate> variables;
  std::uint64_t known_bytes_per_rank = 0;  ///< of the segment, as in all that follows
  /// Per iteration: of each variable as many blocks per rank as its layout says.
  std::uint64_t known_bytes_per_node = 0;
  std::uint64_t buffer_bytes = 0;
};

/// What a block of so many bytes takes in the segment; 0 when that does not fit into 64 bits.
using BytesInSegment = std::uint64_t(std::uint64_t data_bytes);

/// `overrides` are parameter values that the simulation will set ("nx=256"), by parameter index.
MemoryEstimate estimate_memory(const Model& model, std::int64_t ranks_per_node,
                               BytesInSegment* in_segment,
                               const std::vector<std::optional<std::int64_t>>& overrides = {});

}  // namespace leat::model
