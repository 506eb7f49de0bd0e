// SPDX-License-Identifier: Apache-2.0
// Server: what happens when a rank needs memory and there is none, as when-full says.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

#include "lib/platform/memory.hpp"
#include "server/engine/server.hpp"

namespace leat::server {
namespace {

constexpr std::size_t kMostRanges = 64;

// "4, 7-8" of {4, 7, 8}.
std::string ranges(const std::set<std::int64_t>& numbers) {
  std::string text;
  std::size_t count = 0;
  for (auto first = numbers.begin(); first != numbers.end();) {
    auto last = first, after = std::next(first);
    while (after != numbers.end() && *after == *last + 1) last = after++;
    text += text.empty() ? "" : ", ";
    if (count++ == kMostRanges) return text + "...";
    text += std::to_string(*first);
    if (last != first) text += "-" + std::to_string(*last);
    first = after;
  }
  return text;
}

// What scripts still read stays where it is, whatever becomes of the iteration.
bool frees_memory(const Iteration& iteration) {
  return std::any_of(iteration.holds.begin(), iteration.holds.end(),
                     [](const auto& hold) { return hold.second.use_count() == 1; });
}

}  // namespace

bool Server::drops() const noexcept {
  return model_.architecture.when_full == model::WhenFull::drop_iteration;
}

// True when something has changed, so that requests are to be looked at once more.
bool Server::make_room() {
  const LeaseRequest* const request = leases_.first_unmet();
  if (!request) return false;
  switch (model_.architecture.when_full) {
    case model::WhenFull::wait:
      return false;
    case model::WhenFull::drop_iteration:
      return drop_waiting(*request);
    case model::WhenFull::spill:
      spiller_.make_room();
      return false;
    case model::WhenFull::error:
      refuse_at_once(leases_.take_first_unmet());
      return true;
  }
  return false;
}

// Nothing can ever free memory for it.
void Server::give_up(const LeaseRequest& hopeless) {
  if (!drops()) return refuse(hopeless, shm::RefusalReason::hopeless, hopeless.iteration);
  // It is off the line: it is answered here, also when its iteration is left out already.
  drop_open(hopeless.iteration, fmt::format("alone it is larger than the buffer of {}",
                                            platform::format_bytes(segment_.header().data_bytes)));
  answer_dropped(hopeless);
}

void Server::answer_dropped(const LeaseRequest& request) {
  shm::Release answer{};
  answer.kind = static_cast<std::uint32_t>(shm::ReleaseKind::dropped);
  answer.token = request.token;
  answer.offset = static_cast<std::uint64_t>(request.iteration);
  clients_[request.client].release(answer);
}

void Server::refuse_at_once(const LeaseRequest& request) {
  using shm::RefusalReason;
  const std::vector<std::uint32_t> behind = leases_.behind(request.iteration);
  if (const std::optional<std::int64_t> first = pipeline_.first_number()) {
    refuse(request, RefusalReason::stores, *first);
  } else if (!held_.empty()) {
    refuse(request, RefusalReason::scripts, *held_.begin());
  } else if (!behind.empty()) {
    refused_for_absent_ = refused_for_absent_ || is_expected_before(request.iteration);
    refuse(request, RefusalReason::ranks, iterations_.current(behind[0]));
  } else {
    refuse(request, RefusalReason::hopeless, request.iteration);
  }
}

bool Server::drop_waiting(const LeaseRequest& request) {
  // What is written once in a run is needed to read all of it.
  const auto is_constant = [this](const Block& block) {
    return !model_.variables[block.variable].time_varying;
  };
  std::optional<Iteration> oldest = pipeline_.take_oldest([&](const Iteration& each) {
    return frees_memory(each) && std::none_of(each.blocks.begin(), each.blocks.end(), is_constant);
  });
  if (!oldest) return false;
  note_dropped(oldest->number,
               fmt::format("it waited for the stores when rank {} needed {} for iteration {}",
                           clients_[request.client].rank(), platform::format_bytes(request.bytes),
                           request.iteration));
  oldest.reset();  // its holds end
  take_returned_blocks();
  return true;
}

void Server::on_drop(std::uint32_t index, const shm::Event& event) {
  if (!drops()) {
    return complain(index, "left its iteration out, which the XML does not allow");
  }
  // A thread of the client may have ended the iteration meanwhile.
  if (event.iteration != iterations_.current(index)) return;
  drop_open(event.iteration, fmt::format("rank {} has waited for memory for the whole timeout",
                                         clients_[index].rank()));
}

void Server::drop_open(std::int64_t iteration, const std::string& why) {
  const std::optional<std::vector<Block>> blocks = iterations_.drop(iteration);
  if (!blocks) return;
  note_dropped(iteration, why);
  for (const Block& block : *blocks) release(block);
  for (const LeaseRequest& request : leases_.take_unmet_of(iteration)) answer_dropped(request);
}

void Server::note_dropped(std::int64_t iteration, const std::string& why) {
  auto& word =
      segment_.drop_words().number[static_cast<std::uint64_t>(iteration) % shm::kDropWords];
  // A rank that is behind has yet to learn of the one that is there.
  if (!iterations_.is_dropped(word.load(std::memory_order_relaxed))) {
    // Release: a server that takes over and finds the memory leased anew finds this as well.
    word.store(iteration, std::memory_order_release);
  }
  journal_.note({{"dropped", {iteration}}});
  dropped_.insert(iteration);
  ledger_.iteration_dropped(iteration, why);
  log_->info("iteration {} is left out: {}", iteration, why);
  made_progress();
}

std::string Server::what_was_left_out() const {
  if (dropped_.empty()) return "";
  return fmt::format("{} iteration{} left out ({})", dropped_.size(),
                     dropped_.size() == 1 ? "" : "s", ranges(dropped_));
}

}  // namespace leat::server
