// SPDX-License-Identifier: Apache-2.0
// Checkpoints: what the simulation writes to the variables of this store in one iteration, in a file of its own for each
// server, with an index of it. Both are written under other names, and the index gets its name last: a checkpoint that is
// interrupted is none. Older ones go when a newer one is there.
#include <algorithm>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "lib/checkpoint/checkpoints.hpp"
#include "lib/os/crc32c.hpp"
#include "server/include/plugin.hpp"
#include "server/plugins/checkpoint/copier.hpp"
#include "server/plugins/checkpoint/generation.hpp"
#include "server/plugins/checkpoint/options.hpp"
#include "server/plugins/checkpoint/place.hpp"
#include "server/plugins/common/errno_text.hpp"
#include "server/plugins/common/whole_io.hpp"

namespace leat::checkpoint {
namespace {

constexpr std::uint64_t kAlign = 4096;           // of blocks in the file
constexpr std::uint64_t kWritten = 16 * kPiece;  // at a time

std::vector<std::int64_t> list_of(const std::int64_t* numbers, std::uint32_t count) {
  return {numbers, numbers + count};
}

Variable entry_of(const leat_variable& variable) {
  Variable entry{variable.name, static_cast<ScalarType>(variable.type), {}, {}};
  for (std::uint32_t d = 0; d < variable.dims; ++d) {
    entry.ghosts_before.push_back(variable.dimension[d].ghost_low);
    entry.ghosts_behind.push_back(variable.dimension[d].ghost_high);
  }
  return entry;
}

Block entry_of(const leat_block& block, std::uint32_t dims) {
  Block entry;
  entry.rank = block.rank;
  entry.block = block.block;
  entry.bytes = block.bytes;
  entry.extent = list_of(block.extent, dims);
  if (const auto level = leat::level_of(block)) {
    entry.place = Block::Place::in_level;
    entry.level = *level;
    entry.position = list_of(block.position, dims);
  } else if (block.has_position && dims > 0) {
    entry.place = Block::Place::in_global;
    entry.position = list_of(block.position, dims);
    entry.global = list_of(block.global, dims);
  }
  entry.sums.resize((block.bytes + kPiece - 1) / kPiece);
  return entry;
}

Parameter entry_of(const leat_parameter& parameter) {
  switch (parameter.type) {
    case LEAT_INT64:
      return {parameter.name, parameter.integer};
    case LEAT_FLOAT64:
      return {parameter.name, parameter.real};
    default:
      return {parameter.name, std::string(parameter.text)};
  }
}

}  // namespace

class Checkpoints {
 public:
  Checkpoints(const leat_run& run, leat::Host host)
      : run_(run),
        host_(host),
        options_(options_of(run)),
        is_one_of_several_(run.ranks > run.node_ranks),
        part_(part_of(run)),
        place_(options_.folder) {
    if (!options_.copy.empty()) open_second();
    if (is_first() && !leat_run_is_drained(&run)) shared().lock();
    const Generation generation = generation_of(run, looked_at());
    generation_ = generation.number;
    is_too_late_ = leat_run_is_drained(&run) && !may_follow(generation);
    if (is_too_late_) return;
    if (!is_one_of_several_ || is_first()) shared().remove_unfinished(generation_);
    if (second_) {
      place_.remove_unfinished(generation_);
      copier_.emplace(place_, *second_, [this] { remove_older(); });
    }
  }

  // "" or what is wrong with the options.
  static std::string check(const leat_run& run) {
    options_of(run);
    return "";
  }

  // Each block stays by itself.
  static bool makes_whole(const leat_run&, std::uint64_t) { return false; }

  std::uint64_t begin(const leat_iteration_data& data) {
    tell_of_copies();
    data_.clear();
    file_.reset();
    name_ = {{generation_, data.iteration}, part_};
    if (!has_varying(data)) return 0;
    if (is_too_late_) {
      host_.warn("iteration " + std::to_string(data.iteration) +
                 ": what a killed run had in memory makes no checkpoint here: the next run has "
                 "chosen one already, or other "
                 "servers of the run would not agree");
      return 0;
    }
    if (leat_run_is_resumed(&run_) && is_there()) return copy_again(), 0;
    if (!data.complete) {
      host_.warn("iteration " + std::to_string(data.iteration) +
                 ": no checkpoint is made of it, since a rank died in it or lost a block; the one "
                 "before it stays the newest");
      return 0;
    }
    make_index(data);
    file_ = place_.begin(name_.stem() + kDataEnding);
    return data_.size();
  }

  void chunk(std::uint64_t number) {
    Block& block = index_.blocks[number];
    const auto* const from = static_cast<const char*>(data_[number]);
    for (std::uint64_t done = 0; done < block.bytes;) {
      const std::uint64_t part = std::min(kWritten, block.bytes - done);
      for (std::uint64_t piece = done; piece < done + part; piece += kPiece)
        block.sums[piece / kPiece] =
            os::crc32c(from + piece, std::min(kPiece, done + part - piece));
      const int code = write_whole(file_.get(), from + done, part, block.offset + done);
      if (code != 0) cannot_write(code);
      host_.progress(part);
      done += part;
    }
  }

  void finish() {
    if (!file_) return;
    try {
      place_.finish(name_.stem() + kDataEnding, file_);
      file_.reset();
      place_.publish(name_.stem(), to_text(index_));
    } catch (...) {
      place_.give_up(name_.stem() + kDataEnding);
      place_.remove(name_);
      throw;
    }
    if (copier_)
      copier_->add(name_, [this](std::uint64_t bytes) { host_.progress(bytes); });
    else
      remove_older();
  }

  void close() {
    if (is_too_late_) return;
    if (!copier_) {
      remove_older();
      if (!why_no_copy_.empty()) throw std::runtime_error(why_no_copy_);
      return;
    }
    copier_->await_all([this](std::uint64_t bytes) { host_.progress(bytes); });
    remove_older();
    if (const std::string why = copier_->take_error(); !why.empty()) throw std::runtime_error(why);
  }

 private:
  // A run with one server goes on from the first one as well; to several that is of no use.
  void open_second() {
    try {
      second_.emplace(options_.copy);
    } catch (const std::exception& e) {
      if (is_one_of_several_) throw;
      why_no_copy_ = std::string(e.what()) + ": checkpoints are in " + options_.folder + " alone";
      host_.error(why_no_copy_);
    }
  }

  // What is written once alone is nothing to go on from: it is in the next one that has more.
  bool has_varying(const leat_iteration_data& data) const {
    for (const leat_block& block : leat::Blocks(data))
      if (leat_variable_at(&run_, block.variable)->time_varying != 0) return true;
    return false;
  }

  bool is_first() const { return leat_run_first_rank(&run_) <= 0; }
  // All ranks are dead, and another run may go on already from what is here. Between several servers there would be two opinions
  // about what is the newest.
  bool may_follow(const Generation& generation) const {
    return !is_one_of_several_ && (generation.is_known || shared().is_unlocked());
  }
  // Where the parts of all servers are.
  const Place& shared() const { return second_ ? *second_ : place_; }
  Place& shared() { return second_ ? *second_ : place_; }
  std::vector<std::string> looked_at() const {
    if (is_one_of_several_) return {shared().folder()};
    if (second_) return {place_.folder(), second_->folder()};
    return {place_.folder()};
  }

  // A disk that runs full keeps the checkpoints that are there, and room for what others write.
  [[noreturn]] void cannot_write(int code) const {
    place_.give_up(name_.stem() + kDataEnding);
    throw std::runtime_error("cannot write into the folder " + place_.folder() + ": " +
                             errno_text(code) + "; the checkpoint before it stays the newest");
  }

  bool is_there() const { return bool(read_part(place_.folder(), name_, {.blocks = false})); }

  // The server before this one may have died before it was copied.
  void copy_again() {
    if (!copier_ || read_part(second_->folder(), name_, {.blocks = false})) return;
    copier_->add(name_, [this](std::uint64_t bytes) { host_.progress(bytes); });
  }

  void tell_of_copies() {
    if (!copier_) return;
    if (const std::string why = copier_->take_error(); !why.empty()) host_.warn(why);
  }

  void make_index(const leat_iteration_data& data) {
    index_ = {};
    index_.simulation = run_.simulation;
    index_.session = run_.session;
    index_.server = leat_run_number(&run_);
    index_.iteration = data.iteration;
    index_.generation = generation_;
    index_.ranks = run_.ranks;
    index_.own = own_ranks(run_);
    for (std::uint64_t i = 0; i < data.parameter_count; ++i) {
      const leat_parameter& parameter = *leat_parameter_at(&data, i);
      // Of the end of this run, not of the next one.
      const bool is_told = options_.tells == parameter.name;
      if (parameter.has_value && !is_told) index_.parameters.push_back(entry_of(parameter));
    }
    std::optional<std::uint32_t> variable;  // the last; blocks come in the order of variables
    for (const leat_block& block : leat::Blocks(data)) {
      const leat_variable& declared = *leat_variable_at(&run_, block.variable);
      if (variable != block.variable) index_.variables.push_back(entry_of(declared));
      variable = block.variable;
      Block entry = entry_of(block, declared.dims);
      entry.variable = static_cast<std::uint32_t>(index_.variables.size() - 1);
      entry.offset = (index_.bytes + kAlign - 1) / kAlign * kAlign;
      if (entry.bytes > 0) index_.bytes = entry.offset + entry.bytes;
      index_.blocks.push_back(std::move(entry));
      data_.push_back(block.data);
    }
  }

  // In the place of all servers the first one tidies up, elsewhere each what is its own, or of a run before.
  void remove_older() {
    const std::optional<Key> oldest = copier_ ? copier_->oldest() : std::nullopt;
    const auto is_copied = [oldest](const PartName& part) { return !oldest || part.key < *oldest; };
    if (is_first())
      remove_surplus(shared(), {options_.keep,
                                [](const Checkpoint& each) { return why_not_whole(each).empty(); },
                                [&](const PartName& part) { return second_ || is_copied(part); }});
    if (!second_) return;
    remove_surplus(place_,
                   {options_.keep,
                    [this](const Checkpoint& each) {
                      return std::any_of(each.parts.begin(), each.parts.end(),
                                         [this](const Part& p) { return p.name.part == part_; });
                    },
                    [&](const PartName& part) {
                      const bool is_own = part.part == part_ || part.key.generation < generation_;
                      return is_own && is_copied(part);
                    }});
  }

  const leat_run& run_;
  leat::Host host_;
  Options options_;
  const bool is_one_of_several_;
  const std::string part_;
  Place place_;
  std::optional<Place> second_;
  std::string why_no_copy_;  // though there is to be one
  std::int64_t generation_ = 1;
  bool is_too_late_ = false;
  PartName name_;
  Index index_;
  std::vector<const void*> data_;  // of the blocks of the index
  os::UniqueFd file_;
  std::optional<Copier> copier_;  // last: its thread uses the others
};

}  // namespace leat::checkpoint

LEAT_PLUGIN(leat::checkpoint::Checkpoints, "checkpoint")
