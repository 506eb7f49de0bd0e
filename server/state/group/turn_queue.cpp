// SPDX-License-Identifier: Apache-2.0
#include "server/state/group/turn_queue.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <sstream>

namespace leat::server {

std::string text_of(const std::vector<TurnWish>& wishes) {
  std::string text;
  for (const TurnWish& each : wishes)
    text += std::to_string(each.store) + ' ' + std::to_string(each.number) + ' ' +
            std::to_string(each.file) + '\n';
  return text;
}

std::optional<std::vector<TurnWish>> wishes_in(const std::string& text) {
  std::vector<TurnWish> wishes;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    TurnWish wish;
    std::istringstream words(line);
    if (!(words >> wish.store >> wish.number >> wish.file)) return std::nullopt;
    wishes.push_back(wish);
  }
  return wishes;
}

void TurnQueue::says(comm::Rank server, const std::vector<TurnWish>& wishes) {
  for (Entry& each : entries_) {
    if (each.server == server && std::count(wishes.begin(), wishes.end(), each.wish) == 0)
      each.is_over = true;
  }
  for (const TurnWish& wish : wishes) {
    if (wish.store < most_.size() && !has(server, wish)) entries_.push_back({server, wish});
  }
}

// A server that is gone took no time that says anything of the others.
void TurnQueue::note_over(const Entry& entry, std::int64_t now_ns) {
  if (entry.since_ns == 0 || entry.is_gone) return;
  usual_ns_.resize(most_.size(), 0);
  std::int64_t& usual = usual_ns_[entry.wish.store];
  const std::int64_t taken = now_ns - entry.since_ns;
  usual = usual == 0 ? taken : usual - usual / 4 + taken / 4;
}

void TurnQueue::look(const comm::RankSet& gone, std::int64_t now_ns) {
  for (Entry& each : entries_) {
    each.is_gone = gone.has(each.server);
    if (each.is_over) note_over(each, now_ns);
  }
  std::erase_if(entries_, [](const Entry& each) { return each.is_over; });
  std::map<std::uint32_t, std::int64_t> writing;
  std::set<std::pair<std::uint32_t, std::int32_t>> busy;
  for (Entry& each : entries_) {
    const auto [store, number, file] = each.wish;
    const bool is_full = most_[store] > 0 && writing[store] >= most_[store];
    if (each.is_gone || is_full || (file >= 0 && busy.count({store, file}) > 0)) continue;
    if (each.since_ns == 0) each.since_ns = now_ns;
    ++writing[store];
    busy.insert({store, file});
  }
}

const TurnQueue::Entry* TurnQueue::find(comm::Rank server, const TurnWish& wish) const {
  const auto found = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& each) {
    return each.server == server && each.wish == wish && !each.is_over;
  });
  return found == entries_.end() ? nullptr : &*found;
}

bool TurnQueue::is_at_turn(comm::Rank server, const TurnWish& wish) const {
  const Entry* const entry = find(server, wish);
  return entry && entry->since_ns != 0;
}

std::optional<TurnQueue::Writer> TurnQueue::writer_of(std::uint32_t store,
                                                      std::int32_t file) const {
  for (const Entry& each : entries_) {
    if (each.wish.store == store && each.wish.file == file && each.since_ns != 0 && !each.is_gone)
      return Writer{each.server, each.since_ns};
  }
  return std::nullopt;
}

bool TurnQueue::is_next(comm::Rank server, const TurnWish& wish) const {
  for (const Entry& each : entries_) {
    if (each.server == server && each.wish == wish) return each.since_ns == 0;
    if (each.wish.store == wish.store && each.wish.file == wish.file && each.since_ns == 0 &&
        !each.is_gone)
      return false;
  }
  return false;
}

std::optional<std::int32_t> TurnQueue::idle_file(std::uint32_t store, std::int32_t files) const {
  for (std::int32_t file = 0; file < files; ++file) {
    const bool is_wanted = std::any_of(entries_.begin(), entries_.end(), [&](const Entry& each) {
      return each.wish.store == store && each.wish.file == file && !each.is_gone;
    });
    if (!is_wanted) return file;
  }
  return std::nullopt;
}

std::int64_t TurnQueue::usual_ns(std::uint32_t store) const {
  return store < usual_ns_.size() ? usual_ns_[store] : 0;
}

std::optional<comm::Rank> TurnQueue::before(comm::Rank server, const TurnWish& wish) const {
  for (const Entry& each : entries_) {
    if (each.server == server && each.wish == wish) break;
    if (each.wish.store == wish.store && !each.is_gone) return each.server;
  }
  return std::nullopt;
}

}  // namespace leat::server
