// SPDX-License-Identifier: Apache-2.0
#include "server/driver/run_log.hpp"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <cstdio>
#include <filesystem>
#include <utility>

#include "lib/platform/process.hpp"
#include "server/driver/log_file.hpp"

namespace leat::server {
namespace {

// A run that is just ending has its log still.
constexpr std::int64_t kWaitForLogNs = 2'000'000'000;

}  // namespace

OwnName name_of_log(const model::Model& model, const std::string& session, bool goes_on) {
  std::error_code error;
  const std::filesystem::path wanted = model.log.file;
  if (wanted.empty() ||
      (std::filesystem::exists(wanted, error) && !std::filesystem::is_regular_file(wanted, error)))
    return {};
  OwnName name(wanted, session, goes_on, kWaitForLogNs);
  if (!name.why_another().empty()) fprintf(stderr, "leatd: %s\n", name.why_another().c_str());
  return name;
}

Result<std::shared_ptr<spdlog::logger>> make_log(const model::Model& model, const OwnName& own,
                                                 bool goes_on) {
  const std::string& path = own.path().empty() ? model.log.file : own.path();
  std::shared_ptr<spdlog::sinks::sink> sink;
  if (model.log.file.empty()) {
    sink = std::make_shared<spdlog::sinks::stderr_sink_mt>();
  } else {
    Result<std::shared_ptr<spdlog::sinks::sink>> file = log_file(path, goes_on);
    if (!file) return file.error();
    sink = std::move(*file);
  }
  auto log = std::make_shared<spdlog::logger>(model.name, sink);
  const std::string when_and_where = "%Y-%m-%d %H:%M:%S.%e " + platform::node_name();
  log->set_pattern(when_and_where + (model.log.file.empty() ? " leatd %n: %l: %v" : " %l: %v"));
  log->set_level(spdlog::level::from_str(model.log.level));
  log->flush_on(spdlog::level::info);
  return log;
}

}  // namespace leat::server
