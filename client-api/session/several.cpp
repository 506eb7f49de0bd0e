// SPDX-License-Identifier: Apache-2.0
#include "client-api/session/several.hpp"

#include <algorithm>

#include "client-api/connect/last_error.hpp"
#include "client-api/session/variable_table.hpp"
#include "lib/base/text.hpp"

namespace leat::client {

std::vector<std::string> names_in(std::string_view text) {
  std::vector<std::string> names(1);
  for (const char each : text) {
    if (each == ',')
      names.emplace_back();
    else if (each != ' ')
      names.back() += each;
  }
  return names;
}

std::string why_not_each(std::string_view text, const std::vector<std::string>& names,
                         const char* named, std::size_t given, const char* what) {
  const std::string quoted = "\"" + std::string(text) + "\" names ";
  if (given != names.size())
    return quoted + counted(names.size(), named) + ", and there " + (given == 1 ? "is " : "are ") +
           counted(given, what) +
           (names.size() == 1 ? "; commas separate names, like \"a,b\"" : "");
  for (auto each = names.begin(); each != names.end(); ++each)
    if (std::find(names.begin(), each, *each) != each)
      return quoted + "\"" + *each + "\" twice: each " + named + " has one " + what;
  return "";
}

Status each_array(const Call& call, Failures& failures, const char* names, const leat_array* arrays,
                  std::int32_t count, bool loses, const OneArray& one) {
  const std::vector<std::string> all = names_in(names ? names : "");
  const auto given = static_cast<std::size_t>(std::max(count, 0));
  const std::string refused = !names || !arrays
                                  ? "the names or the arrays are NULL"
                                  : why_not_each(names, all, "variable", given, "array");
  if (!refused.empty()) {
    const Error error{Status::ERROR_ARGUMENT, refused};
    const Status status = failures.complain(call, error, names ? names : "");
    for (const std::string& each : all)
      if (loses) failures.lose_unknown(each, shm::kNoVariable, error);
    return status;
  }
  Status first = Status::OK;
  std::string why;
  // Each is as long as it says itself: a caller may be of another version.
  const char* at = reinterpret_cast<const char*>(arrays);
  for (const std::string& name : all) {
    const auto* array = reinterpret_cast<const leat_array*>(at);
    const Status status = one(name.c_str(), array);
    const bool is_error = status < Status::OK;
    if (is_error ? first >= Status::OK : first == Status::OK) first = status;
    if (is_error && why.empty()) why = last_error();
    at += array->struct_size;
  }
  if (!why.empty()) store_error(why);
  return first;
}

}  // namespace leat::client
