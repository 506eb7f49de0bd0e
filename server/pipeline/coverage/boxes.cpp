// SPDX-License-Identifier: Apache-2.0
#include "server/pipeline/coverage/boxes.hpp"

#include <algorithm>
#include <map>
#include <optional>

#include "server/state/run.hpp"

namespace leat::server {
namespace {

// Boxes looked at in all regions together, some tenths of a second: 100,000 that tile a grid fit.
constexpr std::size_t kMostLooks = std::size_t{16} << 20;

bool contains(const Box& outer, const Box& inner, unsigned dims) noexcept {
  for (unsigned d = 0; d < dims; ++d) {
    if (inner.low[d] < outer.low[d] || inner.high[d] > outer.high[d]) return false;
  }
  return true;
}

// Cuts the whole in two where boxes begin or end, until a part is in one box or in none.
class Search {
 public:
  explicit Search(unsigned dims) : dims_(dims) {}

  FreeCells run(const Box& whole, std::vector<Box> boxes) {
    look_into(whole, clipped(std::move(boxes), whole));
    join_neighbours();
    return std::move(found_);
  }

 private:
  struct Cut {
    unsigned dimension = 0;
    std::int64_t at = 0;
    std::size_t looks = SIZE_MAX;  // boxes of both sides
  };

  std::vector<Box> clipped(std::vector<Box> boxes, const Box& to) const {
    for (Box& box : boxes) box = common(box, to, dims_);
    std::erase_if(boxes, [this](const Box& box) { return is_empty(box, dims_); });
    return boxes;
  }

  void look_into(const Box& region, std::vector<Box> boxes) {
    if (is_empty(region, dims_) || !found_.known) return;
    looks_ += boxes.size() * dims_ + 1;
    if (looks_ > kMostLooks) found_.known = false;
    if (boxes.empty()) return note_free(region);
    const bool full = std::any_of(boxes.begin(), boxes.end(),
                                  [&](const Box& box) { return contains(box, region, dims_); });
    if (full) return;
    const Cut cut = best_cut(region, boxes);
    Box left = region, right = region;
    left.high[cut.dimension] = right.low[cut.dimension] = cut.at;
    look_into(left, clipped(boxes, left));
    look_into(right, clipped(std::move(boxes), right));
  }

  // There is one: no box is the whole region.
  Cut best_cut(const Box& region, const std::vector<Box>& boxes) const {
    Cut best;
    for (unsigned d = 0; d < dims_; ++d) {
      const std::optional<std::int64_t> at = middle_edge(region, boxes, d);
      if (!at) continue;
      std::size_t looks = 0;
      for (const Box& box : boxes) looks += (box.low[d] < *at) + (box.high[d] > *at);
      if (looks < best.looks) best = {d, *at, looks};
    }
    return best;
  }

  static std::optional<std::int64_t> middle_edge(const Box& region, const std::vector<Box>& boxes,
                                                 unsigned d) {
    std::vector<std::int64_t> edges;
    for (const Box& box : boxes) {
      if (box.low[d] > region.low[d]) edges.push_back(box.low[d]);
      if (box.high[d] < region.high[d]) edges.push_back(box.high[d]);
    }
    if (edges.empty()) return std::nullopt;
    const auto middle = edges.begin() + static_cast<std::ptrdiff_t>(edges.size() / 2);
    std::nth_element(edges.begin(), middle, edges.end());
    return *middle;
  }

  void note_free(const Box& region) {
    found_.cells += cells_of(region, dims_);
    if (found_.boxes.size() < kMostFreeBoxes) found_.boxes.push_back(region);
  }

  // A free box that was cut only because boxes beside it end there is one again.
  void join_neighbours() {
    std::vector<Box>& boxes = found_.boxes;
    for (bool joined = true; joined;) {
      joined = false;
      for (std::size_t i = 0; i < boxes.size(); ++i) {
        for (std::size_t j = i + 1; j < boxes.size() && !joined; ++j) {
          if (!join(&boxes[i], boxes[j])) continue;
          boxes.erase(boxes.begin() + static_cast<std::ptrdiff_t>(j));
          joined = true;
        }
      }
    }
    std::sort(boxes.begin(), boxes.end());
  }

  // When both differ in one dimension only, in which they touch.
  bool join(Box* a, const Box& b) const {
    std::optional<unsigned> along;
    for (unsigned d = 0; d < dims_; ++d) {
      if (a->low[d] == b.low[d] && a->high[d] == b.high[d]) continue;
      if (along || (a->high[d] != b.low[d] && b.high[d] != a->low[d])) return false;
      along = d;
    }
    if (!along) return false;
    a->low[*along] = std::min(a->low[*along], b.low[*along]);
    a->high[*along] = std::max(a->high[*along], b.high[*along]);
    return true;
  }

  unsigned dims_;
  std::size_t looks_ = 0;
  FreeCells found_;
};

}  // namespace

bool is_empty(const Box& box, unsigned dims) noexcept {
  for (unsigned d = 0; d < dims; ++d) {
    if (box.low[d] >= box.high[d]) return true;
  }
  return false;
}

Box common(const Box& a, const Box& b, unsigned dims) noexcept {
  Box both;
  for (unsigned d = 0; d < dims; ++d) {
    both.low[d] = std::max(a.low[d], b.low[d]);
    both.high[d] = std::min(a.high[d], b.high[d]);
  }
  return both;
}

double cells_of(const Box& box, unsigned dims) noexcept {
  double cells = 1;
  for (unsigned d = 0; d < dims; ++d) cells *= static_cast<double>(box.high[d] - box.low[d]);
  return cells;
}

FreeCells free_cells(const Box& whole, std::vector<Box> boxes, unsigned dims) {
  return Search(dims).run(whole, std::move(boxes));
}

std::vector<std::size_t> covered_boxes(const std::vector<Box>& boxes, unsigned dims) {
  std::vector<std::size_t> sorted, covered;
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    if (!is_empty(boxes[i], dims)) sorted.push_back(i);
  }
  std::sort(sorted.begin(), sorted.end(), [&](std::size_t a, std::size_t b) {
    return boxes[a].low != boxes[b].low ? boxes[a].low < boxes[b].low : a < b;
  });
  std::int64_t longest =
      0;  // along the first dimension: those that begin farther away reach no box
  for (const std::size_t i : sorted)
    longest = std::max(longest, dims == 0 ? 1 : boxes[i].high[0] - boxes[i].low[0]);
  for (auto one = sorted.begin(); one != sorted.end(); ++one) {
    const Box& box = boxes[*one];
    std::vector<Box> above;
    double cells = 0;
    const auto take = [&](std::size_t other) {
      const Box both = common(box, boxes[other], dims);
      if (other <= *one || is_empty(both, dims)) return;
      cells += cells_of(both, dims);
      above.push_back(both);
    };
    for (auto each = one; each-- != sorted.begin();) {
      if (dims > 0 && boxes[*each].low[0] + longest <= box.low[0]) break;
      take(*each);
    }
    for (auto each = std::next(one); each != sorted.end(); ++each) {
      if (dims > 0 && boxes[*each].low[0] >= box.high[0]) break;
      take(*each);
    }
    if (cells < cells_of(box, dims)) continue;
    const FreeCells free = free_cells(box, std::move(above), dims);
    if (free.known && free.boxes.empty()) covered.push_back(*one);
  }
  std::sort(covered.begin(), covered.end());
  return covered;
}

namespace {

constexpr std::size_t kMostListed = 4;

std::string more(std::size_t count, const char* of_what) {
  if (count <= kMostListed) return "";
  return ", and " + std::to_string(count - kMostListed) + " more" + of_what;
}

}  // namespace

Box own_box(const model::Layout& layout, const Block& block) noexcept {
  Box box;
  for (std::size_t d = 0; d < layout.dimensions.size(); ++d) {
    const model::Dimension& dimension = layout.dimensions[d];
    const std::int64_t own = block.extent[d] - dimension.ghost_low - dimension.ghost_high;
    box.low[d] = block.position[d];
    box.high[d] = block.position[d] + std::max<std::int64_t>(own, 0);
  }
  return box;
}

Box whole_box(const model::Layout& layout, const Block& block) noexcept {
  Box box;
  std::copy_n(block.global.begin(), layout.dimensions.size(), box.high.begin());
  return box;
}

std::string text_of(const model::Layout& layout, const Box& box) {
  const bool fortran = layout.order == model::Order::fortran;
  const std::size_t dims = layout.dimensions.size();
  std::string text = "(";
  for (std::size_t i = 0; i < dims; ++i) {
    const std::size_t d = fortran ? dims - 1 - i : i;
    text += (i ? ", " : "") + layout.dimensions[d].name + "=" +
            std::to_string(box.low[d] + (fortran ? 1 : 0)) + ":" + std::to_string(box.high[d]);
  }
  return text + ")";
}

std::string text_of(const model::Layout& layout, const std::vector<Box>& boxes) {
  std::string text;
  for (std::size_t i = 0; i < boxes.size() && i < kMostListed; ++i)
    text += (i ? ", " : "") + text_of(layout, boxes[i]);
  return text + more(boxes.size(), "");
}

std::string text_of_writers(const model::Layout& layout, const std::vector<Block>& blocks) {
  std::map<Box, Ranks> writers;
  for (const Block& block : blocks) {
    Ranks& ranks = writers[own_box(layout, block)];
    ranks = united(ranks, {{block.rank, block.rank}});
  }
  std::vector<std::pair<Ranks, Box>> by_rank;
  for (const auto& [box, ranks] : writers) by_rank.emplace_back(ranks, box);
  std::sort(by_rank.begin(), by_rank.end());
  std::string text;
  for (std::size_t i = 0; i < by_rank.size() && i < kMostListed; ++i) {
    const auto& [ranks, box] = by_rank[i];
    const bool one = ranks.size() == 1 && ranks[0].first == ranks[0].second;
    text += std::string(i ? ", " : "") + (one ? "rank " : "ranks ") + text_of(ranks) + " " +
            text_of(layout, box);
  }
  return text + more(by_rank.size(), "");
}

}  // namespace leat::server
