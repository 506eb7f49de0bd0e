// SPDX-License-Identifier: Apache-2.0
// The same job as a schedule in the GOAL language, for the simulator LogGOPSim: T. Hoefler, C.
// Siebert, A. Lumsdaine, "Group Operation Assembly Language", ICPP 2009; as `txt2bin` of LogGOPSim
// reads it.
#pragma once

#include <cstdint>
#include <ostream>

#include "lib/predict/prediction.hpp"

namespace leat::predict {

/// Each rank's operations in order. Without bursts: LogGOPSim has an option for those, --noise-trace.
void write_goal(std::ostream& out, const Job& job, std::int64_t bytes, std::int64_t collectives);

}  // namespace leat::predict
