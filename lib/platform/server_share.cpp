// SPDX-License-Identifier: Apache-2.0
#include "lib/platform/server_share.hpp"

#include "lib/platform/runtime_folder.hpp"

namespace leat::platform {
namespace {

// The first thing that server_of gives to this server.
int first_of(int whole, int server, int servers) noexcept {
  const long long product = static_cast<long long>(server) * whole;
  return static_cast<int>((product + servers - 1) / servers);
}

}  // namespace

Share share_of(int whole, int server, int servers) noexcept {
  const int first = first_of(whole, server, servers);
  return {first, first_of(whole, server + 1, servers) - first};
}

int server_of(int index, int whole, int servers) noexcept {
  return static_cast<int>(static_cast<long long>(index) * servers / whole);
}

std::string name_of_server(const std::string& node, int server) {
  return server == 0 ? node : node + "." + std::to_string(server);
}

// Of a name that is too long the beginning goes: what differs from run to run is at the end.
std::string session_of_server(const std::string& run, int server) {
  std::string name = name_of_server(run, server);
  if (name.size() > kLongestSessionName) name.erase(0, name.size() - kLongestSessionName);
  if (name.front() == '.') name.front() = '_';
  return name;
}

}  // namespace leat::platform
