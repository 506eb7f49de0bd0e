// SPDX-License-Identifier: Apache-2.0
#include "server/workers/graph/graph_edit.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <fstream>

#include "lib/os/process.hpp"
#include "lib/os/user_file.hpp"
#include "server/workers/python/module_plan.hpp"

namespace leat::server {
namespace {

using nlohmann::json;

void take_out(json* modules, const std::string& name) {
  modules->erase(std::remove_if(modules->begin(), modules->end(),
                                [&](const json& each) { return each.value("name", "") == name; }),
                 modules->end());
}

}  // namespace

std::string written(const GraphEdit& edit) {
  const Result<std::string> text = os::text_of_file(edit.plan);
  if (!text) return text.error().message;
  // It may have been changed by hand since it was read.
  if (const auto good = graph_of(*text); !good) return edit.plan + ": " + good.error().message;
  json plan = json::parse(*text);
  json& modules = plan["modules"];
  if (!edit.remove.empty()) take_out(&modules, edit.remove);
  for (const json& each : edit.add) {
    take_out(&modules, each.value("name", ""));
    modules.push_back(each);
  }
  if (const auto good = graph_of(plan.dump()); !good)
    return edit.plan + ": " + good.error().message;
  const std::string part = edit.plan + "." + std::to_string(getpid()) + ".part";
  std::ofstream to(part);
  to << plan.dump(1) << '\n';
  to.close();
  if (to && std::rename(part.c_str(), edit.plan.c_str()) == 0) return "";
  const std::string why = "cannot write " + edit.plan + ": " + os::errno_text(errno);
  unlink(part.c_str());
  return why;
}

}  // namespace leat::server
