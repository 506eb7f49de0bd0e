// SPDX-License-Identifier: Apache-2.0
#include "lib/platform/ranks_of_node.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "lib/platform/file_lock.hpp"
#include "lib/platform/server_share.hpp"

namespace leat::platform {
namespace {

struct Record {
  std::uint64_t is_known = 0;
  CpuSet cpus;
};

off_t place_of(int rank) { return static_cast<off_t>(rank) * static_cast<off_t>(sizeof(Record)); }

void write_record(const UniqueFd& file, int rank, const Record& record) {
  const ssize_t written = ::pwrite(file.get(), &record, sizeof record, place_of(rank));
  (void)written;  // what is missing is not known
}

}  // namespace

RanksOfNode::RanksOfNode(std::string path, int ranks, int server, int servers)
    : path_(std::move(path)),
      file_(open_to_write(path_)),
      ranks_(ranks),
      server_(server),
      servers_(servers) {
  if (!file_) return;
  const Share own = share_of(ranks, server, servers);
  for (int i = 0; i < own.count; ++i) write_record(file_, own.first + i, {});
  lock_byte(file_, server);
}

RanksOfNode::~RanksOfNode() {
  if (file_ && !bytes_are_locked(file_, 0, servers_)) ::unlink(path_.c_str());
}

void RanksOfNode::note(const std::vector<CpuSet>& own) {
  if (!file_) return;
  const int first = share_of(ranks_, server_, servers_).first;
  for (std::size_t i = 0; i < own.size(); ++i)
    write_record(file_, first + static_cast<int>(i), {1, own[i]});
}

bool RanksOfNode::read(int rank, CpuSet* cpus) const {
  Record record;
  if (!file_ || !byte_is_locked(file_, server_of(rank, ranks_, servers_))) return false;
  const ssize_t got = ::pread(file_.get(), &record, sizeof record, place_of(rank));
  if (got != static_cast<ssize_t>(sizeof record) || record.is_known != 1) return false;
  *cpus = record.cpus;
  return true;
}

RanksOfNode::Known RanksOfNode::known(const std::vector<CpuSet>& own) const {
  if (servers_ == 1) return {own, true};
  Known found{std::vector<CpuSet>(static_cast<std::size_t>(ranks_)), true};
  const Share mine = share_of(ranks_, server_, servers_);
  for (int rank = 0; rank < ranks_; ++rank) {
    const bool is_mine = rank >= mine.first && rank < mine.first + mine.count;
    if (!is_mine && !read(rank, &found.ranks[static_cast<std::size_t>(rank)])) found.all = false;
  }
  std::copy(own.begin(), own.end(), found.ranks.begin() + mine.first);
  return found;
}

}  // namespace leat::platform
