// SPDX-License-Identifier: Apache-2.0
// muParser reads the text. What it would compute is noted instead of computed: its values are numbers of nodes, and its functions and
// operators are ours, each of which adds a node. So arrays are computed as fast as memory comes, and muParser's rules hold.
#include "lib/model/array_expression.hpp"

#include <muParser.h>

#include <cctype>
#include <cstdlib>
#include <deque>
#include <initializer_list>
#include <string_view>
#include <utility>

#include "lib/base/text.hpp"

namespace leat::model {
namespace {

// muParser calls without saying for whom.
thread_local ArrayExpression* noted_into = nullptr;

double note(ArrayOp op, std::initializer_list<double> arguments = {}, double number = 0) {
  ArrayNode node{op, 0, 0, 0, number};
  std::uint32_t* const places[] = {&node.a, &node.b, &node.c};
  std::size_t next = 0;
  for (const double argument : arguments) *places[next++] = static_cast<std::uint32_t>(argument);
  noted_into->nodes.push_back(node);
  return static_cast<double>(noted_into->nodes.size() - 1);
}

#define LEAT_ARRAY_UNARY(id, name, result) \
  double note_##id(double a) { return note(ArrayOp::id, {a}); }
#define LEAT_ARRAY_BINARY(id, name, result) \
  double note_##id(double a, double b) { return note(ArrayOp::id, {a, b}); }
#define LEAT_ARRAY_OPERATOR(id, sign, level, from, result) LEAT_ARRAY_BINARY(id, sign, result)
#include "lib/model/array_ops.def"

double note_negative(double a) { return note(ArrayOp::negative, {a}); }
double note_positive(double a) { return a; }
double note_choice(double a, double b, double c) { return note(ArrayOp::choice, {a, b, c}); }

// Digits, a point, an exponent: not the sign, which is an operator.
int note_number(const char* text, int* position, double* value) {
  if (!std::isdigit(static_cast<unsigned char>(*text)) && *text != '.') return 0;
  char* end = nullptr;
  const double number = std::strtod(text, &end);
  if (end == text) return 0;
  *position += static_cast<int>(end - text);
  *value = note(ArrayOp::number, {}, number);
  return 1;
}

constexpr std::pair<std::string_view, Along::What> kNeighbours[] = {{"d", Along::What::derivative},
                                                                    {"mid", Along::What::middle}};

class Reader {
 public:
  explicit Reader(const std::string& text) { parsed_.expression.text = text; }

  ParsedArrayExpression run() {
    if (!take_quoted_names()) return std::move(parsed_);
    noted_into = &parsed_.expression;
    try {
      prepare();
      parser_.SetExpr(plain_);
      parsed_.expression.result = static_cast<std::uint32_t>(parser_.Eval());
      if (parser_.GetNumResults() > 1) parsed_.problem = "there is a comma outside of a function";
    } catch (const mu::Parser::exception_type& e) {
      parsed_.problem = in_words(e);
    }
    if (parsed_.problem.empty() && parsed_.expression.names.empty())
      parsed_.problem = "it has no variable in it";
    return std::move(parsed_);
  }

 private:
  // muParser has no names with other letters: they get one of their own.
  bool take_quoted_names() {
    const std::string& text = parsed_.expression.text;
    for (std::size_t at = 0; at < text.size() && parsed_.problem.empty(); ++at) {
      if (text[at] == '\'') {
        at = take_quoted_name(at);
      } else if (const Along::What what = neighbours_at(at); what != Along::What::nothing) {
        at = take_neighbours(at, what);
      } else {
        plain_ += text[at];
        refuse_foreign(at);
      }
    }
    return parsed_.problem.empty();
  }

  // Returns where it ends.
  std::size_t take_quoted_name(std::size_t at) {
    const std::string& text = parsed_.expression.text;
    const std::size_t end = text.find('\'', at + 1);
    if (end == std::string::npos || end == at + 1) {
      parsed_.problem =
          "the quote ' at letter " + std::to_string(at + 1) + " has no end, or nothing in it";
      return at;
    }
    quote({text.substr(at + 1, end - at - 1), {}});
    return end;
  }

  struct Input {
    std::string name;
    Along along;
  };

  void quote(Input input) {
    quoted_.push_back(std::move(input));
    plain_ += "_leat_quoted_" + std::to_string(quoted_.size() - 1) + "_";
  }

  static bool is_letter(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

  // "d(" or "mid(" that is no end of a longer name.
  Along::What neighbours_at(std::size_t at) const {
    const std::string& text = parsed_.expression.text;
    if (at > 0 && is_letter(text[at - 1])) return Along::What::nothing;
    for (const auto& [name, what] : kNeighbours) {
      if (text.compare(at, name.size(), name) != 0) continue;
      const std::size_t open = text.find_first_not_of(' ', at + name.size());
      if (open != std::string::npos && text[open] == '(') return what;
    }
    return Along::What::nothing;
  }

  // A name, in quotes or not, and what ends it.
  std::string name_up_to(char end, std::size_t* at) const {
    const std::string& text = parsed_.expression.text;
    std::string name;
    std::size_t next = text.find_first_not_of(' ', *at);
    const bool is_quoted = next != std::string::npos && text[next] == '\'';
    if (is_quoted) ++next;
    while (next < text.size() && (is_quoted ? text[next] != '\'' : is_letter(text[next])))
      name += text[next++];
    next = text.find_first_not_of(' ', is_quoted ? next + 1 : next);
    if (next == std::string::npos || text[next] != end) return "";
    *at = next + 1;
    return name;
  }

  // Returns where it ends.
  std::size_t take_neighbours(std::size_t at, Along::What what) {
    std::size_t end = parsed_.expression.text.find('(', at) + 1;
    Input input{name_up_to(',', &end), {what}};
    Along& along = input.along;
    const std::size_t before = end;
    if (!input.name.empty()) along.dimension = name_up_to(')', &end);
    if (along.dimension.empty() && what == Along::What::middle && !input.name.empty()) {
      end = before;
      along.dimension = name_up_to(',', &end);
      along.becomes = name_up_to(')', &end);
      if (along.becomes.empty()) along.dimension.clear();
    }
    if (!along.dimension.empty()) {
      quote(std::move(input));
      return end - 1;
    }
    parsed_.problem =
        Along{what, "x"}.text_of("u") + " at letter " + std::to_string(at + 1) +
        " is of a variable, along one of its dimensions: let what is computed be a variable of its "
        "own, with store=\"none\"";
    return at;
  }

  // What other languages have.
  void refuse_foreign(std::size_t at) {
    const std::string& text = parsed_.expression.text;
    const auto is_one_of = [](char c, const char* all) {
      return std::string_view(all).find(c) != std::string_view::npos;
    };
    if (text[at] == '?') parsed_.problem = "\"a ? b : c\" is written where(a, b, c)";
    if (text[at] == '"') parsed_.problem = "names are quoted by ', as in 'fields/T'";
    const bool compares = (at > 0 && is_one_of(text[at - 1], "=<>!")) ||
                          (at + 1 < text.size() && text[at + 1] == '=');
    if (text[at] == '=' && !compares)
      parsed_.problem = "\"=\" gives nothing a value here; to compare write \"==\"";
  }

  void prepare() {
    parser_.ClearFun();
    parser_.ClearConst();
    parser_.ClearInfixOprt();
    parser_.ClearPostfixOprt();
    parser_.EnableBuiltInOprt(false);
    parser_.EnableOptimizer(false);
    parser_.AddValIdent(note_number);
    parser_.DefineInfixOprt("-", note_negative);
    parser_.DefineInfixOprt("+", note_positive);
    parser_.DefineFun("where", note_choice, false);
#define LEAT_ARRAY_UNARY(id, name, result) parser_.DefineFun(name, note_##id, false);
#define LEAT_ARRAY_BINARY(id, name, result) parser_.DefineFun(name, note_##id, false);
#define LEAT_ARRAY_OPERATOR(id, sign, level, from, result) \
  parser_.DefineOprt(sign, note_##id, mu::level, mu::from, false);
#include "lib/model/array_ops.def"
    parser_.SetVarFactory(
        [](const char* name, void* self) { return static_cast<Reader*>(self)->input(name); }, this);
  }

  double* input(const std::string& name) {
    static const std::string kQuoted = "_leat_quoted_";
    const bool is_quoted = name.compare(0, kQuoted.size(), kQuoted) == 0;
    std::vector<std::string>& names = parsed_.expression.names;
    std::vector<Along>& along = parsed_.expression.along;
    const Input full =
        is_quoted ? quoted_[std::stoul(name.substr(kQuoted.size()))] : Input{name, {}};
    std::uint32_t number = 0;
    while (number < names.size() && (names[number] != full.name || !(along[number] == full.along)))
      ++number;
    if (number == names.size()) {
      names.push_back(full.name);
      along.push_back(full.along);
    }
    values_.push_back(note(ArrayOp::input, {static_cast<double>(number)}));
    return &values_.back();
  }

  static std::vector<std::string> functions() {
    return {
        "where",
        "d",
        "mid",
#define LEAT_ARRAY_UNARY(id, name, result) name,
#define LEAT_ARRAY_BINARY(id, name, result) name,
#include "lib/model/array_ops.def"
    };
  }

  // What stands in front of a parenthesis.
  std::string called_before(std::size_t end) const {
    while (end > 0 && plain_[end - 1] == ' ') --end;
    std::size_t begin = end;
    while (begin > 0 && is_letter(plain_[begin - 1])) --begin;
    return plain_.substr(begin, end - begin);
  }

  std::string in_words(const mu::Parser::exception_type& e) const {
    const std::string token = e.GetToken();
    switch (e.GetCode()) {
      case mu::ecUNEXPECTED_PARENS:
        if (const std::string name = called_before(static_cast<std::size_t>(e.GetPos()));
            token == "(" && !name.empty())
          return "there is no function \"" + name + "\"" + did_you_mean(name, functions());
        [[fallthrough]];
      case mu::ecUNASSIGNABLE_TOKEN:
      case mu::ecUNEXPECTED_OPERATOR:
      case mu::ecUNEXPECTED_ARG:
      case mu::ecUNEXPECTED_ARG_SEP:
      case mu::ecUNEXPECTED_VAL:
      case mu::ecUNEXPECTED_VAR:
      case mu::ecUNEXPECTED_FUN:
        return "\"" + token + "\" at letter " + std::to_string(e.GetPos() + 1) +
               " does not belong there";
      case mu::ecUNEXPECTED_EOF:
        return "it ends where something has to follow";
      case mu::ecEMPTY_EXPRESSION:
        return "it is empty";
      case mu::ecMISSING_PARENS:
        return "a parenthesis has no end";
      case mu::ecTOO_MANY_PARAMS:
      case mu::ecTOO_FEW_PARAMS:
        return "the function \"" + token + "\" has " +
               (e.GetCode() == mu::ecTOO_MANY_PARAMS ? "too many" : "too few") + " arguments";
      default:
        return e.GetMsg();
    }
  }

  ParsedArrayExpression parsed_;
  std::string plain_;
  std::vector<Input> quoted_;
  mu::Parser parser_;
  std::deque<double> values_;  // muParser has them by address
};

}  // namespace

std::string Along::text_of(const std::string& name, const char* comma) const {
  for (const auto& [function, its] : kNeighbours) {
    if (its == what)
      return std::string(function) + "(" + name + comma + dimension +
             (becomes.empty() ? "" : comma + becomes) + ")";
  }
  return name;
}

ParsedArrayExpression parse_array_expression(const std::string& text) { return Reader(text).run(); }

}  // namespace leat::model
