// SPDX-License-Identifier: Apache-2.0
#include "lib/model/reader.hpp"

#include "lib/model/document.hpp"
#include "lib/model/read_steps.hpp"

namespace leat::model {
namespace {

Model read_tree(const XmlElement& root, const Schema& schema, DiagnosticList& out) {
  Model model;
  ReadContext context{schema, out, model};
  read_simulation(context, root);
  read_parameters(context, root);
  read_layouts(context, root);
  read_stores(context, root);
  read_variables(context, root);
  read_scripts(context, root);
  return model;
}

}  // namespace

ReadResult read_file(const std::string& path) {
  const Schema schema;
  DiagnosticList diagnostics;
  ReadResult result;
  if (std::optional<Document> document = load_document(path, schema, diagnostics)) {
    Model model = read_tree(document->root, schema, diagnostics);
    model.source_text = std::move(document->source_text);
    if (!diagnostics.has_errors()) result.model = std::move(model);
  }
  result.diagnostics = diagnostics.sorted();
  return result;
}

}  // namespace leat::model
