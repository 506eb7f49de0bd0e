// SPDX-License-Identifier: Apache-2.0
// What programs must know of the XML before any server is there: the client reads none.
#include <unistd.h>

#include <cstdio>
#include <string>

#include "lib/model/reader.hpp"
#include "lib/model/words.hpp"
#include "server/driver/startup.hpp"

namespace leat::server {
namespace {

std::string words_of_plan(const model::ReadResult& read) {
  if (!read.model) {
    std::string text = model::format(read.diagnostics);
    if (!text.empty()) text.pop_back();  // the end of its last line
    return std::to_string(static_cast<int>(Status::ERROR_CONFIG)) + "\n" + text;
  }
  const model::Architecture& architecture = read.model->architecture;
  return std::string(model::word_of(model::kPlaces, architecture.place)) + " " +
         std::to_string(architecture.dedicated_cores) + "\n";
}

}  // namespace

int report_plan(const Options& options) {
  const std::string text = words_of_plan(model::read_file(options.config));
  const int to = options.report_fd >= 0 ? options.report_fd : STDOUT_FILENO;
  const auto whole = static_cast<ssize_t>(text.size());
  return ::write(to, text.data(), text.size()) == whole ? 0 : 2;
}

}  // namespace leat::server
