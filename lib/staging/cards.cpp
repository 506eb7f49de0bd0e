// SPDX-License-Identifier: Apache-2.0
#include "lib/staging/cards.hpp"

#include <unistd.h>

#include <filesystem>
#include <string_view>
#include <utility>

#include "lib/comm/secret_folder.hpp"
#include "lib/os/file_lock.hpp"

namespace leat::staging {
namespace {

constexpr std::string_view kMark = "leat-staging-1\n";

constexpr const char* kCard = ".card";

std::string name_of(std::int64_t number) { return std::to_string(number) + kCard; }

std::string lock_of(const std::string& folder, std::int64_t number) {
  return folder + "/" + std::to_string(number) + ".lock";
}

}  // namespace

std::string folder_of_cards(const std::string& simulation) { return simulation + ".staging"; }

std::string folder_of_hosts(const std::string& simulation) { return simulation + ".hosts"; }

std::optional<comm::Offer> card_named(const std::string& path, const std::string& name) {
  if (access(path.c_str(), F_OK) != 0) return std::nullopt;
  std::string why;
  const os::UniqueFd folder = comm::open_secret_folder(path, &why);
  if (!folder) return std::nullopt;
  const std::string text = comm::read_secret(folder.get(), name + kCard, kMark);
  std::string_view bytes = text;
  return comm::take_offer(&bytes);
}

std::string write_card(const std::string& path, const std::string& name, const comm::Offer& offer) {
  std::string why;
  const os::UniqueFd folder = comm::open_secret_folder(path, &why);
  return folder ? comm::write_secret(folder.get(), name + kCard, kMark, comm::bytes_of(offer, true))
                : why;
}

std::optional<comm::Offer> card_of(const std::string& folder, std::int64_t number) {
  return card_named(folder, std::to_string(number));
}

// A lock that is not there is not made: it would keep the folder.
bool has_ended(const std::string& folder, std::int64_t number) {
  return !os::try_lock(lock_of(folder, number)).held;
}

void remove_cards(const std::string& folder) {
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error))
    if (entry->path().extension() == kCard) ::unlink(entry->path().c_str());
}

bool OwnCard::is_gone() const {
  return access((folder_ + "/" + name_of(number_)).c_str(), F_OK) != 0;
}

OwnCard::OwnCard(std::string folder, std::int64_t number, os::UniqueFd lock)
    : folder_(std::move(folder)), number_(number), lock_(std::move(lock)) {}

Result<OwnCard> OwnCard::take(const std::string& folder, std::int64_t count, std::int64_t wanted) {
  std::string why;
  if (!comm::open_secret_folder(folder, &why)) return Error{Status::ERROR_SYSTEM, why};
  const std::int64_t first = wanted < 0 ? 0 : wanted, last = wanted < 0 ? count - 1 : wanted;
  for (std::int64_t number = first; number <= last; ++number) {
    os::UniqueFd lock = os::lock_file(lock_of(folder, number), 0);
    if (lock) return OwnCard(folder, number, std::move(lock));
  }
  if (wanted >= 0)
    return Error{Status::ERROR_STATE, "staging node " + std::to_string(wanted) +
                                          " of this simulation runs already, by its lock in " +
                                          folder};
  return Error{Status::ERROR_STATE, "all " + std::to_string(count) +
                                        " staging nodes of this simulation run already, by their "
                                        "locks in " +
                                        folder};
}

OwnCard::~OwnCard() {
  if (!lock_) return;
  ::unlink((folder_ + "/" + name_of(number_)).c_str());
  ::unlink(lock_of(folder_, number_).c_str());
  ::rmdir(folder_.c_str());  // when this was the last one
}

std::string OwnCard::publish(const comm::Offer& offer) const {
  return write_card(folder_, std::to_string(number_), offer);
}

}  // namespace leat::staging
