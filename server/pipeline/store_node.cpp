// SPDX-License-Identifier: Apache-2.0
#include "server/pipeline/store_node.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "lib/os/clock.hpp"
#include "server/pipeline/plugin_loader.hpp"

namespace leat::server {
namespace {

// With one iteration. Servers are killed for reasons that have nothing to do with what they do;
// a crash in the store's own code is its own.
constexpr std::uint32_t kMostTries = 8, kMostCrashes = 2;

// Two threads do so, and none takes back what the other one has said.
void raise(std::atomic<std::int64_t>* word, std::int64_t value) noexcept {
  std::int64_t old = word->load();
  while (old < value && !word->compare_exchange_weak(old, value)) {
  }
}

}  // namespace

void StoreNode::trace_with(Trace* trace, std::size_t number) {
  trace_ = trace;
  number_ = number;
  if (trace)
    track_ =
        trace->track("store " + plugin_->store(), kStorePlace + static_cast<std::int32_t>(number));
}

std::optional<StoreOutcome> StoreNode::give(const Iteration& iteration, std::size_t waiting) {
  is_publishing_ = false;
  if (!plugin_->wants(iteration)) return std::nullopt;
  if (has_left_out(iteration.number)) return StoreOutcome{plugin_->store(), "", true};
  return StoreOutcome{plugin_->store(), process(iteration, waiting)};
}

std::vector<StoreOutcome> StoreNode::give(const std::vector<Publication>& published) {
  std::vector<StoreOutcome> outcomes;
  for (const Publication& publication : published) {
    const std::vector<const Product*> wanted = plugin_->wanted_of(publication);
    if (!wanted.empty()) outcomes.push_back({plugin_->store(), process(publication, wanted)});
  }
  return outcomes;
}

StoreOutcome StoreNode::deliver(const Delivery& delivery) {
  const TracedTime time = traced(delivery.iteration, "reduced");
  std::string error = watched(delivery.iteration, delivery.call);
  store_published(&error);
  return {plugin_->store(), std::move(error)};
}

// A plugin that takes the server with it, gets the iteration that it does so with no third time.
std::string StoreNode::why_not_again(std::int64_t iteration) {
  if (iteration != progress_.begun.load()) begin(iteration);
  return why_too_often();
}

std::string StoreNode::why_too_often() const {
  if (progress_.crashes.load() < kMostCrashes && progress_.tries.load() < kMostTries) return "";
  return "the server has died " + std::to_string(progress_.tries.load()) +
         " times while this store worked on this iteration, of which it has crashed in the store " +
         std::to_string(progress_.crashes.load()) + " times; it is not given it again";
}

std::string StoreNode::process(const Iteration& iteration, std::size_t waiting) {
  if (iteration.place() <= progress_.done.load()) return "";  // had it from a server that has died
  if (std::string why = why_not_again(iteration.place()); !why.empty()) return why;
  progress_.tries.fetch_add(1);
  TracedTime time = traced(iteration.number);
  time.add_arrows_to(number_);
  std::string error =
      watched(iteration.number, [&] { return plugin_->process(iteration, waiting); });
  store_published(&error);
  is_publishing_ = published_.has_value();
  if (error.empty() && !is_publishing_) raise(&progress_.done, iteration.place());
  return error;
}

// Products of an iteration that is past are a script's, and come from no other server again; or a rank's, which come first there,
// so that what is counted is of them.
std::string StoreNode::process(const Publication& publication,
                               const std::vector<const Product*>& wanted) {
  std::string why;
  if (publication.iteration >= progress_.begun.load())
    why = why_not_again(publication.iteration);
  else if (publication.comes_again)
    why = why_too_often();
  if (!why.empty()) return why;
  const TracedTime time = traced(publication.iteration, "products");
  std::string error =
      watched(publication.iteration, [&] { return plugin_->process(publication, wanted); });
  store_published(&error);
  return error;
}

template <class Call>
std::string StoreNode::watched(std::int64_t iteration, const Call& call) {
  busy_iteration_.store(iteration, std::memory_order_relaxed);
  busy_since_ns_.store(os::now_ns(), std::memory_order_release);
  const CrashNote note(&progress_.crashes);
  std::string error = call();
  busy_since_ns_.store(0, std::memory_order_release);
  return error;
}

void StoreNode::store_published(std::string* error) {
  std::optional<Publication> more = plugin_->take_published();
  if (!more) return;
  const std::string why = add_to(&published_, std::move(*more));
  if (error->empty() && !why.empty()) *error = "it has published twice: " + why;
}

std::optional<Publication> StoreNode::take_published() { return std::exchange(published_, {}); }

// Should the server die before, the plugin gets the iteration again, and publishes again.
void StoreNode::passed_on(std::int64_t iteration) {
  if (is_publishing_) raise(&progress_.done, iteration);
  is_publishing_ = false;
}

void StoreNode::begin(std::int64_t iteration) noexcept {
  progress_.tries.store(0);
  progress_.crashes.store(0);
  progress_.begun.store(iteration);
}

// Its thread may have yet to come to it: a server that takes over is to know what was lost here.
void StoreNode::goes_aside(std::int64_t iteration) noexcept {
  if (progress_.begun.load() < iteration) begin(iteration);
  aside_with_ = iteration;
  ++aside_;
}

// What a word says that is to be taken by another is in the ledger, and so known for good.
bool StoreNode::may_leave_out() const noexcept {
  return oldest_left_out().load() - 1 <= settled_.load();
}

void StoreNode::leave_out(std::int64_t iteration) noexcept {
  oldest_left_out().store(1 + iteration);
}

std::atomic<std::int64_t>& StoreNode::oldest_left_out() const noexcept {
  return *std::min_element(std::begin(progress_.skipped), std::end(progress_.skipped),
                           [](const auto& a, const auto& b) { return a.load() < b.load(); });
}

bool StoreNode::has_left_out(std::int64_t iteration) const noexcept {
  return std::any_of(std::begin(progress_.skipped), std::end(progress_.skipped),
                     [&](const auto& word) { return word.load() == 1 + iteration; });
}

// What it has aside stays behind `done`: should the server die, the next one cannot give it again.
void StoreNode::settled(std::int64_t iteration) noexcept {
  settled_.store(iteration);
  if (!is_aside()) raise(&progress_.done, iteration);
}

void StoreNode::settled_late(std::int64_t iteration) noexcept { raise(&progress_.done, iteration); }

StoreNode::Busy StoreNode::busy() const noexcept {
  const std::int64_t since_ns = busy_since_ns_.load(std::memory_order_acquire);
  return {since_ns, busy_iteration_.load(std::memory_order_relaxed)};
}

}  // namespace leat::server
