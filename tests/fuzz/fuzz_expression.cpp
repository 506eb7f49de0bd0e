// SPDX-License-Identifier: Apache-2.0
// Texts of expressions, and programs as a corrupt catalogue could hold them.
#include <vector>

#include "lib/base/expression.hpp"
#include "lib/model/expression_parser.hpp"
#include "tests/fuzz/target.hpp"

namespace {

using namespace leat;

// Of exact size on the heap, where the address sanitizer sees every step too far.
struct Values {
  explicit Values(fuzz::Input& input) {
    const std::uint32_t count = input.below(5);
    for (std::uint32_t i = 0; i < count; ++i) {
      set.push_back(input.below(4) != 0);
      values.push_back(input.number());
    }
    values.shrink_to_fit();
    set.shrink_to_fit();
  }
  ParameterValues view() const { return {values.data(), set.data(), values.size()}; }
  std::vector<std::int64_t> values;
  std::vector<std::uint8_t> set;
};

std::vector<model::Parameter> parameters(std::size_t count) {
  const char* names[] = {"nx", "ny", "py", "n"};
  std::vector<model::Parameter> all;
  for (std::size_t i = 0; i < count; ++i) {
    all.emplace_back();
    all.back().name = names[i];
  }
  all.emplace_back();
  all.back().name = "dt";
  all.back().kind = model::Parameter::Kind::real;
  return all;
}

void parse(fuzz::Input& input, const Values& values) {
  const std::string text = input.rest();
  const model::ParsedExpression parsed =
      model::parse_expression(text, parameters(values.values.size()));
  fuzz::promise(parsed.program.empty() != parsed.problem.empty(), "a program or a problem");
  if (!parsed.problem.empty()) {
    fuzz::promise(parsed.column >= 1 && parsed.column <= text.size() + 1, "a column of the text");
    fuzz::promise(!model::problem_text(parsed, text).empty(), "a problem has words");
    return;
  }
  const ExpressionValue value =
      evaluate(parsed.program.data(), parsed.program.size(), values.view());
  fuzz::promise(value.fault != ExpressionFault::malformed, "what was parsed is well formed");
}

void run_any_program(fuzz::Input& input, const Values& values) {
  std::vector<ExpressionOp> program;
  while (!input.empty()) {
    ExpressionOp op{};
    op.kind = input.below(10) < 9 ? input.below(9) : input.take<std::uint32_t>();
    op.index = input.below(8) < 7 ? input.below(6) : input.take<std::uint32_t>();
    op.value = input.number();
    program.push_back(op);
  }
  program.shrink_to_fit();
  const ExpressionValue value = evaluate(program.data(), program.size(), values.view());
  fuzz::promise(fault_text(value.fault) != nullptr, "a fault has words");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input input(data, size);
  const bool is_text = input.below(2) == 0;
  const Values values(input);
  is_text ? parse(input, values) : run_any_program(input, values);
  return 0;
}
