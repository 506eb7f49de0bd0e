// SPDX-License-Identifier: Apache-2.0
#include "lib/model/reader.hpp"

#include <cstdlib>

#include "lib/model/read_steps.hpp"
#include "lib/model/units.hpp"
#include "lib/model/words.hpp"
#include "lib/model/xml/document.hpp"

namespace leat::model {
namespace {

Model read_tree(const Document& document, const Schema& schema, DiagnosticList& out) {
  Model model;
  const XmlElement& root = document.root;
  model.is_for_damaris = document.is_damaris;
  ReadContext context{schema, out, model};
  read_simulation(context, root);
  read_parameters(context, root);
  read_layouts(context, root);
  read_stores(context, root);
  read_meshes(context, root);
  read_variables(context, root);
  link_meshes(context, root);
  read_scripts(context, root);
  read_events(context, root);
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

std::uint64_t bytes_of(ReadContext& context, const Attributes& buffer, const char* attribute) {
  const std::string text = buffer.text(attribute);
  if (const auto bytes = parse_size(text)) return *bytes;
  context.error(buffer.where(attribute), "the size \"" + text + "\" is beyond 64 bits");
  return 0;
}

void read_spill(ReadContext& context, const Attributes& buffer) {
  Architecture& architecture = context.model.architecture;
  architecture.overflow_policy = number_of(kOverflowPolicies, buffer.text("when-full"));
  architecture.spill_folder = buffer.text("spill");
  architecture.spill_bytes = bytes_of(context, buffer, "spill-size");
  architecture.spill_where = buffer.where("spill");
  if (architecture.overflow_policy == OverflowPolicy::spill) return;
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

double grace_seconds(ReadContext& context, const Attributes& dedicated) {
  const std::string text = dedicated.text("grace");
  const double seconds = parse_duration(text).value_or(0);  // what is no duration was refused
  if (seconds > kYear)
    context.error(dedicated.where("grace"), "grace=\"" + text + "\" is longer than a year");
  return seconds;
}

// Those that are more than there are cores for are refused.
std::int64_t servers(ReadContext& context, const Attributes& dedicated) {
  const std::string text = dedicated.text("servers");
  const std::int64_t wanted = std::strtoll(text.c_str(), nullptr, 10);
  if (wanted > 1 && is_in_simulation(context.model.architecture.place)) {
    context.error(dedicated.where("servers"),
                  "servers=\"" + text +
                      "\" with a place in the simulation: a thread is the one server of its node; "
                      "write place=\"process\" or place=\"ranks\", or servers=\"1\"");
    return 1;
  }
  if (wanted <= context.model.architecture.dedicated_cores) return wanted;
  const std::string cores = dedicated.text("cores");
  context.error(dedicated.where("servers"),
                "servers=\"" + text + "\" with cores=\"" + cores +
                    "\": each server has at least one core of the node; write cores=\"" + text +
                    "\" or more, or have fewer servers");
  return 1;
}

double buffer_timeout_seconds(ReadContext& context, const Attributes& buffer) {
  const std::string text = buffer.text("timeout");
  const double seconds = parse_duration(text).value_or(1);  // what is no duration was refused
  if (seconds <= 0) {
    context.error(buffer.where("timeout"), "with timeout=\"" + text +
                                               "\" each call that has to wait would fail; give "
                                               "the time that the simulation can spare, like "
                                               "\"60s\"");
  } else if (seconds > kYear) {
    context.error(buffer.where("timeout"), "the timeout \"" + text + "\" is longer than a year");
  }
  return seconds;
}

}  // namespace

void read_simulation(ReadContext& context, const XmlElement& root) {
  Model& model = context.model;
  const Attributes simulation(context, root);
  model.name = simulation.text("name");
  if (model.name.size() > kLongestName)
    context.error(simulation.where("name"),
                  "the name has " + std::to_string(model.name.size()) + " letters, and " +
                      std::to_string(kLongestName) +
                      " are the most: files are called after it, and need room for more");
  model.description = simulation.text("description");

  only(context, root, "architecture");
  const XmlElement dedicated = only(context, root, "dedicated");
  const XmlElement buffer = only(context, root, "buffer");
  const Attributes buffer_attributes(context, buffer);
  const Attributes dedicated_attributes(context, dedicated);
  const std::string cores = dedicated_attributes.text("cores");
  model.architecture.grace_seconds = grace_seconds(context, dedicated_attributes);
  model.architecture.dedicated_cores = std::strtoll(cores.c_str(), nullptr, 10);
  model.architecture.place =
      chosen_word(context, dedicated_attributes, "place", "LEAT_PLACE", kPlaces);
  model.architecture.servers = servers(context, dedicated_attributes);
  model.architecture.mode = model.architecture.place == Place::none
                                ? EndMode::sync
                                : number_of(kEndModes, dedicated_attributes.text("mode"));
  model.architecture.buffer_bytes = bytes_of(context, buffer_attributes, "size");
  model.architecture.timeout_seconds = buffer_timeout_seconds(context, buffer_attributes);
  if (buffer_attributes.text("checksum") == "crc32c")
    model.architecture.checksum = Checksum::crc32c;
  model.architecture.numa = number_of(kNumas, buffer_attributes.text("numa"));
  read_spill(context, buffer_attributes);

  const XmlElement log = only(context, root, "log");
  model.log.level = Attributes(context, log).text("level");
  model.log.file = Attributes(context, log).text("file");
  if (model.log.level.empty()) model.log.level = model.log.file.empty() ? "info" : "debug";
}

}  // namespace leat::model
