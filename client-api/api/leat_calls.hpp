// SPDX-License-Identifier: Apache-2.0
// The calls of leat.hpp that take no more than a translation of their arguments.
// Made by generate_calls.py of calls.def: change that.
#pragma once

#include <cstdint>

#include "leat.hpp"

namespace leat {

/// Hands the memory of alloc over. It must not be used afterwards.
inline leat_status commit(const char* variable, std::uint32_t block = 0) {
  return check(leat_commit_block(variable, block));
}

/// Extents of a block with "?" dimensions from now on, ghosts included; write takes them from its
/// array by itself.
inline leat_status set_extent(const char* variable, Extents extent, std::uint32_t block = 0) {
  const leat_list list = list_of(extent);
  return check(leat_set_extent_list(variable, block, &list));
}

/// Where a block lies in the global array from now on: the index of its first cell that is no
/// ghost.
inline leat_status set_position(const char* variable, Extents position, std::uint32_t block = 0) {
  const leat_list list = list_of(position);
  return check(leat_set_position_list(variable, block, &list));
}

/// Which level of an amr mesh a block is of from now on, for all variables on the mesh, and where:
/// the index of its first cell that is no ghost among the cells of that level. Level 0 is the
/// coarsest.
inline leat_status set_level(const char* mesh, std::int32_t level, Extents position,
                             std::uint32_t block = 0) {
  const leat_list list = list_of(position);
  return check(leat_set_level_list(mesh, block, level, &list));
}

/// The iteration with which the run goes on behind its newest whole checkpoint, and goes there; 0
/// when there is none. Before the first write.
inline leat_status restart_step(std::int64_t& iteration) {
  return check(leat_restart_step(&iteration));
}

/// Ends the current iteration on this rank. The next one begins even if this call returns an
/// error.
inline leat_status end_iteration() { return check(leat_end_iteration()); }

/// The first iteration of this rank has this number: for a code that goes on from a restart file
/// of its own.
inline leat_status start_at(std::int64_t iteration) { return check(leat_start_at(iteration)); }

/// The iteration that begins now has this number, the step of the code itself: files, scripts and
/// log have it. Optional; before anything of it is written.
inline leat_status begin_iteration(std::int64_t iteration) {
  return check(leat_begin_iteration(iteration));
}

/// How many blocks of a variable this rank has handed over in its current iteration; one that was
/// written again counts once.
inline leat_status count(const char* variable, std::int64_t& count) {
  return check(leat_count(variable, &count));
}

/// Signals an <event> of the XML in this rank's current iteration.
inline leat_status signal(const char* event) { return check(leat_signal(event)); }

/// This rank has come out of a collective of so many ranks, 0 for all of the run, that none leaves
/// before all have entered it: plugins with runs="coordinated" start there. libleat_pmpi makes the
/// call by itself.
inline leat_status after_collective(std::int32_t ranks = 0) {
  return check(leat_after_collective(ranks));
}

/// Gives several integer parameters, "nx,ny,i0", their values for this rank.
inline leat_status set_ints(const char* parameters, Extents values) {
  const leat_list list = list_of(values);
  return check(leat_set_ints_list(parameters, &list));
}

/// Gives several floating-point parameters, "x0,dx,lz", their values for this rank.
inline leat_status set_doubles(const char* parameters, Reals values) {
  const leat_reals list = list_of(values);
  return check(leat_set_doubles_list(parameters, &list));
}

}  // namespace leat
