// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/view/sub_arrays.hpp"

#include "server/plugins/hdf5/conventions/stored_tables.hpp"

#include <algorithm>
#include <map>
#include <set>

namespace leat::hdf5 {
namespace {

// Rows of a box in the view: [first, last].
hsize_t last_row(const Box& box) { return box.to[0] + (box.count[0] - 1) * box.row_step; }

bool overlap(const Box& a, const Box& b) {
  if (last_row(a) < b.to[0] || last_row(b) < a.to[0]) return false;
  for (std::size_t d = 1; d < a.to.size(); ++d) {
    if (a.to[d] + a.count[d] <= b.to[d] || b.to[d] + b.count[d] <= a.to[d]) return false;
  }
  return true;
}

// What of [low, low + count) of dimension d is left; `shift`: how far it begins behind the box.
Box cut(Box box, std::size_t d, hsize_t shift, hsize_t count) {
  box.from[d] += shift;
  box.to[d] += shift;
  box.count[d] = count;
  return box;
}

// `box` without what `over` covers; rows of both follow each other.
void subtract(Box box, const Box& over, std::vector<Box>* left) {
  if (!overlap(box, over)) return left->push_back(std::move(box));
  for (std::size_t d = 0; d < box.to.size(); ++d) {
    const hsize_t begin = std::max(box.to[d], over.to[d]);
    const hsize_t end = std::min(box.to[d] + box.count[d], over.to[d] + over.count[d]);
    const hsize_t box_end = box.to[d] + box.count[d];
    if (begin > box.to[d]) left->push_back(cut(box, d, 0, begin - box.to[d]));
    if (end < box_end) left->push_back(cut(box, d, end - box.to[d], box_end - end));
    box = cut(box, d, begin - box.to[d], end - begin);
  }
}

std::size_t best_dimension(const std::vector<Box>& boxes) {
  std::size_t best = 0, most = 0;
  for (std::size_t d = 0; d < boxes.front().to.size(); ++d) {
    std::set<hsize_t> starts;
    for (const Box& box : boxes) starts.insert(box.to[d]);
    if (starts.size() > most) best = d, most = starts.size();
  }
  return best;
}

hsize_t end_in(const Box& box, std::size_t d) {
  return d == 0 ? last_row(box) + 1 : box.to[d] + box.count[d];
}

// Pairs of boxes that overlap: for each box those that go before it.
std::map<std::size_t, std::vector<std::size_t>> overlaps(const std::vector<Box>& boxes) {
  std::map<std::size_t, std::vector<std::size_t>> over;
  if (boxes.empty()) return over;
  const std::size_t d = best_dimension(boxes);
  std::vector<std::size_t> order(boxes.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return boxes[a].to[d] < boxes[b].to[d]; });
  for (std::size_t i = 0; i < order.size(); ++i) {
    const Box& a = boxes[order[i]];
    for (std::size_t j = i + 1; j < order.size() && boxes[order[j]].to[d] < end_in(a, d); ++j) {
      const Box& b = boxes[order[j]];
      if (!overlap(a, b)) continue;
      const bool b_wins = std::pair(a.rank, a.block) < std::pair(b.rank, b.block);
      over[order[b_wins ? i : j]].push_back(order[b_wins ? j : i]);
    }
  }
  return over;
}

// Boxes whose rows do not follow each other, row by row.
std::vector<Box> with_rows_in_line(const std::vector<Box>& boxes) {
  std::vector<Box> all;
  for (const Box& box : boxes) {
    const hsize_t pieces = box.row_step == 1 ? 1 : box.count[0];
    for (hsize_t i = 0; i < pieces; ++i) {
      all.push_back(box);
      if (pieces == 1) continue;
      all.back().from[0] += i;
      all.back().to[0] += i * box.row_step;
      all.back().count[0] = all.back().row_step = 1;
    }
  }
  return all;
}

}  // namespace

bool remove_overlaps(std::vector<Box>* boxes) {
  if (overlaps(*boxes).empty()) return false;
  const std::vector<Box> all = with_rows_in_line(*boxes);
  const auto over = overlaps(all);
  boxes->clear();
  for (std::size_t i = 0; i < all.size(); ++i) {
    std::vector<Box> left{all[i]};
    if (const auto found = over.find(i); found != over.end()) {
      for (const std::size_t winner : found->second) {
        std::vector<Box> next;
        for (Box& box : left) subtract(std::move(box), all[winner], &next);
        left = std::move(next);
      }
    }
    boxes->insert(boxes->end(), left.begin(), left.end());
  }
  return true;
}

std::vector<SubArrayRows> sub_arrays_of(hid_t file, const std::string& table, std::size_t dims,
                                        bool constant, hsize_t rows) {
  Shape extents;
  const std::vector<std::int64_t> all = integers_of(file, table, &extents);
  const std::size_t width = numbers_of_sub_array(dims);
  if (extents.size() != 2 || extents[1] != width)
    throw std::runtime_error("the table " + table + " is none of a part");
  if (constant) rows = 1;
  std::map<std::pair<std::int64_t, std::int64_t>, std::vector<SubArrayRows>> by_block;
  for (std::size_t i = 0; i < extents[0]; ++i) {
    const SubArray sub_array = sub_array_of_record(&all[i * width], dims);
    const auto from = static_cast<hsize_t>(sub_array.row);
    std::vector<SubArrayRows>& said = by_block[{sub_array.rank, sub_array.block}];
    // A server that has died may have said something of rows that were then written anew.
    while (!said.empty() && said.back().from >= from) said.pop_back();
    if (!said.empty()) said.back().upto = std::min(said.back().upto, from);
    if (from < rows) said.push_back({sub_array, from, rows});
  }
  std::vector<SubArrayRows> sub_arrays;
  for (auto& [block, said] : by_block)
    sub_arrays.insert(sub_arrays.end(), said.begin(), said.end());
  return sub_arrays;
}

}  // namespace leat::hdf5
