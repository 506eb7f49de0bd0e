// SPDX-License-Identifier: Apache-2.0
// Who takes products of whom, stores and scripts together: circles, and sources that there are not.
#include <algorithm>

#include "lib/base/text.hpp"
#include "lib/model/checks.hpp"
#include "server/command/check_report.hpp"

namespace leat::command {
namespace {

struct Taker {
  model::ProductMaker maker;
  model::SourceLocation where;
};

std::vector<Taker> takers_of(const CheckReport& report) {
  std::vector<Taker> takers;
  for (const model::Store& store : report.model->stores)
    takers.push_back({model::maker_of(store), store.where});
  for (const CheckedScript& script : report.scripts) {
    for (const CheckedFunction& function : script.functions)
      takers.push_back({{script.name, function.products, function.publishes},
                        {script.file, static_cast<int>(function.line), 0}});
  }
  return takers;
}

// A pattern that names nobody is a slip of the pen: nothing would ever come.
void warn_of_unknown_sources(CheckReport& report, const std::vector<Taker>& takers) {
  std::vector<std::string> sources;
  for (const model::Store& store : report.model->stores) sources.push_back(store.name);
  for (const CheckedScript& script : report.scripts) sources.push_back(script.name);
  for (const Taker& taker : takers) {
    for (const std::string& pattern : taker.maker.takes) {
      const std::string source = pattern.substr(0, pattern.find('/'));
      const bool is_there =
          std::any_of(sources.begin(), sources.end(),
                      [&](const std::string& name) { return model::is_wanted({source}, name); });
      if (is_there) continue;
      report.diagnostics.push_back({model::Severity::warning, taker.where,
                                    "products=\"" + pattern +
                                        "\": no store and no script is called \"" + source + "\"" +
                                        did_you_mean(source, sources)});
    }
  }
}

}  // namespace

void check_products(CheckReport& report) {
  const std::vector<Taker> takers = takers_of(report);
  warn_of_unknown_sources(report, takers);
  std::vector<model::ProductMaker> makers;
  for (const Taker& taker : takers) makers.push_back(taker.maker);
  const std::string why = model::why_endless(makers);
  if (!why.empty())
    report.diagnostics.push_back({model::Severity::error, report.model->scripts.where, why});
}

}  // namespace leat::command
