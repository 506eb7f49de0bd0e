// SPDX-License-Identifier: Apache-2.0
// A number that HDF5 returned, or the end of the job.
#pragma once

#include <hdf5.h>

#include "tests/bench/job/output.hpp"

namespace leat::bench {

template <class Number>
Number hdf5_checked(Number returned, const char* call) {
  if (returned < 0) give_up(call);
  return returned;
}

}  // namespace leat::bench
