// SPDX-License-Identifier: Apache-2.0
// Writes what clients must know of the model into the segment.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lib/model/model.hpp"
#include "lib/shm/segment.hpp"

namespace leat::server {

/// From which checkpoint the run goes on. Absolute paths.
struct RestartFacts {
  std::string store, folder, copy;
  std::string why_none;
  std::int64_t iteration = -1, generation = 0;
};

/// Bytes that the catalogue of this model takes.
std::uint64_t catalogue_bytes(const model::Model& model, const RestartFacts& restart = {});

/// Writes it where the segment's header says; before the first client attaches.
void write_catalogue(const model::Model& model, const shm::Segment& segment,
                     const RestartFacts& restart = {});

}  // namespace leat::server
