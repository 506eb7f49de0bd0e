// SPDX-License-Identifier: Apache-2.0
#include "lib/comm/addresses.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <set>

#include "lib/base/text.hpp"
#include "lib/os/process.hpp"

namespace leat::comm {
namespace {

struct OfInterface {
  std::string interface, address;
  std::string bytes;  // of the address, as the network has them
  bool is_loopback = false;
};

std::optional<OfInterface> address_in(const ifaddrs& entry) {
  if (!entry.ifa_addr || !(entry.ifa_flags & IFF_UP)) return std::nullopt;
  const int family = entry.ifa_addr->sa_family;
  if (family != AF_INET && family != AF_INET6) return std::nullopt;
  const auto* const six = reinterpret_cast<const sockaddr_in6*>(entry.ifa_addr);
  if (family == AF_INET6 && IN6_IS_ADDR_LINKLOCAL(&six->sin6_addr)) return std::nullopt;
  const void* const bytes =
      family == AF_INET ? static_cast<const void*>(
                              &reinterpret_cast<const sockaddr_in*>(entry.ifa_addr)->sin_addr)
                        : static_cast<const void*>(&six->sin6_addr);
  char text[INET6_ADDRSTRLEN] = "";
  inet_ntop(family, bytes, text, sizeof text);
  return OfInterface{entry.ifa_name, text,
                     std::string(static_cast<const char*>(bytes), family == AF_INET ? 4 : 16),
                     (entry.ifa_flags & IFF_LOOPBACK) != 0};
}

// "10.1.0.0/16"
struct Range {
  std::string bytes;
  int bits = 0;

  bool has(const std::string& address) const {
    if (address.size() != bytes.size()) return false;
    for (int i = 0; i < bits; ++i) {
      const auto at = static_cast<std::size_t>(i / 8);
      if (((address[at] ^ bytes[at]) >> (7 - i % 8)) & 1) return false;
    }
    return true;
  }
};

std::optional<Range> range_in(const std::string& text) {
  const std::size_t slash = text.find('/');
  const std::string address = text.substr(0, slash);
  unsigned char bytes[16];
  const bool is_four = inet_pton(AF_INET, address.c_str(), bytes) == 1;
  if (!is_four && inet_pton(AF_INET6, address.c_str(), bytes) != 1) return std::nullopt;
  const int most = is_four ? 32 : 128;
  const int bits = slash == std::string::npos ? most : std::atoi(text.c_str() + slash + 1);
  if (bits < 0 || bits > most) return std::nullopt;
  return Range{std::string(reinterpret_cast<char*>(bytes), is_four ? 4 : 16), bits};
}

}  // namespace

Result<std::vector<std::string>> addresses_of_node(const std::string& hint) {
  ifaddrs* found = nullptr;
  if (getifaddrs(&found) != 0)
    return Error{Status::ERROR_SYSTEM, "the addresses of this node: " + os::errno_text(errno)};
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> all(found, freeifaddrs);
  const std::optional<Range> range = range_in(hint);
  std::vector<std::string> addresses;
  std::set<std::string> interfaces;
  for (const ifaddrs* entry = found; entry; entry = entry->ifa_next) {
    const std::optional<OfInterface> one = address_in(*entry);
    if (!one) continue;
    interfaces.insert(one->interface);
    const bool fits = hint.empty() ? !one->is_loopback
                      : range      ? range->has(one->bytes)
                                   : one->interface == hint;
    if (fits) addresses.push_back(one->address);
  }
  if (!addresses.empty() || hint.empty()) return addresses;
  const std::string node = "node " + os::node_name();
  if (range) return Error{Status::ERROR_CONFIG, node + " has no address within " + hint};
  return Error{
      Status::ERROR_CONFIG,
      node + " has no interface \"" + hint + "\" with an address" +
          did_you_mean(hint, std::vector<std::string>(interfaces.begin(), interfaces.end()))};
}

}  // namespace leat::comm
