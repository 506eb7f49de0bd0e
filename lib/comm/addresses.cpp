// SPDX-License-Identifier: Apache-2.0
#include "lib/comm/addresses.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <map>

#include "lib/base/text.hpp"
#include "lib/os/process.hpp"

namespace leat::comm {
namespace {

sockaddr_in* four_of(SocketAddress* address) {
  return reinterpret_cast<sockaddr_in*>(&address->bytes);
}
sockaddr_in6* six_of(SocketAddress* address) {
  return reinterpret_cast<sockaddr_in6*>(&address->bytes);
}

/// 4 or 16 bytes, in the order of a network; "" of what is none.
std::string address_bytes(const std::string& text) {
  unsigned char bytes[16];
  const std::string plain = text.substr(0, text.find('%'));
  if (inet_pton(AF_INET, plain.c_str(), bytes) == 1) return {bytes, bytes + 4};
  if (inet_pton(AF_INET6, plain.c_str(), bytes) == 1) return {bytes, bytes + 16};
  return "";
}

/// "10.1.0.0/16", or an address, which is a network of itself.
struct AddressRange {
  std::string bytes{};
  std::size_t bits = 0;

  bool has(const std::string& address) const {
    if (address.size() != bytes.size()) return false;
    for (std::size_t i = 0; i < bits; ++i)
      if (((address[i / 8] ^ bytes[i / 8]) >> (7 - i % 8)) & 1) return false;
    return true;
  }
};

std::optional<AddressRange> address_range(const std::string& text) {
  const std::size_t slash = text.find('/');
  AddressRange range{address_bytes(text.substr(0, slash))};
  range.bits = 8 * range.bytes.size();
  if (range.bytes.empty()) return std::nullopt;
  if (slash == std::string::npos) return range;
  const char* const end = text.data() + text.size();
  std::size_t bits = 0;
  const auto [next, error] = std::from_chars(text.data() + slash + 1, end, bits);
  if (error != std::errc{} || next != end || bits > range.bits) return std::nullopt;
  range.bits = bits;
  return range;
}

bool is_in(const std::string& address, const char* range) {
  return address_range(range)->has(address_bytes(address));
}

// Of one cable: they reach no further than to the next router.
bool is_of_one_cable(const std::string& address) {
  return is_in(address, "169.254.0.0/16") || is_in(address, "fe80::/10");
}

bool fits_hint(const NodeAddress& address, const std::string& hint) {
  const bool is_named = address.interface == hint || address.interface.starts_with(hint + ':');
  if (is_named) return !is_in(address.text, "fe80::/10");
  const std::optional<AddressRange> range = address_range(hint);
  return range && range->has(address_bytes(address.text));
}

std::vector<std::string> parts_of(const std::string& hint) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at <= hint.size();) {
    const std::size_t comma = std::min(hint.find(',', at), hint.size());
    const std::size_t first = hint.find_first_not_of(' ', at);
    const std::size_t last = hint.find_last_not_of(' ', comma - 1);
    if (first < comma) parts.push_back(hint.substr(first, last - first + 1));
    at = comma + 1;
  }
  return parts;
}

Error no_such_address(const std::vector<NodeAddress>& all, const std::string& hint) {
  std::map<std::string, std::vector<std::string>> of;
  for (const NodeAddress& each : all) of[each.interface].push_back(each.text);
  std::vector<std::string> names, interfaces;
  for (const auto& [name, texts] : of) {
    names.push_back(name);
    interfaces.push_back(name + " (" + joined(texts, ", ") + ")");
  }
  const std::string nearest = nearest_name(hint, names);
  return {Status::ERROR_CONFIG,
          "\"" + hint + "\" is no interface, address or network of node " + os::node_name() +
              (nearest.empty() ? "" : "; did you mean \"" + nearest + "\"?") +
              "; it has: " + (all.empty() ? "none that is up" : joined(interfaces, ", ")) +
              "; write the name of an interface, such as \"ib0\", or a network, such as "
              "\"10.1.0.0/16\""};
}

}  // namespace

std::uint16_t SocketAddress::port() const {
  SocketAddress copy = *this;
  return ntohs(bytes.ss_family == AF_INET ? four_of(&copy)->sin_port : six_of(&copy)->sin6_port);
}

std::string SocketAddress::text() const {
  SocketAddress copy = *this;
  char text[INET6_ADDRSTRLEN] = "?";
  const bool is_four = bytes.ss_family == AF_INET;
  if (is_four) {
    inet_ntop(AF_INET, &four_of(&copy)->sin_addr, text, sizeof text);
  } else {
    inet_ntop(AF_INET6, &six_of(&copy)->sin6_addr, text, sizeof text);
  }
  return (is_four ? std::string(text) : '[' + std::string(text) + ']') + ':' +
         std::to_string(port());
}

std::optional<SocketAddress> socket_address(const std::string& text, std::uint16_t port) {
  SocketAddress address;
  const std::size_t percent = text.find('%');
  const std::string plain = text.substr(0, percent);
  if (inet_pton(AF_INET, text.c_str(), &four_of(&address)->sin_addr) == 1) {
    four_of(&address)->sin_family = AF_INET;
    four_of(&address)->sin_port = htons(port);
    address.size = sizeof(sockaddr_in);
    return address;
  }
  if (inet_pton(AF_INET6, plain.c_str(), &six_of(&address)->sin6_addr) != 1) return std::nullopt;
  six_of(&address)->sin6_family = AF_INET6;
  six_of(&address)->sin6_port = htons(port);
  address.size = sizeof(sockaddr_in6);
  if (percent == std::string::npos) return address;
  six_of(&address)->sin6_scope_id = if_nametoindex(text.c_str() + percent + 1);
  return six_of(&address)->sin6_scope_id ? std::optional(address) : std::nullopt;
}

Result<std::vector<std::string>> addresses_in_order(const std::vector<NodeAddress>& all,
                                                    const std::string& hint) {
  std::vector<std::string> chosen;
  const auto choose = [&chosen, &all](const auto& is_meant) {
    bool is_any = false;
    for (const NodeAddress& each : all) {
      if (!is_meant(each)) continue;
      is_any = true;
      if (std::count(chosen.begin(), chosen.end(), each.text) == 0) chosen.push_back(each.text);
    }
    return is_any;
  };
  for (const std::string& part : parts_of(hint))
    if (!choose([&part](const NodeAddress& each) { return fits_hint(each, part); }))
      return no_such_address(all, part);
  choose([](const NodeAddress& each) { return !each.is_loopback && !is_of_one_cable(each.text); });
  choose([](const NodeAddress& each) {
    return !each.is_loopback && is_of_one_cable(each.text) && !is_in(each.text, "fe80::/10");
  });
  if (chosen.empty()) choose([](const NodeAddress& each) { return each.is_loopback; });
  if (chosen.empty())
    return Error{Status::ERROR_SYSTEM, "node " + os::node_name() +
                                           " has no address at which servers of other nodes could "
                                           "reach it; no interface of a network is up"};
  return chosen;
}

Result<std::vector<std::string>> addresses_of_node(const std::string& hint) {
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0)
    return Error{Status::ERROR_SYSTEM,
                 "cannot list the addresses of this node: " + os::errno_text(errno)};
  std::vector<NodeAddress> all;
  for (const ifaddrs* each = list; each; each = each->ifa_next) {
    constexpr unsigned kWorks = IFF_UP | IFF_RUNNING;
    if (!each->ifa_addr || (each->ifa_flags & kWorks) != kWorks) continue;
    char text[INET6_ADDRSTRLEN] = "";
    const int family = each->ifa_addr->sa_family;
    if (family == AF_INET) {
      const auto* const four = reinterpret_cast<const sockaddr_in*>(each->ifa_addr);
      inet_ntop(family, &four->sin_addr, text, sizeof text);
    } else if (family == AF_INET6) {
      const auto* const six = reinterpret_cast<const sockaddr_in6*>(each->ifa_addr);
      inet_ntop(family, &six->sin6_addr, text, sizeof text);
    } else {
      continue;
    }
    NodeAddress address{each->ifa_name, text, (each->ifa_flags & IFF_LOOPBACK) != 0};
    if (is_in(address.text, "fe80::/10")) address.text += '%' + address.interface;
    all.push_back(std::move(address));
  }
  freeifaddrs(list);
  return addresses_in_order(all, hint);
}

}  // namespace leat::comm
