// SPDX-License-Identifier: Apache-2.0
// Reads <event>: what may be signalled, and what is done then.
#include <algorithm>
#include <filesystem>

#include "lib/base/suggest.hpp"
#include "lib/model/read_steps.hpp"
#include "lib/model/words.hpp"

namespace leat::model {
namespace {

class EventReader {
 public:
  EventReader(ReadContext& context, const XmlElement& element)
      : context_(context), model_(context.model), attributes_(context, element) {
    event_.name = attributes_.text("name");
    event_.scope = number_of(kScopes, attributes_.text("scope"));
    event_.where = attributes_.where("name");
  }

  void run() {
    event_.stores = stores_in("store");
    event_.told = stores_in("plugin");
    for (const std::uint32_t store : event_.stores) {
      wait_for_it(store);
      if (std::count(event_.told.begin(), event_.told.end(), store) == 0)
        event_.told.push_back(store);
    }
    read_scripts();
    read_function();
    if (!attributes_.given("name")) return;
    if (refuse_duplicate(context_, model_.events, "event", event_.name, event_.where)) return;
    model_.events.push_back(std::move(event_));
  }

 private:
  std::vector<std::uint32_t> stores_in(const char* attribute) {
    std::vector<std::uint32_t> found;
    for (const std::string& name : names_in(attribute)) {
      const std::size_t index = index_of(model_.stores, name);
      if (index < model_.stores.size() && model_.stores[index].function.empty()) {
        found.push_back(static_cast<std::uint32_t>(index));
        continue;
      }
      context_.error(attributes_.where(attribute),
                     "unknown store \"" + name + "\"" + hint_for(name, attribute));
    }
    return found;
  }

  std::string hint_for(const std::string& name, const char* attribute) const {
    if (model_.stores.empty()) return "; the file has no <store>";
    const std::string hint = did_you_mean(name, names_of(model_.stores));
    const bool is_path = name.find('/') != std::string::npos || name.ends_with(".so");
    if (attribute != std::string("plugin") || !is_path) return hint;
    return "; plugin=\"...\" has names of stores: give the library in <store library=\"...\">, or "
           "library=\"...\" function=\"...\" here";
  }

  std::vector<std::string> names_in(const char* attribute) {
    if (!attributes_.given(attribute)) return {};
    std::vector<std::string> names = split_list(attributes_.text(attribute));
    if (names.empty())
      context_.error(attributes_.where(attribute),
                     std::string(attribute) + " is empty; leave it out, or name one");
    for (auto each = names.begin(); each != names.end();) {
      const bool is_second = std::find(names.begin(), each, *each) != each;
      if (is_second)
        context_.error(attributes_.where(attribute),
                       std::string(attribute) + " \"" + *each + "\" is named twice");
      each = is_second ? names.erase(each) : each + 1;
    }
    return names;
  }

  void wait_for_it(std::uint32_t index) {
    Store& store = model_.stores[index];
    if (store.every != 1) {
      context_.error(store.where, "store \"" + store.name + "\" has every=\"" +
                                      std::to_string(store.every) + "\", and event \"" +
                                      event_.name +
                                      "\" says when it stores: leave one of them out");
    }
    store.awaits_event = true;
  }

  // Of folders it is not known what is in them now, nor what will be.
  void read_scripts() {
    event_.scripts = names_in("script");
    const std::vector<ScriptSource>& sources = model_.scripts.sources;
    std::vector<std::string> known;
    for (const ScriptSource& source : sources)
      known.push_back(std::filesystem::path(source.path).stem());
    const bool has_folder = std::any_of(sources.begin(), sources.end(),
                                        [](const ScriptSource& each) { return each.is_folder; });
    for (const std::string& name : event_.scripts) {
      if (has_folder || std::count(known.begin(), known.end(), name) > 0) continue;
      context_.error(
          attributes_.where("script"),
          "unknown script \"" + name + "\"" +
              (known.empty() ? "; the file has no <scripts>" : did_you_mean(name, known)) +
              ": a script is called like its file, without \".py\"");
    }
  }

  void read_function() {
    const std::string library = attributes_.text("library"),
                      function = attributes_.text("function");
    if (library.empty() != function.empty()) {
      return context_.error(attributes_.where(library.empty() ? "function" : "library"),
                            "event \"" + event_.name +
                                "\" needs library and function together: the function, and the "
                                "library that it is in");
    }
    if (!library.empty()) event_.told.push_back(place_of(library, function));
  }

  // A function that several events name is one.
  std::uint32_t place_of(const std::string& library, const std::string& function) {
    std::vector<Store>& stores = model_.stores;
    const auto is_it = [&](const Store& each) {
      return each.library == library && each.function == function;
    };
    const auto found = std::find_if(stores.begin(), stores.end(), is_it);
    if (found != stores.end()) return static_cast<std::uint32_t>(found - stores.begin());
    Store store;
    store.name = function + "()";
    if (index_of(stores, store.name) < stores.size()) store.name += " of " + library;
    store.library = library;
    store.function = function;
    store.products.clear();
    store.awaits_event = true;
    store.where = attributes_.where("library");
    stores.push_back(std::move(store));
    return static_cast<std::uint32_t>(stores.size() - 1);
  }

  ReadContext& context_;
  Model& model_;
  Attributes attributes_;
  Event event_;
};

}  // namespace

void read_events(ReadContext& context, const XmlElement& root) {
  for (const XmlElement* each : all_below(root, "event")) EventReader(context, *each).run();
}

}  // namespace leat::model
