// SPDX-License-Identifier: Apache-2.0
// The servers of one run among themselves, and a folder by which they reach each other.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "lib/os/descriptor.hpp"
#include "lib/os/folder.hpp"

namespace leat::server {

// The servers of one run among themselves: what each of them says last reaches all others, some
// time. One thread calls; a call may take as long as a disk or a network does.

/// Of one server.
struct Said {
  std::string server;
  std::string line;     ///< what it has said last; "": that cannot be read just now
  std::string final{};  ///< what it had said last when it was silenced: that counts; "": it was not

  bool operator==(const Said& other) const = default;
};

class Group {
 public:
  virtual ~Group() = default;

  /// Which server this is: different from all others', of other runs too, and that of the one whose
  /// place it has taken.
  virtual const std::string& self() const noexcept = 0;
  /// Where they meet, for people.
  virtual std::string place() const = 0;
  /// One line, in the place of what this server has said before. "" or why it cannot be said.
  virtual std::string say(const std::string& line) = 0;
  /// All that have spoken here, this one too; not those of whom all was cleared. What counts now of what a server says in some
  /// iteration counts for ever: who is silenced later is so with that or more.
  virtual std::vector<Said> hear() = 0;
  /// What that one has said last is final, for all, if nothing was before. "" or why it is not known to be.
  virtual std::string silence(const std::string& server) = 0;
  /// Nobody needs any more what was said.
  virtual void clear() = 0;
};

// A group whose servers meet in a folder that all of them see, as the folder of their output. Each
// has a file there, <server>.said, which it alone writes, whole or not at all. Who silences it makes
// <server>.closing first, after which nobody takes what it says; then reads what it has said, and makes
// <server>.last of that by a link, so that the first one who does so has it. There are no locks.
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
