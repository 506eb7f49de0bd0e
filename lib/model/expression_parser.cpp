// SPDX-License-Identifier: Apache-2.0
#include "lib/model/expression_parser.hpp"

#include <algorithm>
#include <charconv>

#include "lib/base/text.hpp"
#include "lib/model/words.hpp"

namespace leat::model {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool begins_name(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool in_word(char c) { return begins_name(c) || is_digit(c); }

// Recursive descent that emits postfix. Every function returns false once problem_ is set.
class ExpressionParser {
 public:
  ExpressionParser(std::string_view text, const std::vector<Parameter>& parameters)
      : text_(text), parameters_(parameters) {}

  ParsedExpression run() {
    bool good = sum(0);
    if (good && peek() != '\0') good = unexpected("expected an operator or the end");
    if (!good) program_.clear();
    return {std::move(program_), std::move(problem_), column_};
  }

 private:
  bool sum(std::size_t nesting) {
    if (!product(nesting)) return false;
    for (char op = peek(); op == '+' || op == '-'; op = peek()) {
      ++at_;
      if (!product(nesting)) return false;
      emit({op == '+' ? ExpressionOp::add : ExpressionOp::subtract, 0, 0}, 2);
    }
    return true;
  }

  bool product(std::size_t nesting) {
    if (!factor(nesting)) return false;
    for (char op = peek(); op == '*' || op == '/' || op == '%'; op = peek()) {
      const std::size_t sign_at = at_++;
      const std::size_t right = program_.size();
      if (!factor(nesting)) return false;
      if (op != '*' && is_constant_zero(right)) return fail(sign_at, "division by zero");
      const auto kind = op == '*'   ? ExpressionOp::multiply
                        : op == '/' ? ExpressionOp::divide
                                    : ExpressionOp::modulo;
      emit({kind, 0, 0}, 2);
    }
    return true;
  }

  bool factor(std::size_t nesting) {
    bool negative = false;
    for (; peek() == '-'; ++at_) negative = !negative;
    if (!atom(nesting)) return false;
    if (negative) emit({ExpressionOp::negate, 0, 0}, 1);
    return true;
  }

  bool atom(std::size_t nesting) {
    const char c = peek();
    if (c == '(') return parentheses(nesting);
    if (is_digit(c)) return number();
    if (begins_name(c)) return name();
    return unexpected("expected a number, a parameter or \"(\"");
  }

  bool parentheses(std::size_t nesting) {
    const std::size_t open_at = at_++;
    if (nesting + 1 > kMaxExpressionDepth) return too_deep(open_at);
    if (!sum(nesting + 1)) return false;
    if (peek() == '\0') return fail(open_at, "\"(\" is not closed");
    if (peek() != ')') return unexpected("expected an operator or \")\"");
    ++at_;
    return true;
  }

  bool number() {
    std::int64_t value = 0;
    const char* begin = text_.data() + at_;
    const auto [end, fault] = std::from_chars(begin, text_.data() + text_.size(), value);
    const std::size_t from = at_;
    at_ += static_cast<std::size_t>(end - begin);
    if (fault != std::errc{}) return fail(from, "the number does not fit into 64 bits");
    return push({ExpressionOp::constant, 0, value}, from);
  }

  bool name() {
    const std::size_t from = at_;
    while (at_ < text_.size() && in_word(text_[at_])) ++at_;
    const std::string_view name = text_.substr(from, at_ - from);
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      if (parameters_[i].name != name) continue;
      if (parameters_[i].kind != Parameter::Kind::integer) return not_integer(from, parameters_[i]);
      return push({ExpressionOp::parameter, static_cast<std::uint32_t>(i), 0}, from);
    }
    return fail(from, "unknown parameter \"" + std::string(name) + "\"", hint(name));
  }

  bool not_integer(std::size_t from, const Parameter& parameter) {
    return fail(from, "parameter \"" + parameter.name + "\" is of type " + word_of(parameter.kind) +
                          ", only those of type int can be used here");
  }

  std::string hint(std::string_view name) const {
    std::vector<std::string> names;
    for (const Parameter& each : parameters_) {
      if (each.kind == Parameter::Kind::integer) names.push_back(each.name);
    }
    if (names.empty()) return "; there is no parameter of type int";
    return did_you_mean(name, names);
  }

  bool push(const ExpressionOp& op, std::size_t from) {
    if (++depth_ > kMaxExpressionDepth) return too_deep(from);
    program_.push_back(op);
    return true;
  }

  void emit(const ExpressionOp& op, std::size_t operands) {
    depth_ -= operands - 1;
    program_.push_back(op);
  }

  // Whether the program from `begin` on names no parameter and gives zero.
  bool is_constant_zero(std::size_t begin) const {
    const ExpressionValue value =
        evaluate(program_.data() + begin, program_.size() - begin, {nullptr, nullptr, 0});
    return value.fault == ExpressionFault::none && value.value == 0;
  }

  char peek() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }

  bool unexpected(const std::string& expected) {
    if (peek() == '\0' && at_ >= text_.size()) return fail(at_, expected + " at the end");
    std::size_t bytes = 1;  // the whole word, or character of several bytes of UTF-8
    const auto goes_on = [&](char c) {
      return (c & 0xC0) == 0x80 || (in_word(text_[at_]) && in_word(c));
    };
    while (at_ + bytes < text_.size() && goes_on(text_[at_ + bytes])) ++bytes;
    const std::string word(text_.substr(at_, bytes));
    return fail(at_, "\"" + word + "\" is unexpected, " + expected);
  }

  bool too_deep(std::size_t from) {
    return fail(from, "nested more than " + std::to_string(kMaxExpressionDepth) + " deep");
  }

  bool fail(std::size_t at, std::string problem, const std::string& hint = "") {
    problem_ = std::move(problem) + hint;
    column_ = at + 1;
    return false;
  }

  std::string_view text_;
  const std::vector<Parameter>& parameters_;
  std::size_t at_ = 0;
  std::size_t depth_ = 0;  ///< of the stack when the program so far has run
  std::vector<ExpressionOp> program_;
  std::string problem_;
  std::size_t column_ = 0;
};

}  // namespace

ParsedExpression parse_expression(std::string_view text, const std::vector<Parameter>& parameters) {
  return ExpressionParser(text, parameters).run();
}

std::string problem_text(const ParsedExpression& parsed, std::string_view text) {
  constexpr std::size_t kQuoted = 60;
  const std::string quoted =
      text.size() > kQuoted ? std::string(text.substr(0, kQuoted)) + "..." : std::string(text);
  return "column " + std::to_string(parsed.column) + " of \"" + quoted + "\": " + parsed.problem;
}

}  // namespace leat::model
