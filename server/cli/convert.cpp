// SPDX-License-Identifier: Apache-2.0
// The verb convert: XML for Damaris, by the reader of the XML; definitions of XIOS, by Python.

#include <cctype>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "lib/model/damaris/translate.hpp"
#include "lib/model/reader.hpp"
#include "server/cli/programs.hpp"
#include "server/cli/verbs.hpp"

namespace leat::cli {
namespace {

struct ConvertOptions {
  std::vector<std::string> files;
  std::string context, since, calendar, interpreter = "python3";
};

std::string without_comments(std::string text) {
  for (std::size_t at = text.find("<!--"); at != std::string::npos; at = text.find("<!--", at)) {
    const std::size_t end = text.find("-->", at);
    text.erase(at, end == std::string::npos ? end : end + 3 - at);
  }
  return text;
}

// The name of the first element.
std::string root_of(const std::string& text) {
  std::size_t at = text.find('<');
  while (at != std::string::npos && at + 1 < text.size() &&
         std::isalpha(static_cast<unsigned char>(text[at + 1])) == 0)
    at = text.find('<', at + 1);
  if (at == std::string::npos) return "";
  const std::size_t end = text.find_first_of(" \t\r\n/>", at);
  return text.substr(at + 1, end == std::string::npos ? end : end - at - 1);
}

// Files for Damaris have no <context>.
bool is_of_xios(const std::string& file) {
  std::ifstream stream(file, std::ios::binary);
  const std::string text =
      without_comments({std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()});
  const std::string root = root_of(text);
  return root == "context" || root.ends_with("_definition") ||
         (root == "simulation" && text.find("<context") != std::string::npos);
}

int convert_xios(const ConvertOptions& options) {
  std::vector<std::string> words;
  const auto add = [&](const char* name, const std::string& value) {
    if (!value.empty()) words.push_back(name + value);
  };
  add("--context=", options.context);
  add("--since=", options.since);
  add("--calendar=", options.calendar);
  words.emplace_back("--");
  words.insert(words.end(), options.files.begin(), options.files.end());
  return exec_python_tool("convert", "xios", options.interpreter, "", words);
}

int convert_damaris(const std::string& file) {
  const model::damaris::Converted converted = model::damaris::convert_file(file);
  std::fputs(format(converted.diagnostics).c_str(), stderr);
  if (!converted.text) return kBad;
  const bool written = std::fputs(converted.text->c_str(), stdout) >= 0 && std::fflush(stdout) == 0;
  if (!written) std::perror("leat convert: cannot write");
  return written ? kGood : kBad;
}

int run_convert(const ConvertOptions& options) {
  for (const std::string& file : options.files) {
    if (is_of_xios(file)) return convert_xios(options);
  }
  const bool has_others = !options.context.empty() || !options.since.empty() ||
                          !options.calendar.empty() || options.files.size() > 1;
  if (!has_others) return convert_damaris(options.files.front());
  return refuse(
      "convert",
      "several files, --context, --since and --calendar are for definitions of XIOS, and \"" +
          options.files.front() + "\" is none",
      kUsage);
}

}  // namespace

void add_convert(CLI::App& app, int& exit_code) {
  const auto options = std::make_shared<ConvertOptions>();
  CLI::App* verb =
      app.add_subcommand("convert",
                         "Writes an XML for Damaris, or definitions of XIOS, as one for "
                         "Leat, to standard output.");
  verb->add_option("FILE", options->files,
                   "The XML for Damaris; or the iodef.xml of XIOS, or several of its files")
      ->required();
  verb->add_option("--context", options->context,
                   "Of XIOS: which context; needed when there are several beside \"xios\"");
  verb->add_option(
      "--since", options->since,
      "Of XIOS: what the time counts from, like 1900-01-01, where no <calendar> says it");
  verb->add_option("--calendar", options->calendar,
                   "Of XIOS: calendar of the CF conventions, where no <calendar> says it");
  verb->add_option("--interpreter", options->interpreter,
                   "Of XIOS: Python to be used (default: python3 in PATH)");
  verb->footer(
      "What has no equal in Leat is said on standard error, and in comments of the output.\n"
      "Exit codes: 0 good; 1 the file has errors, and nothing is written; 2 the command line is "
      "wrong.");
  verb->callback([options, &exit_code] { exit_code = run_convert(*options); });
}

}  // namespace leat::cli
