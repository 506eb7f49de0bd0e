// SPDX-License-Identifier: Apache-2.0
// The trace of a run, where one is wanted: its name, and its file.
#pragma once

#include <memory>
#include <string>

#include "lib/model/model.hpp"
#include "server/state/journal/names.hpp"
#include "server/state/run.hpp"
#include "server/state/trace/trace.hpp"

namespace leat::server {

struct RunTrace {
  OwnName name;
  std::shared_ptr<Trace> trace;  ///< null: none is wanted, or its file cannot be written
};

/// As the XML or LEAT_TRACE in the environment says; of several servers of a run each has a file of its own. That it
/// cannot be written is in the log, and the run goes on.
RunTrace make_trace(const model::Model& model, const RunFacts& facts, model::At at,
                    const std::shared_ptr<Log>& log);

}  // namespace leat::server
