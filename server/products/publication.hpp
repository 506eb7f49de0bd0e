// SPDX-License-Identifier: Apache-2.0
// A product is a named, typed, described array of one iteration. What one script or plugin has made
// in one call is published together; stores, plugins and scripts that subscribe to it get it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/scalar.hpp"
#include "server/session/iteration.hpp"

namespace leat::server {

struct Product {
  std::string name, unit;
  ScalarType type = ScalarType::float64;
  std::vector<std::string> dimensions;  ///< names; none: a number
  std::vector<std::int64_t> extents;    ///< of each dimension
  const void* data = nullptr;           ///< in C order; lies in the publication's memory
  std::uint64_t bytes = 0;
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
};

/// The data in memory of our own, in which the products have places of their own from here on.
std::shared_ptr<const void> copy_data(std::vector<Product>* products);

/// Those of its products that patterns stand for, see model::is_wanted(): pointers into it.
std::vector<const Product*> wanted_of(const Publication& publication,
                                      const std::vector<std::string>& patterns);

/// Makes one publication of two of the same source and iteration. "", or why not: a product is in
/// both.
std::string add_to(std::optional<Publication>* all, Publication more);

/// Whether bytes of the type and extents are `bytes`: extents that are negative, or make more than
/// can be, are not. Extents beside one of 0 count: what a subscriber computes from them must not
/// overflow.
bool extents_make(const Product& product, std::uint64_t bytes) noexcept;

}  // namespace leat::server
