// SPDX-License-Identifier: Apache-2.0
#include "server/command/exec_program.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "lib/os/process.hpp"
#include "server/command/exit_codes.hpp"

namespace leat::command {

int exec_program(const std::string& verb, const std::string& program,
                 const std::vector<std::string>& arguments) {
  std::vector<std::string> words{program};
  words.insert(words.end(), arguments.begin(), arguments.end());
  return exec_named(verb, program, words);
}

int exec_named(const std::string& verb, const std::string& program,
               const std::vector<std::string>& words) {
  std::vector<char*> given;
  for (const std::string& word : words) given.push_back(const_cast<char*>(word.c_str()));
  given.push_back(nullptr);
  execv(program.c_str(), given.data());
  std::fprintf(stderr, "leat %s: cannot start %s: %s\n", verb.c_str(), program.c_str(),
               platform::errno_text(errno).c_str());
  return kBad;
}

int exec_store_program(const std::string& verb, const std::vector<std::string>& arguments) {
  return exec_program(verb, platform::path_beside_program(LEAT_PLUGIN_FOLDER "/" + verb + "-hdf5"),
                      arguments);
}

}  // namespace leat::command
