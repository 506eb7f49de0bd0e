// SPDX-License-Identifier: Apache-2.0
// Memory of the simulation and of other modules, mapped read-only as it is needed.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <string>

#include "lib/base/status.hpp"
#include "lib/os/descriptor.hpp"

namespace leat::module {

class MappedFiles {
 public:
  /// "segment" and "constants": what orders call these two.
  MappedFiles(os::UniqueFd segment, os::UniqueFd constants);
  ~MappedFiles();
  MappedFiles(const MappedFiles&) = delete;

  /// What lies there, mapped until the turn ends. `memory`: "segment", "constants" or a path. An error where the file does not
  /// have these bytes.
  Result<const void*> at(const std::string& memory, std::uint64_t offset, std::uint64_t bytes);
  void end_turn();

 private:
  struct Map {
    char* start = nullptr;
    std::size_t bytes = 0;
  };
  struct File {
    os::UniqueFd descriptor;
    dev_t device = 0;
    ino_t number = 0;
    Map map;
    std::uint64_t seen = 0;  ///< the turn in which it was opened last
  };

  Result<File*> opened(const std::string& memory);
  Result<void> map_all_of(File* file, const std::string& memory, std::uint64_t least);
  void retire(Map map);

  std::map<std::string, File> files_;
  std::list<Map> retired_;  // what was given away in this turn stays where it is
  std::uint64_t turn_ = 1;
};

}  // namespace leat::module
