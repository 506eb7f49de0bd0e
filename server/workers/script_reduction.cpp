// SPDX-License-Identifier: Apache-2.0
#include "server/workers/script_reduction.hpp"

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>
#include <variant>
#include <vector>

namespace leat::server {
namespace {

using nlohmann::json;

constexpr std::size_t kOwnColumns = 2;  // how many gave, and the signature

// The data of a frame, column by column.
class ColumnBytes {
 public:
  explicit ColumnBytes(const std::string& data) : data_(data) {}

  std::string take(std::uint64_t bytes) {
    if (bytes > data_.size() - at_) throw std::invalid_argument("the data are too short");
    at_ += bytes;
    return data_.substr(at_ - bytes, bytes);
  }
  template <class T>
  std::vector<T> take_numbers(std::uint64_t count) {
    if (count > kMostReducedNumbers)
      throw std::invalid_argument("more than " + std::to_string(kMostReducedNumbers) +
                                  " numbers in one call");
    const std::string bytes = take(count * sizeof(T));
    std::vector<T> numbers(count);
    std::memcpy(numbers.data(), bytes.data(), bytes.size());
    return numbers;
  }

 private:
  const std::string& data_;
  std::uint64_t at_ = 0;
};

std::uint64_t natural_in(const json& told, const char* key, std::int64_t otherwise) {
  const std::int64_t number = integer_of(member_of(told, key)).value_or(otherwise);
  return number < 0 ? UINT64_MAX : static_cast<std::uint64_t>(number);
}

comm::Op op_in(const json& told) {
  const std::string op = text_in(told, "op");
  if (op == "sum") return comm::Op::sum;
  if (op == "min") return comm::Op::min;
  if (op == "max") return comm::Op::max;
  throw std::invalid_argument("no operation is called \"" + op + "\"");
}

comm::Sums sums_of(const std::vector<double>& terms, std::uint64_t count) {
  comm::Sums sums{std::vector<comm::ExactSum>(count)};
  for (std::size_t i = 0; i < terms.size(); ++i)
    sums.values[i * count / terms.size()].add(terms[i]);
  return sums;
}

comm::Column column_in(const json& told, ColumnBytes* data, comm::Rank self) {
  const std::string kind = text_in(told, "kind");
  const std::uint64_t count = natural_in(told, "count", -1), terms = natural_in(told, "terms", 1);
  if (kind == "gather") {
    if (count > kMostGatheredBytes)
      throw std::invalid_argument("more than " + std::to_string(kMostGatheredBytes) +
                                  " bytes of one server");
    return comm::Gathered{{{self, data->take(count)}}};
  }
  if (count > kMostReducedNumbers || terms > kMostReducedNumbers)
    return comm::Integers{comm::Op::sum, data->take_numbers<std::int64_t>(UINT64_MAX)};  // throws
  if (kind == "sums") return sums_of(data->take_numbers<double>(count * terms), count);
  if (kind == "integers")
    return comm::Integers{op_in(told), data->take_numbers<std::int64_t>(count)};
  if (kind == "reals") return comm::Reals{op_in(told), data->take_numbers<double>(count)};
  throw std::invalid_argument("no column is of the kind \"" + kind + "\"");
}

template <class T>
void append_numbers(const std::vector<T>& numbers, std::string* data) {
  data->append(reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(T));
}

void append_column(const comm::Integers& column, json*, std::string* data) {
  append_numbers(column.values, data);
}
void append_column(const comm::Reals& column, json*, std::string* data) {
  append_numbers(column.values, data);
}
void append_column(const comm::Sums& column, json*, std::string* data) {
  std::vector<double> values;
  for (const comm::ExactSum& each : column.values) values.push_back(each.value());
  append_numbers(values, data);
}
void append_column(const comm::Gathered& column, json* told, std::string* data) {
  for (const auto& [rank, part] : column.parts) {
    (*told)["ranks"].push_back(rank);
    (*told)["sizes"].push_back(part.size());
    *data += part;
  }
}

// The greatest signature, and the negative of the least.
bool are_alike(const comm::Columns& columns) {
  const std::vector<std::int64_t>& both = std::get<comm::Integers>(columns[1]).values;
  return both[0] == -both[1];
}

}  // namespace

comm::Columns columns_in(const Frame& message, comm::Rank self) {
  const std::int64_t signature = number_in(message, "signature");
  if (signature < 0) throw std::invalid_argument("the signature is negative");
  comm::Columns columns{comm::Integers{comm::Op::sum, {1}},
                        comm::Integers{comm::Op::max, {signature, -signature}}};
  const json& told = member_of(message.head, "columns");
  if (!told.is_array()) throw std::invalid_argument("there are no columns");
  ColumnBytes data(message.data);
  for (const json& each : told) columns.push_back(column_in(each, &data, self));
  return columns;
}

Frame reduced(const comm::Outcome& outcome, const comm::Columns& own) {
  if (outcome.columns.empty())
    return not_reduced("no server of the run has given anything in time");
  if (!comm::fit(outcome.columns, own) || !are_alike(outcome.columns))
    return not_reduced(
        "other servers of the run gave an array of another shape or type, or made another call");
  Frame answer{{{"kind", "reduced"},
                {"why", ""},
                {"gave", std::get<comm::Integers>(outcome.columns[0]).values[0]},
                {"columns", json::array()}},
               ""};
  for (std::size_t i = kOwnColumns; i < outcome.columns.size(); ++i) {
    json told = {{"ranks", json::array()}, {"sizes", json::array()}};
    std::visit([&](const auto& column) { append_column(column, &told, &answer.data); },
               outcome.columns[i]);
    answer.head["columns"].push_back(std::move(told));
  }
  return answer;
}

Frame not_reduced(const std::string& why, bool late) {
  return {{{"kind", "reduced"}, {"why", why}, {"late", late}}, ""};
}

}  // namespace leat::server
