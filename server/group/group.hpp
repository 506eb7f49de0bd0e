// SPDX-License-Identifier: Apache-2.0
// The servers of one run among themselves: what each of them says last reaches all others, some
// time. One thread calls; a call may take as long as a disk or a network does.
#pragma once

#include <string>
#include <vector>

namespace leat::server {

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

}  // namespace leat::server
