// SPDX-License-Identifier: Apache-2.0
// Links between the servers of a run by files in a folder that all of their nodes see.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/base/status.hpp"
#include "lib/comm/file_stream.hpp"
#include "lib/comm/links.hpp"
#include "lib/os/descriptor.hpp"

namespace leat::comm {

// For nodes between which there is no network for it, but a file system: NFS, Lustre and the like. Nothing is locked, and each file has
// one writer. Caches of a file system delay what is read, and do no other harm.
//
//     <folder>/links-<run>/0/owner.<id>               server 0 reads what is in folder 0
//                            1.<link>.call.0          server 1 has made a link to it,
//     <folder>/links-<run>/1/0.<link>.reply.0         which server 0 has answered
//
// A link has a number at random, so what a server that was killed has left is never taken for what its successor writes; that
// one removes whatever is in its folder, by which the others see that their links are over. A server that ends removes its folder, and the
// last one all of the run.
//
// Who may: the folder of the run is of this user, and no other user may look into it; else it is not used.
class FolderLinks final : public Links {
 public:
  /// In this folder, which exists. That of the run in it, and that of this server, are there then.
  static Result<std::unique_ptr<FolderLinks>> open(const Settings& settings,
                                                   const std::string& folder);
  ~FolderLinks() override;

  void set_gone(const RankSet& gone) override { gone_ = gone; }
  void want(std::optional<Rank> peer, std::int64_t now_ns) override;
  void send(Rank to, std::string_view message) override;
  LinkEvents poll(std::int64_t until_ns, int wake) override;
  std::size_t most_bytes() const noexcept override { return kMostBytesOfFrame; }
  const std::string& why_unreached() const noexcept override { return why_unreached_; }
  std::uint64_t refused() const noexcept override { return refused_; }
  const std::string& why_refused() const noexcept override { return why_refused_; }

 private:
  // When it is looked at again: soon where something has happened, then ever later.
  struct Pace {
    std::int64_t next_ns = 0, pause_ns = 0;
    void hurry(std::int64_t now_ns);
    void pass(std::int64_t now_ns);
  };
  struct Link {
    Rank peer = 0;
    std::string id{};
    bool is_ours = false;
    FileWriter out;
    FileReader in;
    bool is_answered = !is_ours;  // there is something to read
    bool is_up = false;
    bool is_over = false;
    bool is_late = false;  // why_unreached() says why it cannot be written
    Pace reads{};
    std::int64_t next_write_ns = 0, next_look_ns = 0;
  };

  FolderLinks(const Settings& settings, const std::string& folder);

  os::UniqueFd open_folder(std::string* why) const;
  std::string make_home(int folder) const;
  bool is_ready(std::int64_t now_ns);
  void be_replaced();

  void call(std::int64_t now_ns);
  void write(std::int64_t now_ns);
  void write(Link* link, std::int64_t now_ns);
  void look_for_files(std::int64_t now_ns);
  void look_at_file(const std::string& name, std::int64_t now_ns);
  void read(std::int64_t now_ns);
  void read(Link* link, std::int64_t now_ns);
  bool take_hello(Link* link, const std::string& message, std::int64_t now_ns);
  void close_those_that_are_over();
  void close(std::size_t index);

  std::string home() const { return std::to_string(settings_.self); }
  Link* link_to(Rank peer);
  Link* link_of(const std::string& id, bool is_ours);
  bool is_trying() const;
  std::int64_t next_ns(std::int64_t until_ns) const;

  Settings settings_;
  std::string path_, owner_;  // of the run; a file of this name says that its folder is ours
  os::UniqueFd folder_;       // during poll()
  std::vector<Link> links_;
  LinkEvents events_;
  RankSet gone_;
  std::optional<Rank> wanted_;
  Pace looks_;
  std::int64_t next_try_ns_ = 0, pause_ns_ = 0;
  bool is_replaced_ = false;    // by a successor
  bool has_no_folder_ = false;  // why_unreached() says why
  std::uint64_t refused_ = 0;
  std::string why_unreached_, why_refused_;
};

}  // namespace leat::comm
