// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/analytics/values.hpp"

#include <stdexcept>

namespace leat::analytics {

bool is_numeric(const leat_variable& variable) {
  return variable.type >= LEAT_INT8 && variable.type <= LEAT_FLOAT64;
}

std::vector<const leat_variable*> numeric_variables(const leat_run& run) {
  std::vector<const leat_variable*> variables;
  for (std::uint64_t i = 0; i < run.variable_count; ++i) {
    const leat_variable* const variable = leat_variable_at(&run, i);
    if (is_numeric(*variable)) variables.push_back(variable);
  }
  return variables;
}

Scope scope_of(const leat_run& run) {
  const std::string scope = option(run.options, run.option_count, "scope", "run");
  if (scope == "run") return Scope::run;
  if (scope == "node") return Scope::node;
  throw std::invalid_argument("option scope=\"" + scope + "\": \"run\" or \"node\" is wanted");
}

std::string product_name(const leat_variable& variable) {
  std::string name = variable.name;
  std::replace(name.begin(), name.end(), '/', '.');
  return name;
}

std::uint64_t element_count(const leat_variable& variable, const leat_block& block) {
  std::uint64_t elements = 1;
  for (std::uint32_t d = 0; d < variable.dims; ++d)
    elements *= static_cast<std::uint64_t>(own_extent(variable, block, d));
  return elements;
}

std::vector<Piece> pieces_of(const leat_run& run, const leat_iteration_data& data) {
  std::vector<Piece> pieces;
  for (const leat_block& block : Blocks(data)) {
    const leat_variable& variable = *leat_variable_at(&run, block.variable);
    if (!is_numeric(variable)) continue;
    const std::uint64_t elements = element_count(variable, block);
    for (std::uint64_t first = 0; first < elements; first += kPieceElements)
      pieces.push_back({&variable, &block, first, std::min(kPieceElements, elements - first)});
  }
  return pieces;
}

std::uint64_t detail::row_offset(const Piece& piece, std::uint64_t row) {
  const leat_variable& variable = *piece.variable;
  const leat_block& block = *piece.block;
  std::uint64_t offset =
      static_cast<std::uint64_t>(variable.dimension[variable.dims - 1].ghost_low);
  auto stride = static_cast<std::uint64_t>(block.extent[variable.dims - 1]);
  for (std::uint32_t d = variable.dims - 1; d-- > 0;) {
    const auto own = static_cast<std::uint64_t>(own_extent(variable, block, d));
    offset += (static_cast<std::uint64_t>(variable.dimension[d].ghost_low) + row % own) * stride;
    row /= own;
    stride *= static_cast<std::uint64_t>(block.extent[d]);
  }
  return offset;
}

}  // namespace leat::analytics
