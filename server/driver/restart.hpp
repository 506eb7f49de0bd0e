// SPDX-License-Identifier: Apache-2.0
// From which checkpoint a run goes on: looked up once, when its server starts, so that all of its ranks have the same answer.
#pragma once

#include <string>

#include "lib/base/status.hpp"
#include "lib/model/model.hpp"
#include "server/state/clients/catalogue_writer.hpp"
#include "server/state/run.hpp"

namespace leat::server {

bool makes_checkpoints(const model::Model& model);

/// The parameter by which ranks learn that the run is told to end, so that they write a checkpoint; "": there is none.
std::string parameter_told_of_end(const model::Model& model);

/// The newest that is whole, or the one that LEAT_RESTART names; the log says why newer ones are not taken. An error when that one
/// is not there. Without a store of checkpoints: none.
///
/// Where a run has several servers, it is one that all of them can read: in the second place, where the XML names one.
Result<RestartFacts> choose_checkpoint(const model::Model& model, const RunFacts& facts, Log& log);

}  // namespace leat::server
