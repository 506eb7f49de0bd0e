// SPDX-License-Identifier: Apache-2.0
// One end of links between servers, which counts what happens to it; tests poll all ends in turn.
#pragma once

#include <sys/eventfd.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "lib/comm/links.hpp"
#include "lib/os/clock.hpp"
#include "lib/os/descriptor.hpp"

namespace leat::comm::test {

constexpr std::int64_t kMs = 1'000'000;

struct LinkEnd {
  struct Seen {
    int ups = 0, downs = 0;
    std::vector<std::string> messages{};
  };

  std::unique_ptr<Links> links;
  os::UniqueFd wake{eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)};
  std::map<Rank, Seen> seen{};

  void poll(std::int64_t ns = kMs) {
    for (LinkEvent& each : links->poll(os::now_ns() + ns, wake.get())) {
      Seen& of = seen[each.peer];
      of.ups += each.kind == LinkEvent::Kind::up;
      of.downs += each.kind == LinkEvent::Kind::down;
      if (each.kind == LinkEvent::Kind::message) of.messages.push_back(std::move(each.bytes));
    }
  }
  /// Why the wanted server is not reached says this.
  bool says(const std::string& what) const {
    return links->why_unreached().find(what) != std::string::npos;
  }
};

inline bool soon(const std::vector<LinkEnd*>& ends, const std::function<bool()>& condition,
                 std::int64_t ns = 20'000 * kMs) {
  const std::int64_t until = os::now_ns() + ns;
  while (!condition()) {
    if (os::now_ns() > until) return false;
    for (LinkEnd* each : ends) each->poll();
  }
  return true;
}

}  // namespace leat::comm::test
