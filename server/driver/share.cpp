// SPDX-License-Identifier: Apache-2.0
#include "server/driver/share.hpp"

#include "lib/base/text.hpp"
#include "lib/os/process.hpp"
#include "server/state/journal/names.hpp"

namespace leat::server {
namespace {

// As ranks have theirs: all write about the same.
std::uint64_t share_of_bytes(std::uint64_t whole, const Options& options) {
  const auto all = static_cast<std::uint64_t>(options.node_ranks);
  const auto ranks = static_cast<std::uint64_t>(ranks_of(options).count);
  return whole / all * ranks + whole % all * ranks / all;
}

}  // namespace

std::string own_session(const Options& options) {
  return platform::session_of_server(options.session, options.server);
}

platform::Share ranks_of(const Options& options) {
  return platform::share_of(options.node_ranks, options.server, options.servers);
}

Result<void> take_share(model::Model* model, Options* options) {
  model::Architecture& architecture = model->architecture;
  options->servers = static_cast<int>(architecture.servers);
  if (options->servers > options->node_ranks) {
    return Error{Status::ERROR_CONFIG,
                 "<dedicated servers=\"" + std::to_string(options->servers) + "\">: node " +
                     platform::node_name() + " has only " +
                     counted(static_cast<std::uint64_t>(options->node_ranks), "rank") +
                     " of the simulation, and each server has ranks to serve: start more there, "
                     "or have fewer servers"};
  }
  if (options->server >= options->servers) {
    return Error{Status::ERROR_CONFIG, "<dedicated servers=\"" + std::to_string(options->servers) +
                                           "\">: the XML has changed since the run began, there "
                                           "is no server " +
                                           std::to_string(options->server)};
  }
  options->cores = static_cast<int>(architecture.dedicated_cores);
  architecture.dedicated_cores =
      platform::share_of(options->cores, options->server, options->servers).count;
  architecture.buffer_bytes = share_of_bytes(architecture.buffer_bytes, *options);
  architecture.spill_bytes = share_of_bytes(architecture.spill_bytes, *options);
  if (options->server > 0 && !model->log.file.empty())
    model->log.file = with_addition(model->log.file, std::to_string(options->server));
  return {};
}

}  // namespace leat::server
