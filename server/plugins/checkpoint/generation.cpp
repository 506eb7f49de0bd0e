// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/checkpoint/generation.hpp"

#include <algorithm>

#include "lib/checkpoint/checkpoints.hpp"

namespace leat::checkpoint {

Ranks own_ranks(const leat_run& run) {
  const std::int32_t* const known = leat_run_own_ranks(&run);
  const std::int64_t first = std::max(0, leat_run_first_rank(&run));
  Ranks ranks;
  if (known == nullptr) return {{first, first + run.node_ranks - 1}};
  for (std::int32_t i = 0; i < run.node_ranks; ++i) {
    if (!ranks.empty() && ranks.back().second + 1 == known[i])
      ranks.back().second = known[i];
    else
      ranks.emplace_back(known[i], known[i]);
  }
  return ranks;
}

std::string part_of(const leat_run& run) {
  const std::int32_t succession = leat_run_succession(&run);
  return std::to_string(std::max(0, leat_run_first_rank(&run))) +
         (succession == 0 ? "" : "-" + std::to_string(succession));
}

namespace {

bool overlap(const Ranks& a, const Ranks& b) {
  return std::any_of(a.begin(), a.end(), [&b](const auto& one) {
    return std::any_of(b.begin(), b.end(), [&one](const auto& other) {
      return one.first <= other.second && other.first <= one.second;
    });
  });
}

class Writer {
 public:
  explicit Writer(const leat_run& run) : run_(run), ranks_(own_ranks(run)) {}

  // It has been written by this server, before another one took over.
  bool is_own(const Index& index) const {
    return index.session == run_.session && index.server == leat_run_number(&run_) &&
           overlap(index.own, ranks_);
  }
  // It is of another server of the same run: who has no rank of this one, which each run before had.
  bool is_of_run(const Index& index) const {
    return index.session == run_.session && index.ranks == run_.ranks &&
           !overlap(index.own, ranks_);
  }

 private:
  const leat_run& run_;
  Ranks ranks_;
};

// Of a generation all parts are of one run.
bool is_of_this_run(const Checkpoint& checkpoint, const Writer& writer, bool is_resumed,
                    bool is_last) {
  bool of_run = is_last, any = false;
  for (const Part& part : checkpoint.parts) {
    const Result<Index> index = read_part(part.folders[0], part.name, {.blocks = false});
    if (!index) continue;
    if (is_resumed && writer.is_own(*index)) return true;
    of_run = of_run && writer.is_of_run(*index);
    any = true;
  }
  return any && of_run;
}

}  // namespace

// Names say which is the greatest, and of it alone it is looked whose it is; a server that goes on after another one looks for what
// that has written, as others may have written since.
Generation generation_of(const leat_run& run, const std::vector<std::string>& folders) {
  const std::vector<Checkpoint> all = checkpoints_in(folders);
  if (all.empty()) return {};
  const Writer writer(run);
  const bool is_resumed = leat_run_is_resumed(&run) != 0;
  const std::int64_t greatest = all.front().key.generation;
  for (const Checkpoint& each : all) {
    if (each.key.generation != greatest && !is_resumed) break;
    if (is_of_this_run(each, writer, is_resumed, each.key.generation == greatest))
      return {each.key.generation, true};
  }
  return {greatest + 1, false};
}

}  // namespace leat::checkpoint
