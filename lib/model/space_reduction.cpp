// SPDX-License-Identifier: Apache-2.0
#include "lib/model/space_reduction.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "lib/base/text.hpp"
#include "lib/model/read_steps.hpp"
#include "lib/model/words.hpp"

namespace leat::model {

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
  if (!is_word<SpaceOperation>(name)) {
    std::vector<std::string> known;
    for (const Word<SpaceOperation>& each : kWords<SpaceOperation>) known.emplace_back(each.word);
    return refuse("there is no \"" + name + "\"" + did_you_mean(name, known));
  }
  reduction.operation = value_of<SpaceOperation>(name);
  if (open == std::string::npos) return reduction;
  if (text[last] != ')') return refuse("the parenthesis has no end");
  reduction.along = split_list(text.substr(open + 1, last - open - 1));
  if (reduction.along.empty() ||
      std::find(reduction.along.begin(), reduction.along.end(), "") != reduction.along.end())
    return refuse("the name of a dimension is missing");
  return reduction;
}

}  // namespace leat::model
