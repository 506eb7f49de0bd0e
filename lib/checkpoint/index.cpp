// SPDX-License-Identifier: Apache-2.0
#include "lib/checkpoint/index.hpp"

#include <charconv>
#include <cstdio>
#include <cstdlib>

#include "lib/os/crc32c.hpp"

namespace leat::checkpoint {
namespace {

constexpr std::string_view kFirstLine = "leat-checkpoint\t1";
constexpr std::string_view kEnd = "end\t";
constexpr std::size_t kHexDigits = 8;

std::string escaped(std::string_view text) {
  std::string safe;
  for (const char each : text) {
    if (each == '\\') safe += "\\\\";
    if (each == '\t') safe += "\\t";
    if (each == '\n') safe += "\\n";
    if (each != '\\' && each != '\t' && each != '\n') safe += each;
  }
  return safe;
}

std::string unescaped(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool stands_for_another = text[i] == '\\' && i + 1 < text.size();
    if (!stands_for_another) {
      plain += text[i];
      continue;
    }
    const char letter = text[++i];
    plain += letter == 't' ? '\t' : letter == 'n' ? '\n' : letter;
  }
  return plain;
}

std::string hex(std::uint32_t number) {
  char text[kHexDigits + 1];
  std::snprintf(text, sizeof text, "%08x", number);
  return text;
}

// "-" for none: no word is empty.
template <class Numbers, class Text>
std::string list(const Numbers& numbers, Text text) {
  std::string all;
  for (const auto& each : numbers) all += (all.empty() ? "" : ",") + text(each);
  return all.empty() ? "-" : all;
}

std::string list(const std::vector<std::int64_t>& numbers) {
  return list(numbers, [](std::int64_t number) { return std::to_string(number); });
}

std::string text_of(const Ranks& ranks) {
  return list(ranks, [](const auto& range) {
    return std::to_string(range.first) + "-" + std::to_string(range.second);
  });
}

std::string line_of(const Parameter& parameter) {
  const std::string name = escaped(parameter.name) + "\t";
  if (std::holds_alternative<std::int64_t>(parameter.value))
    return "int\t" + name + std::to_string(as_integer(parameter.value));
  if (std::holds_alternative<std::string>(parameter.value))
    return "string\t" + name + escaped(as_text(parameter.value));
  char text[32];
  std::snprintf(text, sizeof text, "%.17g", as_real(parameter.value));
  return "double\t" + name + text;
}

std::string line_of(const Block& block) {
  std::string line = std::to_string(block.variable);
  const auto add = [&line](const std::string& word) { line += "\t" + word; };
  add(std::to_string(block.rank));
  add(std::to_string(block.block));
  add(std::to_string(block.offset));
  add(std::to_string(block.bytes));
  add(list(block.extent));
  const bool in_level = block.place == Block::Place::in_level;
  add(in_level ? std::to_string(block.level) : "-");
  add(list(block.position));
  add(list(block.global));
  add(list(block.sums, hex));
  return line;
}

}  // namespace

std::string to_text(const Index& index) {
  std::string text(kFirstLine);
  const auto add = [&text](const char* what, const std::string& words) {
    text += std::string("\n") + what + "\t" + words;
  };
  add("simulation", escaped(index.simulation));
  add("session", escaped(index.session));
  add("server", std::to_string(index.server));
  add("iteration", std::to_string(index.iteration));
  add("generation", std::to_string(index.generation));
  add("ranks", std::to_string(index.ranks));
  add("own", text_of(index.own));
  add("bytes", std::to_string(index.bytes));
  add("piece", std::to_string(kPiece));
  for (const Parameter& each : index.parameters) add("parameter", line_of(each));
  for (const Variable& each : index.variables)
    add("variable", escaped(each.name) + "\t" + scalar_name(each.type) + "\t" +
                        list(each.ghosts_before) + "\t" + list(each.ghosts_behind));
  for (const Block& each : index.blocks) add("block", line_of(each));
  text += "\n";
  return text + std::string(kEnd) + hex(os::crc32c(text.data(), text.size())) + "\n";
}

namespace {

// The words of a line, one after the other. What is no number is remembered.
class Words {
 public:
  explicit Words(std::string_view line) : left_(line) {}

  std::string_view next() {
    const std::size_t tab = left_.find('\t');
    const std::string_view word = left_.substr(0, tab);
    if (left_.data() == nullptr) is_good_ = false;
    left_ = tab == std::string_view::npos ? std::string_view() : left_.substr(tab + 1);
    return word;
  }
  std::string text() { return unescaped(next()); }
  template <class Number>
  Number number() {
    return number_in<Number>(next(), 10);
  }
  template <class Number>
  std::vector<Number> numbers(int base = 10) {
    std::vector<Number> all;
    std::string_view word = next();
    if (word == "-") return all;
    for (;;) {
      const std::size_t comma = word.find(',');
      all.push_back(number_in<Number>(word.substr(0, comma), base));
      if (comma == std::string_view::npos) return all;
      word.remove_prefix(comma + 1);
    }
  }
  Ranks ranks() {
    Ranks all;
    std::string_view word = next();
    while (!word.empty() && word != "-") {
      const std::size_t comma = word.find(','), to = word.find('-');
      if (to > comma) return is_good_ = false, all;
      all.emplace_back(number_in<std::int64_t>(word.substr(0, to), 10),
                       number_in<std::int64_t>(word.substr(to + 1, comma - to - 1), 10));
      word = comma == std::string_view::npos ? std::string_view() : word.substr(comma + 1);
    }
    return all;
  }
  double real() {
    const std::string word(next());
    char* end = nullptr;
    const double value = std::strtod(word.c_str(), &end);
    is_good_ = is_good_ && !word.empty() && *end == 0;
    return value;
  }
  bool is_good() const { return is_good_; }
  void fail() { is_good_ = false; }

 private:
  template <class Number>
  Number number_in(std::string_view word, int base) {
    Number value{};
    const auto [end, fault] = std::from_chars(word.data(), word.data() + word.size(), value, base);
    is_good_ = is_good_ && fault == std::errc{} && end == word.data() + word.size();
    return value;
  }

  std::string_view left_;
  bool is_good_ = true;
};

Parameter parameter_in(Words& words) {
  const std::string_view kind = words.next();
  Parameter parameter{words.text(), {}};
  if (kind == "int")
    parameter.value = words.number<std::int64_t>();
  else if (kind == "double")
    parameter.value = words.real();
  else
    parameter.value = words.text();
  return parameter;
}

Variable variable_in(Words& words) {
  Variable variable;
  variable.name = words.text();
  const auto type = scalar_from_name(words.next());
  if (!type) words.fail();
  variable.type = type.value_or(ScalarType::float64);
  variable.ghosts_before = words.numbers<std::int64_t>();
  variable.ghosts_behind = words.numbers<std::int64_t>();
  if (variable.ghosts_before.size() != variable.ghosts_behind.size()) words.fail();
  return variable;
}

// What a sum and a length say is not doubted any more, but what is computed with stays within memory.
bool fits(const Block& block, const Variable& variable) {
  const std::size_t dims = variable.ghosts_before.size();
  std::uint64_t bytes = scalar_bytes(variable.type);
  for (const std::int64_t each : block.extent) {
    const bool is_too_much = each < 0 || __builtin_mul_overflow(bytes, each, &bytes);
    if (is_too_much) return false;
  }
  const bool in_global = block.place == Block::Place::in_global;
  return block.extent.size() == dims && bytes == block.bytes &&
         block.sums.size() == (bytes + kPiece - 1) / kPiece &&
         (block.place == Block::Place::none || block.position.size() == dims) &&
         (!in_global || block.global.size() == dims);
}

Block block_in(std::uint32_t variable, Words& words) {
  Block block;
  block.variable = variable;
  block.rank = words.number<std::int32_t>();
  block.block = words.number<std::uint32_t>();
  block.offset = words.number<std::uint64_t>();
  block.bytes = words.number<std::uint64_t>();
  block.extent = words.numbers<std::int64_t>();
  const std::vector<std::int64_t> level = words.numbers<std::int64_t>();
  block.position = words.numbers<std::int64_t>();
  block.global = words.numbers<std::int64_t>();
  block.sums = words.numbers<std::uint32_t>(16);
  if (!block.global.empty()) block.place = Block::Place::in_global;
  if (!level.empty()) block.place = Block::Place::in_level;
  block.level = level.empty() ? 0 : static_cast<std::int32_t>(level[0]);
  return block;
}

class Reader {
 public:
  explicit Reader(const Wanted& wanted) : wanted_(wanted) {}

  bool take(std::string_view line) {
    Words words(line);
    const std::string_view what = words.next();
    if (what == "block") return take_block(words);
    if (what == "variable") index_.variables.push_back(variable_in(words));
    if (what == "parameter") index_.parameters.push_back(parameter_in(words));
    if (what == "simulation") index_.simulation = words.text();
    if (what == "session") index_.session = words.text();
    if (what == "server") index_.server = words.number<std::int64_t>();
    if (what == "iteration") index_.iteration = words.number<std::int64_t>();
    if (what == "generation") index_.generation = words.number<std::int64_t>();
    if (what == "ranks") index_.ranks = words.number<std::int64_t>();
    if (what == "own") index_.own = words.ranks();
    if (what == "bytes") index_.bytes = words.number<std::uint64_t>();
    if (what == "piece" && words.number<std::uint64_t>() != kPiece) words.fail();
    return words.is_good();
  }
  Index& index() { return index_; }

 private:
  bool take_block(Words& words) {
    const auto number = words.number<std::uint32_t>();
    if (number >= index_.variables.size()) return false;
    const Variable& variable = index_.variables[number];
    const bool is_wanted =
        wanted_.blocks && (wanted_.variable.empty() || wanted_.variable == variable.name);
    if (!is_wanted) return true;
    index_.blocks.push_back(block_in(number, words));
    return words.is_good() && fits(index_.blocks.back(), variable);
  }

  Wanted wanted_;
  Index index_;
};

Error damaged(const std::string& why) { return {Status::ERROR_SYSTEM, why}; }

}  // namespace

Result<Index> index_of(std::string_view text, const Wanted& wanted) {
  if (!text.starts_with(std::string(kFirstLine) + "\n"))
    return damaged("it is no index of a checkpoint, or of a newer Leat");
  const std::size_t last = kEnd.size() + kHexDigits + 1;
  const bool has_end = text.size() >= last && text.ends_with('\n') &&
                       text.substr(text.size() - last, kEnd.size()) == kEnd;
  if (!has_end) return damaged("its index is cut off");
  const std::string_view body = text.substr(0, text.size() - last);
  const std::uint32_t sum = os::crc32c(body.data(), body.size());
  if (text.substr(body.size() + kEnd.size(), kHexDigits) != hex(sum))
    return damaged("its index is damaged: it has another checksum than it says");
  Reader reader(wanted);
  std::string_view left = body.substr(kFirstLine.size() + 1);
  while (!left.empty()) {
    const std::size_t end = left.find('\n');
    if (end == std::string_view::npos || !reader.take(left.substr(0, end)))
      return damaged("its index says what cannot be");
    left.remove_prefix(end + 1);
  }
  reader.index().sum = sum;
  return std::move(reader.index());
}

}  // namespace leat::checkpoint
