// SPDX-License-Identifier: Apache-2.0
// Writes what clients must know of the model into the segment.
#pragma once

#include <cstdint>
#include <vector>

#include "lib/model/model.hpp"
#include "lib/shm/segment.hpp"

namespace leat::server {

/// For each variable, the greatest step such that every iteration some store wants is a multiple of
/// it; 0: no store.
std::vector<std::uint32_t> wanted_steps(const model::Model& model);

/// Bytes that the catalogue of this model takes.
std::uint64_t catalogue_bytes(const model::Model& model);

/// Writes it where the segment's header says; before the first client attaches.
void write_catalogue(const model::Model& model, const shm::Segment& segment);

}  // namespace leat::server
