// SPDX-License-Identifier: Apache-2.0
#include "lib/model/damaris/convert.hpp"

#include <filesystem>

#include "lib/model/damaris/translate.hpp"
#include "lib/model/environment.hpp"
#include "lib/model/reader.hpp"
#include "lib/model/xml_parser.hpp"
#include "lib/model/xml_writer.hpp"

namespace leat::model::damaris {
namespace {

std::string head(const std::string& path) {
  return "<!-- Made by `leat convert` from " + std::filesystem::path(path).filename().string() +
         ", which is for Damaris. -->\n";
}

std::string text_of(const Translation& translation, const std::string& path) {
  std::vector<XmlComment> comments;
  for (const Remark& each : translation.remarks) comments.push_back({each.element, each.text()});
  return head(path) + xml_text(translation.root, comments);
}

}  // namespace

Converted convert_file(const std::string& path) {
  const ReadResult read = read_file(path);
  Converted result{std::nullopt, read.diagnostics};
  if (!read.model) return result;
  // The text that was read, so that file and diagnostics are of one state of it.
  DiagnosticList said;
  std::optional<XmlElement> root = parse_xml(read.model->source_text, path, said);
  if (root && !is_damaris(*root)) {
    result.diagnostics.push_back({Severity::error, root->where,
                                  "this is an XML for Leat already; there is nothing to convert"});
    return result;
  }
  if (!root) return result;
  expand_environment(*root, said);
  const Schema schema;
  if (const auto translation = translate(std::move(*root), schema, said))
    result.text = text_of(*translation, path);
  return result;
}

}  // namespace leat::model::damaris
