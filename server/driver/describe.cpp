// SPDX-License-Identifier: Apache-2.0
#include "server/driver/describe.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <set>
#include <variant>

#include "lib/base/scalar.hpp"
#include "lib/base/status.hpp"
#include "lib/model/reader.hpp"
#include "lib/model/words.hpp"

namespace leat::server {
namespace {

std::string in_one_line(const std::string& text) {
  std::string line;
  for (const char c : text) {
    const char letter = c == '\t' ? 't' : c == '\n' ? 'n' : c == '\\' ? '\\' : '\0';
    line += letter ? std::string{'\\', letter} : std::string(1, c);
  }
  return line;
}

std::string exactly(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.17g", value);
  return text;
}

std::string parameter_line(const model::Parameter& parameter) {
  struct Words {
    std::string operator()(std::monostate) const { return ""; }
    std::string operator()(std::int64_t value) const { return "\t" + std::to_string(value); }
    std::string operator()(double value) const { return "\t" + exactly(value); }
    std::string operator()(const std::string& value) const { return "\t" + in_one_line(value); }
  };
  return "parameter\t" + parameter.name + "\t" + model::word_of(parameter.kind) +
         std::visit(Words{}, parameter.value) + "\n";
}

// Damaris' XML has them as char, and what `leat convert` makes of it as uint8.
std::set<std::uint32_t> types_of_cells(const model::Model& model) {
  std::set<std::uint32_t> variables;
  for (const model::Mesh& mesh : model.meshes) {
    if (mesh.types) variables.insert(*mesh.types);
  }
  return variables;
}

bool write_whole(int fd, const std::string& text) {
  for (std::size_t at = 0; at < text.size();) {
    const ssize_t written = ::write(fd, text.data() + at, text.size() - at);
    if (written < 0 && errno != EINTR) return false;
    if (written > 0) at += static_cast<std::size_t>(written);
  }
  return true;
}

}  // namespace

std::string description_of(const model::Model& model) {
  const model::Architecture& architecture = model.architecture;
  std::string text = std::string("place\t") + model::word_of(architecture.place) + "\t" +
                     std::to_string(architecture.dedicated_cores) + "\t" +
                     std::to_string(architecture.servers) + "\n";
  for (const model::Parameter& parameter : model.parameters) text += parameter_line(parameter);
  const std::set<std::uint32_t> of_cells = types_of_cells(model);
  for (std::uint32_t number = 0; number < model.variables.size(); ++number) {
    const model::Variable& variable = model.variables[number];
    const model::Layout& layout = model.layouts[variable.layout];
    text += "type\t" + variable.name + "\t" +
            (of_cells.contains(number) ? "char" : std::string(scalar_name(layout.type))) + "\n";
    if (layout.has_global)
      text += "variable\t" + variable.name + "\t" + std::to_string(layout.blocks) + "\n";
  }
  return text;
}

int describe_to(const std::string& config, int fd) {
  const model::ReadResult read = model::read_file(config);
  if (read.model) return write_whole(fd, "described\n" + description_of(*read.model)) ? 0 : 1;
  std::string errors = model::format(read.diagnostics);
  if (!errors.empty()) errors.pop_back();
  write_whole(fd, std::to_string(static_cast<int>(Status::ERROR_CONFIG)) + "\n" + errors);
  return 2;
}

}  // namespace leat::server
