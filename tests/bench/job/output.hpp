// SPDX-License-Identifier: Apache-2.0
// One way in which the job can put out its data. A failure ends the job: give_up().
#pragma once

#include <mpi.h>
#include <sys/types.h>

#include <cstddef>
#include <memory>
#include <string>

#include "tests/bench/job/plan.hpp"

namespace leat::bench {

struct Setting {
  const Plan& plan;
  MPI_Comm world;  ///< all processes: the simulation's, then those that serve it
  MPI_Comm ranks;  ///< the simulation's only; MPI_COMM_NULL in one that serves
  int rank = 0, size = 0;

  std::size_t values() const { return plan.bytes / sizeof(double); }
  std::string file(const std::string& name) const { return plan.folder + "/" + name; }
  std::string own_file(const char* ending) const {
    return file("rank" + std::to_string(rank) + ending);
  }
};

/// Made after MPI_Init, on all ranks.
class Output {
 public:
  Output() = default;
  Output(const Output&) = delete;
  virtual ~Output() = default;

  /// Where the simulation is to put its next iteration; null: into an array of its own.
  virtual double* memory() { return nullptr; }
  /// The simulation may change its array when this returns.
  virtual void write(int iteration, const double* data) = 0;
  /// Returns when all iterations are where the others' are too: in the page cache, or on the disk.
  virtual void finish() = 0;
  /// A process that works for this rank; 0: none, it has threads or does all itself.
  virtual pid_t helper() const { return 0; }
};

struct Method {
  const char* name;
  std::unique_ptr<Output> (*make)(const Setting&);
  void (*serve)(const Setting&) = nullptr;  ///< what the last process of the world does, if given
};

/// Null when this program does not have it.
const Method* find_method(const std::string& name);
std::string method_names();

[[noreturn]] void give_up(const std::string& what);

}  // namespace leat::bench
