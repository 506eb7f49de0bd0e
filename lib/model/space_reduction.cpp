// SPDX-License-Identifier: Apache-2.0
#include "lib/model/space_reduction.hpp"

#include <algorithm>
#include <utility>

#include "lib/base/text.hpp"
#include "lib/model/read_steps.hpp"

namespace leat::model {
namespace {

constexpr std::pair<const char*, SpaceOperation> kOperations[] = {{"mean", SpaceOperation::mean},
                                                                  {"min", SpaceOperation::minimum},
                                                                  {"max", SpaceOperation::maximum},
                                                                  {"sum", SpaceOperation::sum}};

}  // namespace

Result<SpaceReduction> parse_space_reduction(const std::string& text) {
  const std::size_t open = text.find('('), last = text.find_last_not_of(' ');
  const std::string name = joined(split_list(text.substr(0, open)), ",");
  const auto refuse = [&](const std::string& why) {
    return Error{Status::ERROR_CONFIG,
                 why +
                     ": write \"mean\", \"min\", \"max\" or \"sum\" for one value of "
                     "all, or \"mean(y, x)\" with the names of dimensions"};
  };
  SpaceReduction reduction;
  const auto found = std::find_if(std::begin(kOperations), std::end(kOperations),
                                  [&](const auto& each) { return each.first == name; });
  if (found == std::end(kOperations)) {
    std::vector<std::string> known;
    for (const auto& each : kOperations) known.emplace_back(each.first);
    return refuse("there is no \"" + name + "\"" + did_you_mean(name, known));
  }
  reduction.operation = found->second;
  if (open == std::string::npos) return reduction;
  if (text[last] != ')') return refuse("the parenthesis has no end");
  reduction.along = split_list(text.substr(open + 1, last - open - 1));
  if (reduction.along.empty() ||
      std::find(reduction.along.begin(), reduction.along.end(), "") != reduction.along.end())
    return refuse("the name of a dimension is missing");
  return reduction;
}

std::string word_of(SpaceOperation operation) {
  const auto found = std::find_if(std::begin(kOperations), std::end(kOperations),
                                  [&](const auto& each) { return each.second == operation; });
  return found->first;
}

}  // namespace leat::model
