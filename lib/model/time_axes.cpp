// SPDX-License-Identifier: Apache-2.0
// A file has one time axis: what is there in each iteration, in each tenth one, and as a mean over ten, does not go into one file, where
// some tools would take the rows of one for those of another, and others refuse it. So an hdf5 store whose variables are of several kinds
// writes a file for each: run.h5, run-every-10.h5, run-over-10.h5.
#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "lib/model/read_steps.hpp"

namespace leat::model {
namespace {

/// What the rows of a file stand for.
struct RowKind {
  bool over_time = false;
  std::string every = "1";  // in the shortest words

  auto operator<=>(const RowKind&) const = default;
};

class AxisDivider {
 public:
  explicit AxisDivider(ReadContext& context) : context_(context), model_(context.model) {}

  void run() {
    const auto count = static_cast<std::uint32_t>(model_.stores.size());
    for (std::uint32_t i = 0; i < count; ++i) divide(i);
  }

 private:
  RowKind kind_of(const Variable& variable, const Store& store) const {
    const RowKind of_store{
        false, store.due ? to_text(model_.periods[*store.due]) : std::to_string(store.every)};
    const std::optional<std::uint32_t> own =
        variable.derived ? variable.derived->period : variable.period;
    if (!own) return of_store;
    const Every& every = model_.periods[*own];
    const bool is_over_time = variable.derived && variable.derived->is_over_time();
    const bool is_each = iterations_of(every) == 1 && !is_over_time;
    return is_each ? of_store : RowKind{is_over_time, to_text(every)};
  }

  std::uint32_t period_of_kind(const RowKind& kind) const {
    std::uint32_t number = 0;
    while (to_text(model_.periods[number]) != kind.every) ++number;
    return number;
  }

  std::string suffix_of(const RowKind& kind) const {
    return "-" +
           file_name_text(model_.periods[period_of_kind(kind)], kind.over_time ? "over" : "every");
  }

  std::vector<std::uint32_t> variables_in(std::uint32_t store) const {
    std::vector<std::uint32_t> found;
    for (std::uint32_t i = 0; i < model_.variables.size(); ++i) {
      const std::vector<std::uint32_t>& stores = model_.variables[i].stores;
      const bool is_in = std::find(stores.begin(), stores.end(), store) != stores.end();
      if (is_in && model_.variables[i].time_varying) found.push_back(i);
    }
    return found;
  }

  // It would get an iteration a second time.
  void refuse_ends(const Store& store, const std::map<RowKind, std::vector<std::uint32_t>>& kinds) {
    for (const auto& [kind, variables] : kinds) {
      if (!kind.over_time || !is_at_end(model_.periods[period_of_kind(kind)])) continue;
      const Variable& variable = model_.variables[variables[0]];
      context_.error(
          variable.where,
          "variable \"" + variable.name + "\": every=\"" + kind.every +
              "\" is stored when the run is over, which is for a store of type hdf5 that "
              "awaits no event, and store \"" +
              store.name + "\" is another one");
    }
  }

  void divide(std::uint32_t number) {
    const Store store = model_.stores[number];
    const bool is_one_file = store.type == "hdf5" && !store.awaits_event;
    std::map<RowKind, std::vector<std::uint32_t>> kinds;
    for (const std::uint32_t each : variables_in(number))
      kinds[kind_of(model_.variables[each], store)].push_back(each);
    const RowKind own = kind_of(Variable(), store);
    if (!is_one_file) refuse_ends(store, kinds);
    if (!is_one_file || kinds.empty()) return;
    // What has no other kind beside it keeps the name.
    const RowKind main = kinds.count(own) > 0 ? own : kinds.begin()->first;
    take_kind(&model_.stores[number], main, store);
    for (const auto& [kind, variables] : kinds) {
      if (kind != main) move(variables, number, add_store(store, kind));
    }
  }

  // `when` of a store holds for all that it takes in single iterations, also for what says itself in which.
  std::uint32_t with_condition_of(const Store& store, std::uint32_t number) {
    const std::string wanted = store.due ? model_.periods[*store.due].condition : "";
    Every both = model_.periods[number];
    if (wanted.empty() || both.condition == wanted) return number;
    both.condition =
        both.condition.empty() ? wanted : "(" + both.condition + ") && (" + wanted + ")";
    const std::uint32_t place = number_of_period(&model_, both);
    model_.conditions.resize(model_.periods.size());
    if (model_.conditions[place]) return place;
    read_condition(context_,
                   {place, {both.condition, store.where}, "store \"" + store.name + "\""});
    return place;
  }

  void take_kind(Store* store, const RowKind& kind, const Store& whole) {
    const std::uint32_t own = period_of_kind(kind);
    const std::uint32_t number = kind.over_time ? own : with_condition_of(whole, own);
    const std::int64_t iterations = iterations_of(model_.periods[number]);
    store->every = kind.over_time ? 1 : std::max<std::int64_t>(1, iterations);
    store->due.reset();
    if (kind.over_time) store->period = number;
    if (!kind.over_time && iterations == 0) store->due = number;
    store->when = to_text(model_.periods[number]);
    if (is_at_end(model_.periods[number])) take_one_row(store);
  }

  // A run that goes on in the file has another one in its place.
  static void take_one_row(Store* store) {
    std::erase_if(store->options, [](const Option& each) { return each.name == "split"; });
    store->options.push_back({"one-row", "true", store->where});
  }

  std::uint32_t add_store(Store store, const RowKind& kind) {
    store.name += suffix_of(kind);
    const std::filesystem::path path = store.option("file", model_.name + ".h5");
    std::filesystem::path own = path.parent_path() / path.stem();
    own += suffix_of(kind) + path.extension().string();
    const std::size_t file = index_of(store.options, "file");
    if (file == store.options.size()) store.options.push_back({"file", "", store.where});
    store.options[file].value = own.string();
    store.products.clear();  // they are in the first one
    const Store whole = store;
    take_kind(&store, kind, whole);
    model_.stores.push_back(std::move(store));
    return static_cast<std::uint32_t>(model_.stores.size() - 1);
  }

  // What does not vary in time, as coordinates, is in each of the files.
  void move(const std::vector<std::uint32_t>& variables, std::uint32_t from, std::uint32_t to) {
    for (const std::uint32_t each : variables)
      std::replace(model_.variables[each].stores.begin(), model_.variables[each].stores.end(), from,
                   to);
    for (Variable& each : model_.variables) {
      const bool was_in =
          std::find(each.stores.begin(), each.stores.end(), from) != each.stores.end();
      if (was_in && !each.time_varying) each.stores.push_back(to);
    }
  }

  ReadContext& context_;
  Model& model_;
};

}  // namespace

void give_each_file_one_time_axis(ReadContext& context) {
  if (!context.out.has_errors()) AxisDivider(context).run();
}

}  // namespace leat::model
