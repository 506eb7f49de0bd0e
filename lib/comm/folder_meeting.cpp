// SPDX-License-Identifier: Apache-2.0
// A card is the numbers of those that its server takes for the first, and its offer.
#include "lib/comm/folder_meeting.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>

#include "lib/comm/secret_folder.hpp"
#include "lib/os/process.hpp"

namespace leat::comm {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kCardMark = "leat-card-1\n", kOffersMark = "leat-offers-1\n";
constexpr const char *kCard = ".card", *kOffers = ".offers";
constexpr auto kKeepMeetingFor = std::chrono::hours(24);

std::string offers_name(std::uint64_t number) {
  char text[40];
  std::snprintf(text, sizeof text, "%016" PRIx64 "%s", number, kOffers);
  return text;
}

std::string as_bytes(std::uint64_t number) {
  return {reinterpret_cast<const char*>(&number), sizeof number};
}

bool has_number(std::string_view list, std::uint64_t number) {
  for (; list.size() >= sizeof number; list.remove_prefix(sizeof number))
    if (std::memcmp(list.data(), &number, sizeof number) == 0) return true;
  return false;
}

}  // namespace

std::string FolderMeeting::name_of(const Name& name) {
  char text[80];
  std::snprintf(text, sizeof text, "%" PRId32 "-%" PRId32 "-%016" PRIx64 "%s", name.first_rank,
                name.ranks, name.number, kCard);
  return text;
}

std::set<FolderMeeting::Name> FolderMeeting::look(int folder) const {
  std::set<Name> all;
  const int again = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(again < 0 ? nullptr : fdopendir(again),
                                                    closedir);
  while (const dirent* const entry = entries ? readdir(entries.get()) : nullptr) {
    Name name;
    if (std::sscanf(entry->d_name, "%" SCNd32 "-%" SCNd32 "-%16" SCNx64, &name.first_rank,
                    &name.ranks, &name.number) == 3 &&
        entry->d_name == name_of(name) && name.first_rank >= 0 && name.ranks > 0)
      all.insert(name);
  }
  return all;
}

void FolderMeeting::poll() {
  if (!offers_.empty()) return;
  const os::UniqueFd folder = open_secret_folder(settings_.folder, &why_waiting_);
  if (!folder) return;
  const std::set<Name> all = look(folder.get());
  if (!write_own(folder.get(), all)) return;
  settings_.first_rank == 0 ? await_all(folder.get(), all) : await_first(folder.get(), all);
}

// Again when somebody has removed it, or another server says that it is the first one.
bool FolderMeeting::write_own(int folder, const std::set<Name>& all) {
  std::string firsts;
  std::uint16_t count = 0;
  for (const Name& each : all) {
    if (each.first_rank != 0 || settings_.first_rank == 0 || count == UINT16_MAX) continue;
    firsts += as_bytes(each.number);
    ++count;
  }
  std::string card(reinterpret_cast<const char*>(&count), sizeof count);
  card += firsts;
  card.append(reinterpret_cast<const char*>(&settings_.all_ranks), sizeof settings_.all_ranks);
  card += bytes_of(settings_.own, false);
  if (card == written_ && all.contains(own_name())) return true;
  const std::string why = write_secret(folder, name_of(own_name()), kCardMark, card);
  written_ = why.empty() ? card : "";
  if (!why.empty()) why_waiting_ = why + ", in " + settings_.folder;
  return why.empty();
}

// Its card is of a run of as many ranks, and takes this server for the first one.
bool FolderMeeting::names_this(int folder, const Name& name, Offer* offer) const {
  const std::string card = read_secret(folder, name_of(name), kCardMark);
  std::uint16_t count = 0;
  std::int32_t all_ranks = 0;
  if (card.size() < sizeof count) return false;
  std::memcpy(&count, card.data(), sizeof count);
  const std::size_t list = sizeof(std::uint64_t) * count, head = sizeof count + list;
  if (card.size() < head + sizeof all_ranks) return false;
  std::memcpy(&all_ranks, card.data() + head, sizeof all_ranks);
  std::string_view rest = std::string_view(card).substr(head + sizeof all_ranks);
  std::optional<Offer> found = take_offer(&rest);
  if (!found || !rest.empty() || found->number != name.number) return false;
  *offer = std::move(*found);
  return all_ranks == settings_.all_ranks &&
         has_number(std::string_view(card).substr(sizeof count, list), settings_.own.number);
}

// Of the server that has rank 0.
void FolderMeeting::await_all(int folder, const std::set<Name>& all) {
  std::map<std::int32_t, Offer> met{{0, settings_.own}};
  std::int64_t ranks = settings_.ranks;
  for (const Name& each : all) {
    Offer offer;
    if (each.first_rank == 0 || !names_this(folder, each, &offer)) continue;
    if (!met.emplace(each.first_rank, std::move(offer)).second) {
      why_waiting_ = "two servers say in " + settings_.folder + " that rank " +
                     std::to_string(each.first_rank) +
                     " is theirs: two runs of one session; give them different LEAT_SESSION names";
      return;
    }
    ranks += each.ranks;
  }
  if (ranks != settings_.all_ranks) return wait_for(ranks);
  write_offers(folder, met);
}

// What others have left here before is of no use any more.
void FolderMeeting::write_offers(int folder, const std::map<std::int32_t, Offer>& met) {
  std::string offers;
  std::set<std::uint64_t> numbers;
  for (const auto& [first_rank, offer] : met) {
    offers += bytes_of(offer, first_rank == 0);
    numbers.insert(offer.number);
  }
  const std::string why =
      write_secret(folder, offers_name(settings_.own.number), kOffersMark, offers);
  if (!why.empty()) {
    why_waiting_ = why + ", in " + settings_.folder;
    return;
  }
  offers_ = std::move(offers);
  why_waiting_.clear();
  for (const Name& each : look(folder)) {
    if (numbers.contains(each.number)) continue;
    unlinkat(folder, name_of(each).c_str(), 0);
    unlinkat(folder, offers_name(each.number).c_str(), 0);
  }
}

// Of all others.
void FolderMeeting::await_first(int folder, const std::set<Name>& all) {
  std::map<std::int32_t, std::int32_t> ranks;
  for (const Name& each : all) {
    ranks[each.first_rank] = each.ranks;
    if (each.first_rank != 0) continue;
    std::string offers = read_secret(folder, offers_name(each.number), kOffersMark);
    if (offers.empty() || !meeting_of(offers, settings_.own.number)) continue;
    offers_ = std::move(offers);
    why_waiting_.clear();
    return;
  }
  std::int64_t sum = 0;
  for (const auto& [first_rank, count] : ranks) sum += count;
  wait_for(std::min<std::int64_t>(sum, settings_.all_ranks));
}

void FolderMeeting::wait_for(std::int64_t ranks) {
  why_waiting_ = "of the " + std::to_string(settings_.all_ranks) +
                 " ranks of the run servers of only " + std::to_string(ranks) + " have met in " +
                 settings_.folder + "; all nodes have to share that folder";
  if (ranks == settings_.all_ranks)
    why_waiting_ = "the server of rank 0 has not read what the others wrote in " + settings_.folder;
}

std::string FolderMeeting::parent() const {
  return fs::path(settings_.folder).parent_path().string();
}

void FolderMeeting::leave() {
  const os::UniqueFd folder(
      open(settings_.folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!folder) return;
  for (const Name& each : look(folder.get()))
    if (each.number == settings_.own.number) unlinkat(folder.get(), name_of(each).c_str(), 0);
  const std::string offers = offers_name(settings_.own.number);
  unlinkat(folder.get(), offers.c_str(), 0);
  unlinkat(folder.get(), ("." + offers + ".part").c_str(), 0);  // of one that was killed in it
  rmdir(settings_.folder.c_str());                              // the last one does
  rmdir(parent().c_str());
}

// ---- what earlier runs have left ----

namespace {

// The newest file in it counts.
bool is_old_meeting(const fs::path& folder) {
  std::error_code error;
  const auto is_new = [&](const fs::path& path) {
    return fs::last_write_time(path, error) > fs::file_time_type::clock::now() - kKeepMeetingFor;
  };
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    if (is_new(entry->path())) return false;
  }
  return !error && !is_new(folder) && !error;
}

}  // namespace

std::string folder_of_meeting(const std::string& folder, const std::string& simulation,
                              const std::string& session) {
  return (fs::absolute(folder).lexically_normal() / (simulation + ".group") / session).string();
}

void remove_old_meetings(const std::string& folder) {
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    std::error_code other;
    const bool is_folder = fs::is_directory(entry->symlink_status(other));
    if (is_folder && is_old_meeting(entry->path())) fs::remove_all(entry->path(), other);
  }
}

}  // namespace leat::comm
