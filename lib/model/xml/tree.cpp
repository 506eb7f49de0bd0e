// SPDX-License-Identifier: Apache-2.0
#include "lib/model/xml/tree.hpp"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>

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

namespace {

Error unreadable(std::string why) { return Error{Status::ERROR_CONFIG, std::move(why)}; }

Error from_errno(int number) {
  if (number == ENOENT) return unreadable("no such file");
  if (number == EACCES) return unreadable("no permission to read it");
  return unreadable(std::strerror(number));
}

}  // namespace

Result<std::string> read_source(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) return unreadable("it is a folder");
  // To open a pipe that nobody writes to takes for ever.
  if (std::filesystem::exists(path, ignored) && !std::filesystem::is_regular_file(path, ignored))
    return unreadable("it is a pipe or a device, and no file");
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"),
                                                             std::fclose);
  if (!file) return from_errno(errno);
  std::string text;
  char chunk[1 << 16];
  while (const std::size_t got = std::fread(chunk, 1, sizeof chunk, file.get())) {
    text.append(chunk, got);
    if (text.size() > kMaxSourceBytes) return unreadable("it is larger than 16 MiB");
  }
  if (std::ferror(file.get())) return from_errno(errno);
  if (text.find_first_not_of(" \t\r\n") == std::string::npos) return unreadable("it is empty");
  return text;
}

}  // namespace leat::model
