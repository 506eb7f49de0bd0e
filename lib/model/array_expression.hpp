// SPDX-License-Identifier: Apache-2.0
// expr="sqrt(u*u + v*v)" of a <variable>: what is computed of arrays, element by element.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace leat::model {

/// What a node of an expression does; array_ops.def says how.
enum class ArrayOp : std::uint8_t {
  input,   ///< an element of the input number `a`
  number,  ///< the same for all
  negative,
  choice,  ///< `where(a, b, c)`: b where a is not 0, else c
#define LEAT_ARRAY_UNARY(id, name, result) id,
#define LEAT_ARRAY_BINARY(id, name, result) id,
#define LEAT_ARRAY_OPERATOR(id, sign, level, from, result) id,
#include "lib/model/array_ops.def"
};

/// `a`, `b`, `c`: nodes before this one.
struct ArrayNode {
  ArrayOp op = ArrayOp::number;
  std::uint32_t a = 0, b = 0, c = 0;
  double number = 0;
};

/// An input that is made of neighbours along a dimension of what is named.
struct Along {
  /// d(u, x), mid(u, x), or neither.
  enum class What { nothing, derivative, middle } what = What::nothing;
  std::string dimension{};
  std::string
      becomes{};  ///< of mid(u, x_face, x): what the dimension is called then; "": it was not said

  bool operator==(const Along&) const = default;
  bool is_any() const noexcept { return what != What::nothing; }
  /// "d(u, x)".
  std::string text_of(const std::string& name, const char* comma = ", ") const;
};

struct ArrayExpression {
  std::string text;                ///< as written
  std::vector<std::string> names;  ///< of its inputs, each once, in the order in which they come
  std::vector<Along> along;        ///< by input
  std::vector<ArrayNode> nodes;    ///< each after those that it takes
  std::uint32_t result = 0;        ///< the node that it comes to

  /// It is the name of an array and nothing else.
  bool is_name() const noexcept {
    return nodes.size() == 1 && nodes[0].op == ArrayOp::input && !along[0].is_any();
  }
};

struct ParsedArrayExpression {
  ArrayExpression expression;
  std::string problem;  ///< "", or what is wrong, where, and what to write instead
};

/// What names mean is not looked at. One that is no identifier stands in quotes: 'fields/T' + 1. d(u, x) and mid(u, x) are inputs as u is.
ParsedArrayExpression parse_array_expression(const std::string& text);

}  // namespace leat::model
