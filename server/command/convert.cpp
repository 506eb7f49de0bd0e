// SPDX-License-Identifier: Apache-2.0
#include "server/command/convert.hpp"

#include <cstdio>
#include <memory>

#include "lib/model/damaris/translate.hpp"
#include "lib/model/reader.hpp"
#include "server/command/exit_codes.hpp"

namespace leat::command {
namespace {

int run_convert(const std::string& file) {
  const model::damaris::Converted converted = model::damaris::convert_file(file);
  std::fputs(format(converted.diagnostics).c_str(), stderr);
  if (!converted.text) return kBad;
  const bool written = std::fputs(converted.text->c_str(), stdout) >= 0 && std::fflush(stdout) == 0;
  if (!written) std::perror("leat convert: cannot write");
  return written ? kGood : kBad;
}

}  // namespace

void add_convert(CLI::App& app, int& exit_code) {
  const auto file = std::make_shared<std::string>();
  CLI::App* verb = app.add_subcommand(
      "convert", "Writes an XML for Damaris as one for Leat, to standard output.");
  verb->add_option("FILE", *file, "The XML for Damaris")->required();
  verb->footer(
      "What has no equal in Leat is said on standard error, and in comments of the output.\n"
      "Exit codes: 0 good; 1 the file has errors, and nothing is written; 2 the command line is "
      "wrong.");
  verb->callback([file, &exit_code] { exit_code = run_convert(*file); });
}

}  // namespace leat::command
