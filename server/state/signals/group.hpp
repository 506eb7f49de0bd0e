// SPDX-License-Identifier: Apache-2.0
// The servers of one run, and a folder by which they reach each other.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "lib/os/descriptor.hpp"
#include "lib/os/folder.hpp"

namespace leat::server {

// The servers of one run: each publishes one line, which replaces its line before, and all read the lines of all. A line
// reaches the others some time. One thread calls; a call may take as long as a disk or a network does.

struct ServerLine {
  std::string server;
  std::string line;  ///< what it has published last; "": that cannot be read just now
  std::string
      final{};  ///< its last line when it was silenced, which counts; "": it was not silenced

  bool operator==(const ServerLine& other) const = default;
};

class Group {
 public:
  virtual ~Group() = default;

  /// Which server this is: different from all others', of other runs too, and that of the one whose
  /// place it has taken.
  virtual const std::string& self() const noexcept = 0;
  /// Where they meet, for people.
  virtual std::string place() const = 0;
  /// Replaces this server's line. "" or why it cannot be published.
  virtual std::string publish(const std::string& line) = 0;
  /// Of all that have published here, this one too; not those of whom all was cleared. What a line says now of some
  /// iteration counts for ever: who is silenced later is so with that line or a later one.
  virtual std::vector<ServerLine> poll() = 0;
  /// The last line of that server is final, for all, if none was before. "" or why it is not known to be.
  virtual std::string silence(const std::string& server) = 0;
  /// Nobody needs the lines any more.
  virtual void clear() = 0;
};

// A group whose servers meet in a folder that all of them see, as the folder of their output. Each
// has a file there, <server>.line, which it alone writes, whole or not at all. Who silences it makes
// <server>.closing first, after which nobody takes its lines; then reads its line, and makes
// <server>.last of that by a link, so that the first one who does so decides. There are no locks.
class FolderGroup final : public Group {
 public:
  /// In <folder>/<simulation>.group/<session>, which is made. What runs of this simulation have left
  /// there for more than a day is removed.
  FolderGroup(const std::string& folder, const std::string& simulation, const std::string& session,
              std::string self);

  const std::string& self() const noexcept override { return self_; }
  std::string place() const override { return path_; }
  std::string publish(const std::string& line) override;
  std::vector<ServerLine> poll() override;
  std::string silence(const std::string& server) override;
  void clear() override;

 private:
  std::string path_of(const std::string& server, const char* ending) const;
  void look_for_others();
  std::string finish(const std::string& server);

  std::string parent_, path_;
  std::string self_;
  os::Folder folder_;
  std::set<std::string> servers_;  // that have ever published here
};

}  // namespace leat::server
