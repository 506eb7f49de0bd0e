// SPDX-License-Identifier: Apache-2.0
#include "lib/model/reader.hpp"

#include "lib/model/document.hpp"
#include "lib/model/read_steps.hpp"

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

}  // namespace leat::model
