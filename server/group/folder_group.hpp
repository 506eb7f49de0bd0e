// SPDX-License-Identifier: Apache-2.0
// A group whose servers meet in a folder that all of them see, as the folder of their output. Each
// has a file there, <server>.said, which it alone writes, whole or not at all. Who silences it makes
// <server>.closing first, after which nobody takes what it says; then reads what it has said, and makes
// <server>.last of that by a link, so that the first one who does so has it. There are no locks.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "lib/platform/folder.hpp"
#include "lib/platform/unique_fd.hpp"
#include "server/group/group.hpp"

namespace leat::server {

class FolderGroup final : public Group {
 public:
  /// In <folder>/<simulation>.group/<session>, which is made. What runs of this simulation have left
  /// there for more than a day is removed.
  FolderGroup(const std::string& folder, const std::string& simulation, const std::string& session,
              std::string self);

  const std::string& self() const noexcept override { return self_; }
  std::string place() const override { return path_; }
  std::string say(const std::string& line) override;
  std::vector<Said> hear() override;
  std::string silence(const std::string& server) override;
  void clear() override;

 private:
  std::string path_of(const std::string& server, const char* ending) const;
  void look_for_others();
  std::string finish(const std::string& server);

  std::string parent_, path_;
  std::string self_;
  platform::Folder folder_;
  std::set<std::string> servers_;  // that have ever spoken here
};

}  // namespace leat::server
