// SPDX-License-Identifier: Apache-2.0
// Bytes that are to be written to a file later, by address.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace leat::hdf5 {

/// Pieces that do not overlap.
using Changes = std::map<std::uint64_t, std::vector<unsigned char>>;

/// The first piece that ends behind `address`.
Changes::const_iterator first_over(const Changes& changes, std::uint64_t address);
Changes::iterator first_over(Changes& changes, std::uint64_t address);

/// Adds a piece; where there is something already, the later one counts.
void put(Changes* changes, std::uint64_t address, const unsigned char* from, std::size_t bytes);

/// Whether something is to be written to one of these addresses.
bool touch(const Changes& changes, std::uint64_t address, std::size_t bytes);

/// Brings what was read from `address` to what it will be.
void make_in(unsigned char* read, const Changes& changes, std::uint64_t address, std::size_t bytes);

}  // namespace leat::hdf5
