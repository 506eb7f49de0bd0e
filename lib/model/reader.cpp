// SPDX-License-Identifier: Apache-2.0
#include "lib/model/reader.hpp"

#include <algorithm>

#include "lib/model/read_steps.hpp"
#include "lib/model/xml/document.hpp"

namespace leat::model {
namespace {

// That somebody takes what is accepted undeclared.
void check_undeclared(ReadContext& context, const XmlElement& root);

Model read_tree(const Document& document, const Schema& schema, DiagnosticList& out) {
  Model model;
  const XmlElement& root = document.root;
  model.is_for_damaris = document.is_damaris;
  ReadContext context{schema, out, model};
  read_simulation(context, root);
  read_data(context, root);
  read_parameters(context, root);
  read_layouts(context, root);
  read_stores(context, root);
  read_meshes(context, root);
  read_variables(context, root);
  read_scripts(context, root);
  read_events(context, root);
  name_coordinates(context, root);
  read_derived(context);
  link_meshes(context, root);
  read_vectors(context, root);
  read_places(context);
  add_places_to_fields(context, root);
  give_each_file_one_time_axis(context);
  check_places(context, root);
  check_undeclared(context, root);
  return model;
}

ReadResult result_of(std::optional<Document> document, const Schema& schema,
                     DiagnosticList& diagnostics) {
  ReadResult result;
  if (document) {
    Model model = read_tree(*document, schema, diagnostics);
    model.source_text = std::move(document->source_text);
    model.included = std::move(document->included);
    if (!diagnostics.has_errors()) result.model = std::move(model);
  }
  result.diagnostics = diagnostics.sorted();
  return result;
}

}  // namespace

ReadResult read_file(const std::string& path) {
  const Schema schema;
  DiagnosticList diagnostics;
  return result_of(load_document(path, schema, diagnostics), schema, diagnostics);
}

ReadResult read_sources(const std::vector<std::pair<std::string, std::string>>& sources) {
  const Schema schema;
  DiagnosticList diagnostics;
  if (sources.empty()) return {};
  const auto& [path, text] = sources.front();
  const Sources included(sources.begin() + 1, sources.end());
  return result_of(document_of(text, path, schema, diagnostics, included), schema, diagnostics);
}

ReadResult read_text(const std::string& text, const std::string& path, const Schema& schema) {
  DiagnosticList diagnostics;
  return result_of(document_of(text, path, schema, diagnostics), schema, diagnostics);
}

// Reads <simulation>, the root, with its <buffer>: memory, overflow policy and spill file.

namespace {

// Names of files have 255 letters at most: of a session, of a node and numbers there may be 120 more.
constexpr std::size_t kLongestName = 128;

void check_spill(ReadContext& context, const Attributes& buffer) {
  if (context.model.architecture.overflow_policy == OverflowPolicy::spill) return;
  for (const char* each : {"spill", "spill-size"}) {
    // A policy with a typing error was refused already.
    if (!buffer.given(each) || (buffer.has("when-full") && !buffer.given("when-full"))) continue;
    context.error(buffer.where(each), std::string(each) + "=\"" + buffer.text(each) +
                                          "\" does nothing with when-full=\"" +
                                          buffer.text("when-full") +
                                          "\": write when-full=\"spill\", or leave it out");
  }
}

constexpr double kYear = 365.0 * 24 * 3600;

void check_servers(ReadContext& context, const Attributes& dedicated) {
  const Architecture& architecture = context.model.architecture;
  const std::string text = dedicated.text("servers");
  if (architecture.servers > 1 && is_in_simulation(architecture.place)) {
    context.error(dedicated.where("servers"),
                  "servers=\"" + text +
                      "\" with a place in the simulation: a thread is the one server of its node; "
                      "write place=\"process\" or place=\"ranks\", or servers=\"1\"");
  } else if (architecture.servers > architecture.dedicated_cores) {
    context.error(dedicated.where("servers"),
                  "servers=\"" + text + "\" with cores=\"" + dedicated.text("cores") +
                      "\": each server has at least one core of the node; write cores=\"" + text +
                      "\" or more, or have fewer servers");
  }
}

void check_timeout(ReadContext& context, const Attributes& buffer) {
  const std::string text = buffer.text("timeout");
  const double seconds = context.model.architecture.timeout_seconds;
  if (seconds <= 0) {
    context.error(buffer.where("timeout"), "with timeout=\"" + text +
                                               "\" each call that has to wait would fail; give "
                                               "the time that the simulation can spare, like "
                                               "\"60s\"");
  } else if (seconds > kYear) {
    context.error(buffer.where("timeout"), "the timeout \"" + text + "\" is longer than a year");
  }
}

void read_dedicated(ReadContext& context, const XmlElement& element) {
  const Attributes dedicated(context, element);
  Architecture& architecture = context.model.architecture;
  dedicated.read_fields<DedicatedFields>(&architecture);
  if (architecture.grace_seconds > kYear)
    context.error(dedicated.where("grace"),
                  "grace=\"" + dedicated.text("grace") + "\" is longer than a year");
  architecture.place = chosen(context, dedicated.where("place"), "LEAT_PLACE", architecture.place);
  check_servers(context, dedicated);
  if (architecture.place == Place::none) architecture.mode = EndMode::sync;
}

void read_buffer(ReadContext& context, const XmlElement& element) {
  const Attributes buffer(context, element);
  buffer.read_fields<BufferFields>(&context.model.architecture);
  context.model.architecture.spill_where = buffer.where("spill");
  check_timeout(context, buffer);
  check_spill(context, buffer);
}

void read_network(ReadContext& context, const XmlElement& element) {
  const Attributes network(context, element);
  NetworkFields& fields = context.model.architecture.network;
  network.read_fields(&fields);
  const char* const interface = std::getenv("LEAT_INTERFACE");
  if (interface && *interface) fields.interface = interface;
  if (!network.given("interface")) return;
  if (fields.carrier == Carrier::folder || fields.carrier == Carrier::none)
    context.error(network.where("interface"),
                  "interface=\"" + network.text("interface") + "\" does nothing with carrier=\"" +
                      network.text("carrier") +
                      "\": write carrier=\"tcp\" or \"auto\", or leave it out");
}

void read_staging(ReadContext& context, const XmlElement& element) {
  const Attributes staging(context, element);
  StagingFields& fields = context.model.architecture.staging;
  staging.read_fields(&fields);
  for (const char* each : {"place", "when-lost", "keep-until", "cores", "buffer"}) {
    if (fields.nodes == 0 && staging.given(each))
      return context.error(staging.where(each),
                           "<staging> says how many nodes it has: nodes=\"2\"");
  }
}

}  // namespace

void read_simulation(ReadContext& context, const XmlElement& root) {
  Model& model = context.model;
  const Attributes simulation(context, root);
  simulation.read_fields(&model);
  if (model.name.size() > kLongestName)
    context.error(simulation.where("name"),
                  "the name has " + std::to_string(model.name.size()) + " letters, and " +
                      std::to_string(kLongestName) +
                      " are the most: files are called after it, and need room for more");
  only(context, root, "architecture");
  read_dedicated(context, only(context, root, "dedicated"));
  read_buffer(context, only(context, root, "buffer"));
  read_network(context, only(context, root, "network"));
  read_staging(context, only(context, root, "staging"));
  const XmlElement log = only(context, root, "log");
  Attributes(context, log).read_fields(&model.log);
  if (model.log.level.empty()) model.log.level = model.log.file.empty() ? "info" : "debug";
}

namespace {

// Of all products: which ones it takes is for those who run it.
bool may_take_products(const Store& store) {
  if (store.products.empty()) return false;
  return !store.library.empty() ||
         (store.type == "hdf5" && store.option("layout", "leat") != "damaris");
}

void check_undeclared(ReadContext& context, const XmlElement& root) {
  const Model& model = context.model;
  if (model.data.undeclared != Undeclared::accept || model.scripts.exist() ||
      std::any_of(model.stores.begin(), model.stores.end(), may_take_products))
    return;
  for (const XmlElement* each : all_below(root, "data")) {
    const Attributes data(context, *each);
    if (!data.given("undeclared")) continue;
    return context.error(
        data.where("undeclared"),
        "undeclared=\"accept\": there is nobody who takes such arrays, they would be lost; add a "
        "<store type=\"hdf5\"> that takes products, as it does without products=\"...\"");
  }
}

}  // namespace

// The first that says it counts; the others say nothing, or the same.
void read_data(ReadContext& context, const XmlElement& root) {
  const XmlElement* first = nullptr;
  for (const XmlElement* each : all_below(root, "data")) {
    const Attributes data(context, *each);
    if (!data.given("undeclared")) continue;
    if (!first) {
      first = each;
      data.read_fields(&context.model.data);
    } else if (data.text("undeclared") != Attributes(context, *first).text("undeclared")) {
      context.error(data.where("undeclared"),
                    "undeclared=\"" + data.text("undeclared") + "\", but the <data> in " +
                        line_of(first->where, each->where) + " says undeclared=\"" +
                        Attributes(context, *first).text("undeclared") +
                        "\": it is one for the whole run; say it once");
    }
  }
}

}  // namespace leat::model
