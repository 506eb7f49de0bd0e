// SPDX-License-Identifier: Apache-2.0
// What one run of the job is, from "name=value" arguments.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "lib/os/cores.hpp"

namespace leat::bench {

struct Plan {
  std::string method;
  int warm_up = 5;
  int iterations = 0;      ///< that are counted; warm_up more are made before
  std::size_t bytes = 0;   ///< of one rank in one iteration
  long work = 0;           ///< units of computing in one iteration, see work.hpp
  bool durable = false;    ///< each iteration is to be on the disk before the next is begun there
  int deflate = 0;         ///< with what of gzip HDF5 compresses in the simulation; 0: not at all
  std::string folder;      ///< of the output
  std::string config;      ///< Leat's XML
  std::string result;      ///< JSON that rank 0 writes
  std::string pool;        ///< of pages, see page_pool.hpp; "": none
  std::vector<int> cores;  ///< of the simulation's ranks, one each
  os::CpuSet helpers;      ///< cores of what works for the simulation

  /// Iterations for whose bytes the pool has pages before the first: of buffers and what is ahead.
  static constexpr int kPooledAhead = 8;

  int all_iterations() const { return warm_up + iterations; }
};

/// Throws std::invalid_argument, which names what is wrong.
Plan plan_from(int count, char** arguments);

}  // namespace leat::bench
