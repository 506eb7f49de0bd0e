// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/analytics/numbered_pairs.hpp"

#include <algorithm>
#include <stdexcept>

namespace leat::analytics {
namespace {

// A number of a particle that has none: its rank, and its place there.
constexpr int kPlaceBits = 40;

std::vector<std::int64_t> numbers_by_rank(const Cloud& cloud) {
  std::map<std::int64_t, std::int64_t> next;  // by rank
  std::vector<std::int64_t> numbers;
  for (const Part& part : cloud.parts)
    for (std::int64_t i = 0; i < part.count; ++i)
      numbers.push_back((part.rank << kPlaceBits) + next[part.rank]++);
  return numbers;
}

std::vector<std::int64_t> numbers_in(const leat_run& run, const leat_iteration_data& data,
                                     const std::string& ids) {
  std::vector<std::int64_t> numbers;
  for (const leat_block& block : Blocks(data)) {
    const leat_variable& variable = *leat_variable_at(&run, block.variable);
    if (ids != variable.name) continue;
    const Piece whole{&variable, &block, 0, element_count(variable, block)};
    for_each_run(whole, [&](const auto* values, std::uint64_t count) {
      for (std::uint64_t i = 0; i < count; ++i)
        numbers.push_back(static_cast<std::int64_t>(values[i]));
    });
  }
  return numbers;
}

template <class T>
void put_all(const std::vector<T>& values, std::string* bytes) {
  put(static_cast<std::uint64_t>(values.size()), bytes);
  for (const T& value : values) put(value, bytes);
}

template <class T>
std::vector<T> take_all(std::string_view* bytes) {
  std::vector<T> values;
  for (auto left = take<std::uint64_t>(bytes); left > 0; --left) values.push_back(take<T>(bytes));
  return values;
}

}  // namespace

void Found::add(Found&& more) {
  bonds += more.bonds;
  broken += more.broken;
  missing += more.missing;
  left_out += more.left_out;
  without_bonds += more.without_bonds;
  coordination.resize(std::max(coordination.size(), more.coordination.size()));
  for (std::size_t i = 0; i < more.coordination.size(); ++i)
    coordination[i] += more.coordination[i];
  pairs.insert(pairs.end(), more.pairs.begin(), more.pairs.end());
}

std::string bytes_of(Found found, const Company& company) {
  if (found.pairs.size() * sizeof(Pair) > company.share()) {
    found.left_out += static_cast<std::int64_t>(found.pairs.size());
    found.pairs.clear();
  }
  std::string bytes;
  for (const std::int64_t each :
       {found.bonds, found.broken, found.missing, found.left_out, found.without_bonds})
    put(each, &bytes);
  put_all(found.coordination, &bytes);
  put_all(found.pairs, &bytes);
  return bytes;
}

Found found_in(std::string_view bytes) {
  Found found;
  for (std::int64_t* each :
       {&found.bonds, &found.broken, &found.missing, &found.left_out, &found.without_bonds})
    *each = take<std::int64_t>(&bytes);
  found.coordination = take_all<std::int64_t>(&bytes);
  found.pairs = take_all<Pair>(&bytes);
  return found;
}

PlacesAmongAll::PlacesAmongAll(const Company& company) {
  std::map<std::int64_t, std::int64_t> counts;  // by rank
  for (const auto& [server, told] : company.told())
    for (const Place& place : told.places) counts[place.rank] += place.count;
  std::int64_t first = 0;
  for (const auto& [rank, count] : counts) {
    first_[rank] = first;
    first += count;
  }
}

std::int64_t PlacesAmongAll::of(std::int64_t number) const {
  const std::int64_t rank = number >> kPlaceBits;
  const auto first = first_.find(rank);
  return (first == first_.end() ? 0 : first->second) + number - (rank << kPlaceBits);
}

void NumberedPairs::number(const leat_run& run, const leat_iteration_data& data,
                           const std::string& ids) {
  numbers_ = ids.empty() ? numbers_by_rank(cloud_) : numbers_in(run, data, ids);
  const std::size_t count = cloud_.points.size();
  if (numbers_.size() != count)
    throw std::runtime_error("there are " + std::to_string(count) + " particles, and " +
                             std::to_string(numbers_.size()) + " numbers of them in " + ids);
  for (std::size_t i = 0; i < count; ++i) {
    if (!places_.emplace(numbers_[i], i).second)
      throw std::runtime_error("two particles have the number " + std::to_string(numbers_[i]) +
                               " in " + ids);
  }
}

void NumberedPairs::add_sent(int server, int self, Sent sent, const CellList& cells) {
  self_ = self;
  if (server == self) {
    left_out_ += sent.left_out;
    return;
  }
  Others& others = others_[server];
  for (std::size_t k = 0; k < sent.points.size(); ++k) {
    cells.for_each_near(sent.points[k], [&](std::size_t i, double) {
      others.near.emplace_back(i, sent.numbers[k]);
    });
    if (places_.count(sent.numbers[k]) > 0)
      throw std::runtime_error("two particles have the number " + std::to_string(sent.numbers[k]) +
                               ", on two servers of the run");
    others.points.emplace(sent.numbers[k], sent.points[k]);
  }
}

std::vector<Pair> NumberedPairs::pairs(const Company& company) const {
  std::vector<Pair> all = own_;
  for (const auto& [server, others] : others_) {
    if (server < self_ || !company.has(server)) continue;
    for (const auto& [place, number] : others.near) all.push_back(sorted(numbers_[place], number));
  }
  std::sort(all.begin(), all.end());
  return all;
}

const Point* NumberedPairs::point_of(std::int64_t number, const Company& company) const {
  const auto own = places_.find(number);
  if (own != places_.end()) return &cloud_.points[own->second];
  for (const auto& [server, others] : others_) {
    const auto found = others.points.find(number);
    if (found != others.points.end() && company.has(server)) return &found->second;
  }
  return nullptr;
}

std::string NumberedPairs::bytes_of_wanted(const std::vector<Pair>& bonds, const Company& company) {
  std::vector<std::int64_t> wanted;
  for (const Pair& bond : bonds)
    for (const std::int64_t number : bond)
      if (!point_of(number, company)) wanted.push_back(number);
  std::sort(wanted.begin(), wanted.end());
  wanted.erase(std::unique(wanted.begin(), wanted.end()), wanted.end());
  // The answer has four times as many bytes, and others may have all of them.
  if (wanted.size() * (sizeof(std::int64_t) + sizeof(Point)) > company.share()) {
    left_out_ += static_cast<std::int64_t>(wanted.size());
    wanted.clear();
  }
  std::string bytes;
  put_all(wanted, &bytes);
  return bytes;
}

bool NumberedPairs::is_nothing_wanted(const Reduced& asked, const Company& company) {
  return std::all_of(company.told().begin(), company.told().end(), [&](const auto& each) {
    std::string_view bytes = *asked.gathered(0, each.first);
    return take<std::uint64_t>(&bytes) == 0;
  });
}

std::string NumberedPairs::bytes_of_answers(const Reduced& asked, const Company& company) {
  std::vector<std::size_t> those;
  for (const auto& [server, told] : company.told()) {
    std::string_view bytes = *asked.gathered(0, server);
    for (const std::int64_t number : take_all<std::int64_t>(&bytes)) {
      const auto own = places_.find(number);
      if (own != places_.end()) those.push_back(own->second);
    }
  }
  std::sort(those.begin(), those.end());
  those.erase(std::unique(those.begin(), those.end()), those.end());
  return bytes_of_sent(cloud_, those, &numbers_, company);
}

void NumberedPairs::add_answers(const Reduced& all, const Company& company) {
  for (const auto& [server, told] : company.told()) {
    const Sent sent = sent_in(*all.gathered(0, server), told.axes, true);
    if (server == company.self()) left_out_ += sent.left_out;
    if (server == company.self()) continue;
    Others& others = others_[server];
    for (std::size_t k = 0; k < sent.points.size(); ++k)
      others.points.emplace(sent.numbers[k], sent.points[k]);
  }
}

std::vector<std::int64_t> NumberedPairs::coordination(const Company& company) const {
  std::vector<std::size_t> neighbours(numbers_.size());
  for (const Pair& pair : own_)
    for (const std::int64_t number : pair) ++neighbours[places_.at(number)];
  for (const auto& [server, others] : others_)
    for (const auto& [place, number] : others.near)
      if (company.has(server)) ++neighbours[place];
  std::vector<std::int64_t> coordination;
  for (const std::size_t count : neighbours) {
    if (count >= coordination.size()) coordination.resize(count + 1);
    ++coordination[count];
  }
  return coordination;
}

Found NumberedPairs::found(const std::vector<Pair>& bonds, const Box& box, double longest,
                           const Company& company) const {
  Found found;
  found.bonds = static_cast<std::int64_t>(bonds.size());
  found.left_out = left_out_;
  for (const Pair& bond : bonds) {
    const Point* const a = point_of(bond[0], company);
    const Point* const b = point_of(bond[1], company);
    if (!a || !b)
      ++found.missing;
    else if (box.square(*a, *b) > longest * longest)
      ++found.broken;
  }
  found.coordination = coordination(company);
  found.pairs = pairs(company);
  return found;
}

}  // namespace leat::analytics
