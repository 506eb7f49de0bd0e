// SPDX-License-Identifier: Apache-2.0
// Numbers are little-endian as on all machines that Leat runs on.
#include "lib/comm/meeting.hpp"
#include "lib/base/text.hpp"

#include <sys/random.h>

#include <algorithm>
#include <bit>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <set>
#include <type_traits>
#include <utility>

#include "lib/comm/tls.hpp"

namespace leat::comm {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr std::uint32_t kOfferMark = 0x314f464c;  // "LFO1"
constexpr std::size_t kMostOfName = 255, kMostOfAddress = 45, kMostOfCredential = 1400;
constexpr std::size_t kMostServers = 1 << 20;

template <class T>
void put(std::string* bytes, T value) {
  bytes->append(reinterpret_cast<const char*>(&value), sizeof value);
}

void put(std::string* bytes, const std::string& text) {
  put(bytes, static_cast<std::uint16_t>(text.size()));
  *bytes += text;
}

// All of it fails once something is missing.
class Taking {
 public:
  explicit Taking(std::string_view bytes) : left_(bytes) {}

  template <class T>
  T number() {
    T value{};
    if (left_.size() < sizeof value) return failed_ = true, value;
    std::memcpy(&value, left_.data(), sizeof value);
    left_.remove_prefix(sizeof value);
    return value;
  }
  std::string text(std::size_t most) {
    const auto size = number<std::uint16_t>();
    if (size > most || left_.size() < size) return failed_ = true, "";
    std::string text(left_.substr(0, size));
    left_.remove_prefix(size);
    return text;
  }
  bool is_whole() const { return !failed_ && left_.empty(); }

 private:
  std::string_view left_;
  bool failed_ = false;
};

std::string run_of(const std::vector<Offer>& offers) {
  std::uint64_t all = fnv1a("");
  for (const Offer& each : offers)
    all = fnv1a({reinterpret_cast<const char*>(&each.number), sizeof each.number}, all);
  char text[40];
  std::snprintf(text, sizeof text, "%016" PRIx64 "%016" PRIx64, offers.front().number, all);
  return text;
}

Error unfit(const std::string& why) {
  return {Status::ERROR_SERVER,
          "what the servers of the run say of each other makes no sense: " + why};
}

}  // namespace

bool Meeting::all_have_addresses() const {
  return std::all_of(cards.begin(), cards.end(),
                     [](const Card& each) { return each.port != 0 && !each.addresses.empty(); });
}

Result<Offer> make_offer(std::string node, std::uint16_t port, std::vector<std::string> addresses) {
  const Result<Credential> credential = Credential::make();
  if (!credential) return credential.error();
  Offer offer{0, {0, std::move(node), port, std::move(addresses)}, credential->text()};
  offer.card.name.resize(std::min(offer.card.name.size(), kMostOfName));
  std::erase_if(offer.card.addresses,
                [](const std::string& each) { return each.size() > kMostOfAddress; });
  offer.card.addresses.resize(std::min(offer.card.addresses.size(), kMostAddresses));
  while (offer.number == 0) {
    if (getrandom(&offer.number, sizeof offer.number, 0) != sizeof offer.number)
      return Error{Status::ERROR_SYSTEM, "the system gives no random numbers"};
  }
  if (bytes_of(offer, true).size() > kMostBytesOfOffer)
    return Error{Status::ERROR_INTERNAL, "a credential is larger than one can be"};
  return offer;
}

std::string bytes_of(const Offer& offer, bool with_credential) {
  std::string body;
  put(&body, kOfferMark);
  put(&body, offer.number);
  put(&body, offer.card.port);
  put(&body, offer.card.name);
  put(&body, static_cast<std::uint16_t>(offer.card.addresses.size()));
  for (const std::string& each : offer.card.addresses) put(&body, each);
  put(&body, with_credential ? offer.credential : std::string());
  std::string bytes;
  put(&bytes, static_cast<std::uint32_t>(body.size()));
  return bytes + body;
}

std::optional<Offer> take_offer(std::string_view* bytes) {
  std::uint32_t size = 0;
  if (bytes->size() < sizeof size) return std::nullopt;
  std::memcpy(&size, bytes->data(), sizeof size);
  if (size > kMostBytesOfOffer || bytes->size() - sizeof size < size) return std::nullopt;
  Taking body(bytes->substr(sizeof size, size));
  const bool is_one = body.number<std::uint32_t>() == kOfferMark;
  Offer offer;
  offer.number = body.number<std::uint64_t>();
  offer.card.port = body.number<std::uint16_t>();
  offer.card.name = body.text(kMostOfName);
  const auto addresses = body.number<std::uint16_t>();
  if (!is_one || addresses > kMostAddresses) return std::nullopt;
  for (std::uint16_t i = 0; i < addresses; ++i)
    offer.card.addresses.push_back(body.text(kMostOfAddress));
  offer.credential = body.text(kMostOfCredential);
  if (!body.is_whole() || offer.number == 0) return std::nullopt;
  bytes->remove_prefix(sizeof size + size);
  return offer;
}

Result<Meeting> meeting_of(std::string_view offers, std::uint64_t own) {
  std::vector<Offer> all;
  std::set<std::uint64_t> numbers;
  while (!offers.empty()) {
    std::optional<Offer> next = take_offer(&offers);
    if (!next) return unfit("the bytes of server " + std::to_string(all.size()));
    if (!numbers.insert(next->number).second) return unfit("two servers are the same");
    if (next->credential.empty() != !all.empty())
      return unfit("the first server alone has a credential for all");
    all.push_back(std::move(*next));
    if (all.size() > kMostServers) return unfit("they are too many");
  }
  if (numbers.count(own) == 0) return unfit("this server is none of them");
  Meeting meeting{0, run_of(all), all.front().credential, {}};
  for (Offer& each : all) {
    each.card.rank = meeting.size();
    if (each.number == own) meeting.self = each.card.rank;
    meeting.cards.push_back(std::move(each.card));
  }
  return meeting;
}

}  // namespace leat::comm
