// SPDX-License-Identifier: Apache-2.0
// Reads <store>: the plugin, its options, and what it keeps.
#include <algorithm>
#include <filesystem>

#include "lib/model/checks.hpp"
#include "lib/model/read_steps.hpp"
#include "lib/model/reader.hpp"
#include "lib/model/splitting.hpp"

namespace leat::model {
namespace {

void add_option(ReadContext& context, Store& store, Option option, const SourceLocation& where) {
  if (index_of(store.options, option.name) < store.options.size()) {
    return context.error(
        where, "store \"" + store.name + "\" has the option \"" + option.name + "\" twice");
  }
  store.options.push_back(std::move(option));
}

void read_options(ReadContext& context, Store& store, const XmlElement& element) {
  const Attributes attributes(context, element);
  for (const char* name : {"file", "folder", "compression", "durability", "append", "files",
                           "split", "keep", "copy", "tells"}) {
    if (const XmlAttribute* given = attributes.given(name)) {
      store.options.push_back({name, given->value, given->where});
    }
  }
  for (const XmlElement* option : all_below(element, "option")) {
    const Attributes own(context, *option);
    if (!own.given("name")) continue;
    add_option(context, store, {own.text("name"), own.text("value"), own.where("value")},
               own.where("name"));
  }
}

void check_plugin(ReadContext& context, const Store& store, const Attributes& attributes) {
  if (attributes.has("type") && attributes.has("library")) {
    context.error(attributes.where("library"),
                  "store \"" + store.name + "\" has both type and library; give one of them");
  } else if (!attributes.has("type") && !attributes.has("library")) {
    context.error(store.where, "store \"" + store.name +
                                   "\" needs type=\"...\" for a store that comes with Leat, or "
                                   "library=\"...\" for a plugin of yours");
  }
}

void read_publishes(ReadContext& context, Store& store, const Attributes& attributes) {
  if (!attributes.given("publishes")) return;
  for (std::string& name : words_of(attributes.text("publishes"))) {
    if (const std::string why = why_no_product_name(name); !why.empty())
      return context.error(attributes.where("publishes"), why);
    store.publishes.push_back(std::move(name));
  }
}

void warn_of_holes(ReadContext& context, const Store& store, const Attributes& attributes) {
  if (store.waits || store.type != "hdf5") return;
  context.out.warning(attributes.where("when-slow"),
                      "store \"" + store.name +
                          "\" may leave iterations out of its file: the ledger says which; take "
                          "when-slow=\"skip\" away where each of them counts");
}

// An attribute of all stores, of which one can do it.
void check_append(ReadContext& context, const Store& store, const Attributes& attributes) {
  if (!attributes.given("append")) return;
  const SourceLocation& where = attributes.where("append");
  if (!store.type.empty() && store.type != "hdf5")
    return context.error(where, "store \"" + store.name + "\" is of type \"" + store.type +
                                    "\": only hdf5 goes on in the file of an earlier run");
  if (attributes.text("append") == "true" && store.option("exists", "") == "replace")
    context.error(where,
                  "store \"" + store.name +
                      "\": append=\"true\" goes on in the file that is there, and the option "
                      "exists=\"replace\" removes it; take one of them away");
}

// "" where files of this length can be made.
std::string why_no_split(const ReadContext& context, const std::string& text) {
  const Result<Every> split = parse_split(text);
  if (!split) return split.error().message;
  if (split->clock != Every::Clock::simulation) return "";
  const std::optional<TimeAxis>& time = context.model.time;
  if (time) return why_no_marks(*split, Calendar(time->unit, time->calendar));
  return "the simulation says no time: write <time parameter=\"...\"/> into <data>, or give a "
         "number "
         "of iterations like \"1000\"";
}

void check_split(ReadContext& context, const Store& store, const Attributes& attributes) {
  const std::string split = store.option("split", "");
  if (!attributes.given("split")) return;
  const auto refuse = [&](const std::string& why) {
    context.error(attributes.where("split"),
                  "store \"" + store.name + "\": split=\"" + split + "\": " + why);
  };
  if (!store.type.empty() && store.type != "hdf5")
    return refuse("a store of type \"" + store.type + "\" makes no such files, only hdf5 does");
  if (store.option("layout", "") == "damaris")
    return refuse(
        "with layout=\"damaris\" each iteration has a file already; take one of them away");
  if (store.option("files", "node") != "node")
    return refuse(
        "files=\"" + store.option("files", "") +
        "\" is for files that servers write together, which have the whole run; with split each "
        "server has its own: take one of them away");
  if (const std::string why = why_no_split(context, split); !why.empty()) refuse(why);
}

constexpr double kLongestDeferSeconds = 365 * 86400.0;  // as good as for ever

bool keeps_data(const Store& store) {
  return store.type == "hdf5" || store.type == "raw" || store.type == "trace" ||
         is_checkpoint(store);
}

// What the environment says is meant for analyses: what keeps data is asked by name only.
Schedule schedule_of(ReadContext& context, const Store& store, const Attributes& attributes) {
  const SourceLocation& where = attributes.where("runs");
  if (!keeps_data(store)) {
    const bool is_meant = !store.type.empty() || attributes.given("runs");
    return is_meant ? chosen(context, where, "LEAT_RUNS", store.runs) : store.runs;
  }
  if (is_apart(store.runs) || is_of_simulation(store.runs)) {
    context.error(where,
                  "store \"" + store.name + "\" keeps the data of the run, and the simulation " +
                      "waits for it when the buffer is full: it cannot run with what time is left; "
                      "runs=\"" +
                      word_of(store.runs) + "\" is for analyses and libraries of yours");
    return Schedule::server;
  }
  if (!attributes.given("runs")) return store.runs;
  return chosen_schedule(context, where, store.runs, {Schedule::server, Schedule::sync});
}

// An analysis that gets what time is left keeps nobody waiting, unless it is told to.
bool waits(const Store& store, const Attributes& attributes) {
  if (!attributes.given("when-slow")) return !is_apart(store.runs);
  return attributes.text("when-slow") == "wait";
}

void read_schedule(ReadContext& context, Store& store, const Attributes& attributes) {
  store.runs = schedule_of(context, store, attributes);
  store.waits = waits(store, attributes);
  store.defer_max_seconds = std::min(kLongestDeferSeconds, store.defer_max_seconds);
  if (store.runs != Schedule::sync || store.waits) return;
  context.error(attributes.where("runs"),
                "store \"" + store.name +
                    "\" has runs=\"sync\", so that the simulation waits for each iteration of it: "
                    "none can be left out, take when-slow=\"skip\" away");
}

void read_when(ReadContext& context, Store* store, const Attributes& attributes) {
  const std::string who = "store \"" + store->name + "\"";
  const std::optional<std::uint32_t> period =
      period_of(context, who, attributes.said("every"), attributes.said("when"));
  if (!period) return;
  const std::int64_t iterations = iterations_of(context.model.periods[*period]);
  store->every = std::max<std::int64_t>(1, iterations);
  if (iterations > 0) return;
  if (attributes.given("when")) store->when = to_text(context.model.periods[*period]);
  store->due = period;
  if (store->runs == Schedule::sync)
    context.error(
        attributes.where(attributes.given("when") ? "when" : "every"),
        who +
            " has runs=\"sync\": in which iterations the simulation waits has to be known "
            "before; give a number of iterations as every=\"...\", and no when=\"...\"");
}

void read_store(ReadContext& context, const XmlElement& element) {
  const Attributes attributes(context, element);
  Store store;
  attributes.read_fields(&store);
  read_when(context, &store, attributes);
  read_publishes(context, store, attributes);
  read_schedule(context, store, attributes);
  store.where = element.where;
  read_options(context, store, element);
  check_plugin(context, store, attributes);
  check_append(context, store, attributes);
  check_split(context, store, attributes);
  warn_of_holes(context, store, attributes);
  if (store.name == "none")
    return context.error(attributes.where("name"),
                         "a store cannot be called \"none\": store=\"none\" means no store");
  add_named(context, &context.model.stores, "store", std::move(store), attributes);
}

// Stores of one plugin take turns: one that waits would wait for one that does not. Those with
// processes of their own take none.
void refuse_shared_turns(ReadContext& context) {
  const std::vector<Store>& stores = context.model.stores;
  for (const Store& store : stores) {
    const auto other = std::find_if(stores.begin(), stores.end(), [&](const Store& each) {
      return each.waits && each.plugin() == store.plugin() && !is_apart(each.runs);
    });
    if (store.waits || is_apart(store.runs) || other == stores.end()) continue;
    context.error(store.where,
                  "store \"" + store.name + "\" has when-slow=\"skip\", and store \"" +
                      other->name +
                      "\", which has the same plugin, waits: stores of one plugin "
                      "take turns, so this would hold it up; give both of them the same when-slow");
  }
}

// Two that write one file would be told apart by nobody; a server that takes over would mix them up.
void refuse_shared_output(ReadContext& context) {
  const std::vector<Store>& stores = context.model.stores;
  for (auto store = stores.begin(); store != stores.end(); ++store) {
    const std::string output = output_of(*store, context.model.name);
    const auto other = std::find_if(stores.begin(), store, [&](const Store& each) {
      return each.type == store->type && each.at == store->at &&
             each.option("layout", "") == store->option("layout", "") &&
             output_of(each, context.model.name) == output;
    });
    if (output.empty() || other == store) continue;
    context.error(store->where, "stores \"" + other->name + "\" and \"" + store->name +
                                    "\" both write " + output + ": give one of them another " +
                                    (store->type == "raw" ? "folder" : "file") + "=\"...\"");
  }
}

// Threads of the simulation are lent by its own process, and in one way.
void check_schedules(ReadContext& context) {
  const Store* first = nullptr;
  for (const Store& store : context.model.stores) {
    if (!is_of_simulation(store.runs)) continue;
    const std::string has = "store \"" + store.name + "\" has runs=\"" + word_of(store.runs) + "\"";
    if (context.model.architecture.place != Place::thread) {
      context.error(store.where, has +
                                     ", so the server has to be in the simulation's process: "
                                     "write <dedicated place=\"thread\"/>, or LEAT_PLACE=thread");
      continue;
    }
    if (!first) first = &store;
    if (store.runs == first->runs) continue;
    context.error(store.where, has + " and store \"" + first->name + "\" runs=\"" +
                                   word_of(first->runs) +
                                   "\": one run has one of \"static\" and \"dynamic\"");
  }
}

// Reads keep="..." of groups: their variables make checkpoints.

// The store of one that names none.
void make_checkpoint_store(ReadContext& context, const XmlElement& group) {
  const Attributes attributes(context, group);
  Store store;
  store.name = attributes.text("name");
  store.type = kCheckpoint;
  store.where = attributes.where("keep");
  store.options.push_back({"keep", attributes.text("keep"), attributes.where("keep")});
  if (index_of(context.model.stores, store.name) == context.model.stores.size())
    context.model.stores.push_back(std::move(store));
}

void keep_in(ReadContext& context, Store& store, const Attributes& attributes) {
  const Option keep{"keep", attributes.text("keep"), attributes.where("keep")};
  const std::size_t known = index_of(store.options, keep.name);
  if (known == store.options.size()) return store.options.push_back(keep);
  if (store.options[known].value == keep.value) return;
  context.error(keep.where, "keep=\"" + keep.value + "\", and store \"" + store.name +
                                "\" has keep=\"" + store.options[known].value + "\": say it once");
}

void read_keep(ReadContext& context, const XmlElement& group) {
  const Attributes attributes(context, group);
  if (!attributes.given("keep") || !attributes.given("name")) return;
  if (!attributes.has("store")) return make_checkpoint_store(context, group);
  for (Store& store : context.model.stores) {
    const std::vector<std::string> named = split_list(attributes.text("store"));
    const bool is_named = std::find(named.begin(), named.end(), store.name) != named.end();
    if (is_named && is_checkpoint(store)) return keep_in(context, store, attributes);
  }
  context.error(attributes.where("keep"),
                "group \"" + attributes.text("name") + "\" has keep=\"" + attributes.text("keep") +
                    "\", and none of its stores makes checkpoints: name one of "
                    "type=\"checkpoint\", or leave store=\"...\" away");
}

}  // namespace

std::string why_no_every_when_told(const std::string& every) {
  return "every=\"" + every +
         "\" with tells: what ranks write when they are told to end would not be taken. Leave "
         "every out: the simulation writes a checkpoint in the iterations in which it likes";
}

namespace {

// Ranks are told by a number.
void check_told(ReadContext& context, const Store& store) {
  const std::size_t given = index_of(store.options, "tells");
  if (given == store.options.size()) return;
  const Option& tells = store.options[given];
  if (store.due || store.every > 1)
    context.error(tells.where,
                  "store \"" + store.name + "\": " + why_no_every_when_told(store.when));
  const auto found =
      find_named(context, context.model.parameters, "parameter", tells.value, tells.where);
  if (!found || context.model.parameters[*found].kind == ParameterKind::integer) return;
  context.error(tells.where,
                "tells=\"" + tells.value +
                    "\": ranks are told by a parameter of type=\"int\", which becomes 1");
}

// A run goes on from one place, which the ranks read themselves.
void check_checkpoints(ReadContext& context) {
  const Store* first = nullptr;
  for (const Store& store : context.model.stores) {
    if (!is_checkpoint(store)) continue;
    if (store.at == At::staging)
      context.error(store.where, "store \"" + store.name +
                                     "\" makes checkpoints, which the nodes of the simulation "
                                     "write: take at=\"staging\" away");
    if (first)
      context.error(store.where, "stores \"" + first->name + "\" and \"" + store.name +
                                     "\" both make checkpoints: a run goes on from those of one "
                                     "store; copy=\"...\" is for a second place");
    check_told(context, store);
    first = first ? first : &store;
  }
}

// What two stores made of each other would never end.
void refuse_circles(ReadContext& context) {
  const std::vector<ProductMaker> makers = makers_of(context.model);
  const std::string circle = product_flow(makers).circle;
  const std::string why = why_endless(makers);
  if (why.empty()) return;
  const std::size_t first = index_of(context.model.stores, circle.substr(0, circle.find('/')));
  context.error(context.model.stores[first < context.model.stores.size() ? first : 0].where, why);
}

}  // namespace

std::string output_of(const Store& store, const std::string& simulation) {
  namespace fs = std::filesystem;
  fs::path path;
  if (store.type == "hdf5")
    path = fs::path(store.option("folder", ".")) / store.option("file", simulation + ".h5");
  if (store.type == "raw") path = store.option("folder", simulation + ".raw");
  if (store.type == "trace") path = store.option("file", simulation + ".trace.txt");
  return path.lexically_normal();
}

void read_stores(ReadContext& context, const XmlElement& root) {
  for (const XmlElement* each : all_below(root, "store")) read_store(context, *each);
  for (const XmlElement* each : all_below(root, "group")) read_keep(context, *each);
  check_checkpoints(context);
  refuse_circles(context);
  refuse_shared_turns(context);
  refuse_shared_output(context);
  check_schedules(context);
  const bool is_idle = context.model.stores.empty() && all_below(root, "scripts").empty() &&
                       all_below(root, "event").empty();
  if (is_idle) {
    context.out.warning(root.where, "there is no <store>: nothing will be written");
  }
}

}  // namespace leat::model
