// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/analytics/other_servers.hpp"

#include <algorithm>
#include <bitset>
#include <stdexcept>

namespace leat::analytics {
namespace {

constexpr std::size_t kArcs = 256;  // parts of a periodic axis, each of which has particles or none
constexpr double kRounding = 1e-6;  // of a length: more than rounding makes of it

struct Arc {
  double low, high;
};

// The shortest one in a period that has all particles, and a bit more.
Arc arc_of(const Point* first, const Point* last, std::size_t axis, double length) {
  std::bitset<kArcs> taken;
  for (const Point* point = first; point != last; ++point) {
    const double turns = (*point)[axis] / length, place = turns - std::floor(turns);
    taken.set(std::min(kArcs - 1, static_cast<std::size_t>(place * kArcs)));
  }
  std::size_t gap = 0, gap_end = 0, empty = 0;
  for (std::size_t at = 0; at < 2 * kArcs && gap < kArcs; ++at) {
    empty = taken.test(at % kArcs) ? 0 : empty + 1;
    if (empty > gap) gap = empty, gap_end = at + 1;
  }
  const double step = length / kArcs, low = static_cast<double>(gap_end % kArcs) * step;
  return {low - kRounding * length,
          low + static_cast<double>(kArcs - gap) * step + kRounding * length};
}

Place place_of(const Cloud& cloud, const Part& part, const Box& box) {
  Place place{part.rank, part.block, part.count, {}, {}};
  if (part.count == 0) return place;
  const Point* const first = cloud.points.data() + part.first;
  const Point* const last = first + part.count;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (box.lengths[axis] > 0) {
      const Arc arc = arc_of(first, last, axis, box.lengths[axis]);
      place.low[axis] = arc.low;
      place.high[axis] = arc.high;
      continue;
    }
    const auto less = [axis](const Point& a, const Point& b) { return a[axis] < b[axis]; };
    const auto [low, high] = std::minmax_element(first, last, less);
    place.low[axis] = (*low)[axis];
    place.high[axis] = (*high)[axis];
  }
  return place;
}

// Whether a part of one may be within the reach of a part of the other.
bool are_near(const Place& a, const Place& b, const Box& box, double reach) {
  double square = 0;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    double apart = std::max(a.low[axis] - b.high[axis], b.low[axis] - a.high[axis]);
    if (box.lengths[axis] > 0) {
      const double middles = (a.low[axis] + a.high[axis]) / 2 - (b.low[axis] + b.high[axis]) / 2;
      const double halves = (a.high[axis] - a.low[axis]) / 2 + (b.high[axis] - b.low[axis]) / 2;
      apart = std::fabs(box.shortest(middles, static_cast<int>(axis))) - halves;
    }
    if (apart > 0) square += apart * apart;
  }
  const double most = reach * (1 + kRounding);
  return square <= most * most;
}

}  // namespace

void expect_that_it_can_reduce(Scope scope, const Host& host) {
  if (scope == Scope::run && !host.can_reduce())
    throw std::runtime_error(
        "it goes over all servers of the run, which it cannot in a process of its own: leave out "
        "runs=\"...\", or write <option name=\"scope\" value=\"node\"/>");
}

std::string too_many_to_send(std::int64_t left_out, const std::string& product,
                             const std::string& option) {
  return std::to_string(left_out) + " particles are as near to those of other servers as " +
         option + " says, and more than the " + std::to_string(kMostSent >> 20) +
         " MiB that servers send each other in an iteration: pairs with them are missing in " +
         product + ". Make " + option +
         " smaller, or write <option name=\"scope\" value=\"node\"/>";
}

Told told_of(const Cloud& cloud, const Box& box, bool is_later) {
  Told told{cloud.variable ? static_cast<std::uint32_t>(cloud.axes) : 0, is_later ? 1U : 0U, {}};
  for (const Part& part : cloud.parts) told.places.push_back(place_of(cloud, part, box));
  return told;
}

std::string Company::bytes_of(const Told& told) {
  std::string bytes;
  put(told.axes, &bytes);
  put(told.is_later, &bytes);
  for (const Place& place : told.places) put(place, &bytes);
  return bytes;
}

Company::Company(const Reduced& all) : self_(all.server()), servers_(all.servers()) {
  std::uint32_t axes = 0;
  for (int server = 0; server < servers_; ++server) {
    std::optional<std::string_view> bytes = all.gathered(0, server);
    if (!bytes) continue;
    Told told{take<std::uint32_t>(&*bytes), take<std::uint32_t>(&*bytes), {}};
    while (!bytes->empty()) told.places.push_back(take<Place>(&*bytes));
    if (axes != 0 && told.axes != 0 && axes != told.axes)
      throw std::runtime_error("the particles of some servers of the run have 2 axes, of others 3");
    axes = std::max(axes, told.axes);
    told_.emplace(server, std::move(told));
  }
}

bool Company::remain(const Reduced& all, std::size_t column) {
  const auto is_gone = [&](const auto& each) {
    const std::optional<std::string_view> said = all.gathered(column, each.first);
    return !said || said->empty();
  };
  return std::erase_if(told_, is_gone) == 0;
}

bool Company::publishes() const {
  const auto knows = [](const auto& each) { return each.second.axes > 0; };
  const auto first = std::find_if(told_.begin(), told_.end(), knows);
  return first != told_.end() && first->first == self_;
}

std::int64_t Company::particles() const {
  std::int64_t all = 0;
  for (const auto& [server, told] : told_)
    for (const Place& place : told.places) all += place.count;
  return all;
}

double Company::volume(const Box& box, std::size_t axes) const {
  std::optional<Place> whole;
  for (const auto& [server, told] : told_) {
    for (const Place& place : told.places) {
      if (place.count == 0) continue;
      if (!whole) whole = place;
      for (std::size_t axis = 0; axis < 3; ++axis) {
        whole->low[axis] = std::min(whole->low[axis], place.low[axis]);
        whole->high[axis] = std::max(whole->high[axis], place.high[axis]);
      }
    }
  }
  double volume = whole ? 1 : 0;
  for (std::size_t axis = 0; whole && axis < axes; ++axis)
    volume *= box.lengths[axis] > 0 ? box.lengths[axis] : whole->high[axis] - whole->low[axis];
  return volume;
}

std::vector<std::size_t> near_others(const Cloud& cloud, const Box& box, double reach,
                                     const Company& company, bool of_all) {
  std::vector<std::size_t> those;
  for (const Part& part : cloud.parts) {
    if (part.count == 0) continue;
    const Place own = place_of(cloud, part, box);
    std::vector<const Place*> near;
    for (const auto& [server, told] : company.told()) {
      if (server == company.self() || (server > company.self() && !of_all)) continue;
      for (const Place& place : told.places)
        if (place.count > 0 && are_near(own, place, box, reach)) near.push_back(&place);
    }
    for (std::int64_t i = part.first; i < part.first + part.count; ++i) {
      const Point& point = cloud.points[static_cast<std::size_t>(i)];
      const Place alone{0, 0, 1, point, point};
      const auto is_near = [&](const Place* place) { return are_near(alone, *place, box, reach); };
      if (std::any_of(near.begin(), near.end(), is_near))
        those.push_back(static_cast<std::size_t>(i));
    }
  }
  return those;
}

std::string bytes_of_sent(const Cloud& cloud, const std::vector<std::size_t>& those,
                          const std::vector<std::int64_t>* numbers, const Company& company) {
  const std::size_t each = cloud.axes * sizeof(double) + (numbers ? sizeof(std::int64_t) : 0);
  const bool is_too_much = those.size() * each > company.share();
  std::string bytes;
  put(static_cast<std::int64_t>(is_too_much ? those.size() : 0), &bytes);
  for (const std::size_t i : is_too_much ? std::vector<std::size_t>() : those) {
    for (std::size_t axis = 0; axis < cloud.axes; ++axis) put(cloud.points[i][axis], &bytes);
    if (numbers) put((*numbers)[i], &bytes);
  }
  return bytes;
}

Sent sent_in(std::string_view bytes, std::size_t axes, bool has_numbers) {
  Sent sent;
  sent.left_out = take<std::int64_t>(&bytes);
  while (axes > 0 && !bytes.empty()) {
    Point point{};
    for (std::size_t axis = 0; axis < axes; ++axis) point[axis] = take<double>(&bytes);
    sent.points.push_back(point);
    if (has_numbers) sent.numbers.push_back(take<std::int64_t>(&bytes));
  }
  return sent;
}

}  // namespace leat::analytics
