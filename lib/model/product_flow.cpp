// SPDX-License-Identifier: Apache-2.0
#include "lib/model/product_flow.hpp"

#include <fnmatch.h>

#include <algorithm>
#include <sstream>

namespace leat::model {
namespace {

// The product of `from` that `to` makes others of; "" for none.
std::string product_between(const ProductMaker& from, const ProductMaker& to) {
  if (from.source == to.source || to.makes.empty()) return "";
  const auto taken = std::find_if(
      from.makes.begin(), from.makes.end(),
      [&](const std::string& product) { return is_wanted(to.takes, from.source + "/" + product); });
  return taken == from.makes.end() ? "" : from.source + "/" + *taken;
}

class Search {
 public:
  explicit Search(const std::vector<ProductMaker>& makers)
      : makers_(makers), steps_(makers.size(), kUnseen) {}

  // False: there is a circle.
  bool visit(std::size_t maker) {
    if (steps_[maker] == kUnderWay) return note_circle(maker);
    if (steps_[maker] != kUnseen) return true;
    steps_[maker] = kUnderWay;
    path_.push_back(maker);
    int step = makers_[maker].makes.empty() ? 0 : 1;
    for (std::size_t other = 0; other < makers_.size(); ++other) {
      if (product_between(makers_[other], makers_[maker]).empty()) continue;
      if (!visit(other)) return false;
      step = std::max(step, steps_[other] + 1);
    }
    path_.pop_back();
    steps_[maker] = step;
    return true;
  }

  ProductFlow flow() && { return {std::move(steps_), {}}; }
  const std::string& circle() const noexcept { return circle_; }

 private:
  static constexpr int kUnseen = -2, kUnderWay = -1;

  // The path leads from takers to makers: products flow from its end to its beginning.
  bool note_circle(std::size_t first) {
    std::vector<std::size_t> round(std::find(path_.begin(), path_.end(), first), path_.end());
    round.push_back(first);
    for (std::size_t i = round.size() - 1; i > 0; --i)
      circle_ += product_between(makers_[round[i]], makers_[round[i - 1]]) + " -> ";
    circle_ += circle_.substr(0, circle_.find(" -> "));
    return false;
  }

  const std::vector<ProductMaker>& makers_;
  std::vector<int> steps_;
  std::vector<std::size_t> path_;
  std::string circle_;
};

}  // namespace

ProductMaker maker_of(const Store& store) { return {store.name, store.products, store.publishes}; }

std::vector<ProductMaker> makers_of(const Model& model) {
  std::vector<ProductMaker> makers;
  for (const Store& store : model.stores) makers.push_back(maker_of(store));
  return makers;
}

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(std::move(word));
  return words;
}

bool is_wanted(const std::vector<std::string>& patterns, const std::string& name) {
  return std::any_of(patterns.begin(), patterns.end(), [&](const std::string& pattern) {
    return ::fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
  });
}

std::string why_no_product_name(const std::string& name) {
  const bool has_odd = std::any_of(name.begin(), name.end(), [](char c) {
    return c == '/' || static_cast<unsigned char>(c) <= ' ' || c == 0x7f;
  });
  if (!name.empty() && !has_odd && name[0] != '.') return "";
  return "\"" + name + "\" is no name for a product: letters, digits and \"_\" are";
}

ProductFlow product_flow(const std::vector<ProductMaker>& makers) {
  Search search(makers);
  for (std::size_t maker = 0; maker < makers.size(); ++maker) {
    if (!search.visit(maker)) return {{}, search.circle()};
  }
  return std::move(search).flow();
}

// "" or the products that this one would take of itself; a pattern for all sources means others.
static std::string own_products_of(const ProductMaker& maker) {
  const auto own = std::find_if(maker.takes.begin(), maker.takes.end(), [&](const auto& pattern) {
    return pattern.substr(0, pattern.find('/')) == maker.source;
  });
  return own == maker.takes.end() ? "" : *own;
}

std::string why_endless(const std::vector<ProductMaker>& makers) {
  for (const ProductMaker& maker : makers) {
    const std::string own = own_products_of(maker);
    if (!own.empty())
      return "products=\"" + own + "\": \"" + maker.source +
             "\" would take what it publishes itself, and nobody is given that; what makes "
             "something "
             "of it has to be another store or script";
  }
  const std::string circle = product_flow(makers).circle;
  if (circle.empty()) return "";
  return "products would be made of each other without end: " + circle +
         "; take in products= of one of them what it needs only";
}

}  // namespace leat::model
