// SPDX-License-Identifier: Apache-2.0
#include "server/driver/restart.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/text.hpp"
#include "lib/checkpoint/checkpoints.hpp"

namespace leat::server {
namespace {

using checkpoint::Checkpoint;

constexpr char kVariable[] = "LEAT_RESTART";
constexpr std::size_t kMostOffered = 8;

auto store_of(const model::Model& model) {
  return std::find_if(model.stores.begin(), model.stores.end(),
                      [](const model::Store& each) { return is_checkpoint(each); });
}

std::string absolute(const std::string& path) {
  return path.empty() ? path : std::filesystem::absolute(path).lexically_normal().string();
}

// What the user wants: the newest, none, or one of an iteration.
struct Order {
  bool is_off = false;
  std::optional<std::int64_t> iteration{};
};

Result<Order> restart_order(const char* text) {
  const std::string_view word = text ? text : "";
  if (word.empty()) return Order{};
  if (word == "off") return Order{.is_off = true};
  std::int64_t number = 0;
  const auto [end, fault] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (fault == std::errc{} && end == word.data() + word.size() && number >= 0)
    return Order{.iteration = number};
  return Error{Status::ERROR_CONFIG,
               std::string(kVariable) + "=" + text +
                   ": it is the iteration of a checkpoint, as 300, or \"off\" to begin anew; "
                   "without it the run goes on from the newest"};
}

class Choice {
 public:
  Choice(std::vector<std::string> folders, const Order& order, Log& log)
      : folders_(std::move(folders)), order_(order), log_(log) {}

  const Checkpoint* best() {
    for (const Checkpoint& each : all_) {
      if (order_.iteration && each.key.iteration != *order_.iteration) continue;
      const std::string why = checkpoint::why_not_whole(each);
      if (why.empty()) return &each;
      log_.warn("the {} is not taken: {}", checkpoint::title_of(each.key), why);
    }
    return nullptr;
  }

  // "there are: 300, 200"
  std::string others() const {
    std::vector<std::string> whole;
    for (const Checkpoint& each : all_) {
      if (whole.size() < kMostOffered && checkpoint::why_not_whole(each).empty())
        whole.push_back(std::to_string(each.key.iteration));
    }
    return whole.empty() ? "" : "; there are those of the iterations " + joined(whole, ", ");
  }

  std::string place() const { return joined(folders_, " and "); }

 private:
  std::vector<std::string> folders_;
  Order order_;
  Log& log_;
  std::vector<Checkpoint> all_ = checkpoint::checkpoints_in(folders_);
};

}  // namespace

bool makes_checkpoints(const model::Model& model) { return store_of(model) != model.stores.end(); }

std::string parameter_told_of_end(const model::Model& model) {
  const auto store = store_of(model);
  return store == model.stores.end() ? "" : store->option("tells", "");
}

Result<RestartFacts> choose_checkpoint(const model::Model& model, const RunFacts& facts, Log& log) {
  const auto store = store_of(model);
  RestartFacts chosen;
  if (store == model.stores.end()) return chosen;
  const Result<Order> order = restart_order(std::getenv(kVariable));
  if (!order) return order.error();
  chosen.store = store->name;
  chosen.folder = absolute(store->option("folder", model.name + ".checkpoint"));
  chosen.copy = absolute(store->option("copy", ""));
  if (order->is_off) {
    chosen.why_none = std::string(kVariable) + " is \"off\"";
    return chosen;
  }
  std::vector<std::string> folders{chosen.folder};
  if (!chosen.copy.empty()) folders.push_back(chosen.copy);
  const bool is_one_of_several = facts.ranks > facts.node_ranks;
  if (is_one_of_several) folders = {folders.back()};
  Choice choice(folders, *order, log);
  if (const Checkpoint* const best = choice.best()) {
    chosen.iteration = best->key.iteration;
    chosen.generation = best->key.generation;
    log.info("store \"{}\": the run can go on from the {} in {}: leat_restart_step gives {}",
             chosen.store, checkpoint::title_of(best->key),
             joined(best->parts.front().folders, " and "), chosen.iteration + 1);
    return chosen;
  }
  chosen.why_none = "there is no whole checkpoint in " + choice.place();
  if (!order->iteration) {
    log.info("store \"{}\": {}: leat_restart_step gives 0", chosen.store, chosen.why_none);
    return chosen;
  }
  return Error{Status::ERROR_CONFIG, std::string(kVariable) + "=" +
                                         std::to_string(*order->iteration) +
                                         ": there is no whole checkpoint of that iteration in " +
                                         choice.place() + choice.others()};
}

}  // namespace leat::server
