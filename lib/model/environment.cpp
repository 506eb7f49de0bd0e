// SPDX-License-Identifier: Apache-2.0
#include "lib/model/environment.hpp"

#include <cstdlib>

namespace leat::model {
namespace {

constexpr std::string_view kNameCharacters =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_";

// The value of what stands between the braces; on failure `problem` says why.
std::string value_of(const std::string& reference, std::string& problem) {
  const std::size_t bar = reference.find(":-");
  const std::string name = reference.substr(0, bar);
  if (name.empty() || name.find_first_not_of(kNameCharacters) != std::string::npos) {
    problem = "\"${" + reference + "}\" names no environment variable";
    return "";
  }
  const char* value = std::getenv(name.c_str());
  if (bar != std::string::npos) return value && *value ? value : reference.substr(bar + 2);
  if (value) return value;
  problem = "the environment has no variable \"" + name + "\"; set it, or give a default: ${" +
            name + ":-...}";
  return "";
}

void expand(XmlAttribute& attribute, DiagnosticList& out) {
  const std::string& from = attribute.value;
  std::string to, problem;
  std::size_t at = 0;
  while (problem.empty()) {
    const std::size_t dollar = from.find("${", at);
    to += from.substr(at, dollar - at);
    if (dollar == std::string::npos) break;
    const std::size_t close = from.find('}', dollar);
    if (close == std::string::npos) {
      problem = "\"${\" without \"}\" in \"" + from + "\"";
      break;
    }
    to += value_of(from.substr(dollar + 2, close - dollar - 2), problem);
    at = close + 1;
  }
  attribute.value = to;
  if (problem.empty()) return;
  attribute.refused = true;
  out.error(attribute.where, problem);
}

}  // namespace

void expand_environment(XmlElement& root, DiagnosticList& out) {
  for (XmlAttribute& attribute : root.attributes) expand(attribute, out);
  for (XmlElement& child : root.children) expand_environment(child, out);
}

}  // namespace leat::model
