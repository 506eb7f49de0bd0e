// SPDX-License-Identifier: Apache-2.0
#include "server/derive/saved_sums.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include "lib/base/text.hpp"
#include "lib/model/words.hpp"

namespace leat::server {
namespace {

// Sums are of these: others begin anew.
std::string definitions_of(const model::Model& model) {
  std::string text;
  for (const std::uint32_t each : model.derived_order)
    text += model.variables[each].name + ": " + model.variables[each].definition + "\n";
  for (const model::Variable& each : model.variables) text += each.name + "\n";  // their numbers
  return text;
}

std::size_t checkpoints_kept(const model::Store& store) {
  return static_cast<std::size_t>(
      std::max(1L, std::strtol(store.option("keep", "2").c_str(), nullptr, 10)));
}

bool takes(const model::Store& store, const Iteration& iteration) {
  if (store.due) return iteration.due[*store.due] != 0;
  return store.awaits_event ? !iteration.signals.empty() : iteration.number % store.every == 0;
}

// 99 of "run-99.sums", with "run-" and ".sums".
std::set<std::int64_t> numbers_in(const std::filesystem::path& folder, const std::string& begin,
                                  const std::string& end) {
  std::set<std::int64_t> numbers;
  std::error_code failed;
  for (std::filesystem::directory_iterator each(folder, failed), last; !failed && each != last;
       each.increment(failed)) {
    const std::string name = each->path().filename().string();
    if (name.compare(0, begin.size(), begin) != 0) continue;
    std::int64_t number = -1;
    const char* const behind = name.data() + name.size();
    const auto read = std::from_chars(name.data() + begin.size(), behind, number);
    if (std::string_view(read.ptr, behind) == end && number >= 0) numbers.insert(number);
  }
  return numbers;
}

}  // namespace

Result<std::unique_ptr<Sums>> SavedSums::open(const model::Model& model, const std::string& file) {
  return Sums::open(file, fnv1a(definitions_of(model)));
}

// What an earlier run has kept is for the iteration behind it alone.
void SavedSums::go_on_from(std::int64_t iteration, std::unique_ptr<Sums>* sums) {
  // A server that died before its first iteration may have had no sums of the run before.
  if (std::exchange(has_begun_, true) || files_.saved.empty() ||
      (files_.is_resumed && (*sums)->last_iteration() >= 0))
    return;
  std::string others;
  for (const std::string& file : {saved_at(iteration - 1), files_.saved + ".sums"}) {
    if (access(file.c_str(), F_OK) != 0) continue;
    const std::string why = take(file, iteration - 1, sums);
    if (why.empty())
      return log_->info("what is over periods goes on behind iteration {}, as {} has it",
                        iteration - 1, file);
    others += (others.empty() ? "" : "; ") + file + " " + why;
  }
  if (iteration == 0 || (others.empty() && !files_.has_earlier)) return;
  lacks_ =
      Lacks{iteration,
            others.empty()
                ? fmt::format("there is neither {} nor {}.sums, which a run keeps when it ends and "
                              "with each checkpoint",
                              saved_at(iteration - 1), files_.saved)
                : others};
}

// "" or why not.
std::string SavedSums::take(const std::string& file, std::int64_t wanted,
                            std::unique_ptr<Sums>* sums) {
  const Result<std::int64_t> last = Sums::last_saved(file, fnv1a(definitions_of(model_)));
  if (!last) return "cannot be taken: " + last.error().message;
  if (*last != wanted)
    return fmt::format("has what it had come to at the end of iteration {}", *last);
  if (std::string why = Sums::restore(file, files_.sums); !why.empty())
    return "cannot be taken: " + why;
  Result<std::unique_ptr<Sums>> taken = open(model_, files_.sums);
  if (!taken) return "cannot be taken: " + taken.error().message;
  *sums = std::move(*taken);
  return "";
}

std::string SavedSums::saved_at(std::int64_t iteration) const {
  return fmt::format("{}-{}.sums", files_.saved, iteration);
}

void SavedSums::save(const std::string& file, const Sums& sums) const {
  if (const std::string why = sums.save(file); !why.empty())
    log_->warn(
        "{}: what is over periods that have yet to end is not kept for a run that goes on: {}",
        file, why);
}

void SavedSums::save_at_end(const Sums& sums) const {
  if (!files_.saved.empty() && sums.last_iteration() >= 0) save(files_.saved + ".sums", sums);
}

// With each checkpoint: a run may go on from it. An iteration in which a rank died makes none.
void SavedSums::save_with_checkpoint(const Iteration& iteration, const Sums& sums) {
  if (files_.saved.empty() || !iteration.complete) return;
  const model::Store* made = nullptr;
  for (const Block& block : iteration.blocks) {
    for (const std::uint32_t each : model_.variables[block.variable].stores) {
      const model::Store& store = model_.stores[each];
      if (is_checkpoint(store) && takes(store, iteration)) made = &store;
    }
  }
  if (!made) return;
  save(saved_at(iteration.number), sums);
  remove_old(iteration.number, *made);
}

// Also those of servers and runs before this one; what is of later iterations is of a run that this one has begun before the end of. The
// last ones may have checkpoints that are being written. These may come to nothing, as on a full disk: then an earlier one is the newest,
// and needs its sums.
void SavedSums::remove_old(std::int64_t iteration, const model::Store& store) const {
  const std::filesystem::path begin = files_.saved + "-";
  const std::filesystem::path folder = begin.parent_path().empty() ? "." : begin.parent_path();
  std::set<std::int64_t> saved = numbers_in(folder, begin.filename().string(), ".sums");
  saved.erase(saved.upper_bound(iteration), saved.end());
  std::set<std::int64_t> needed;
  if (files_.checkpoints) needed = files_.checkpoints(store);
  std::size_t left = saved.size();
  for (const std::int64_t each : saved) {
    if (left-- <= checkpoints_kept(store) + 1) break;
    if (needed.count(each) == 0) unlink(saved_at(each).c_str());
  }
}

void SavedSums::serves(std::int32_t first_rank) {
  if (!files_.saved.empty() && !files_.has_all_ranks)
    files_.saved += fmt::format(".rank{}", first_rank);
}

}  // namespace leat::server
