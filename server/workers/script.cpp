// SPDX-License-Identifier: Apache-2.0
#include "server/workers/script.hpp"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "lib/base/kept_with.hpp"
#include "lib/base/text.hpp"
#include "lib/model/checks.hpp"
#include "lib/os/clock.hpp"
#include "lib/os/descriptor.hpp"
#include "server/state/group/reductions.hpp"

namespace leat::server {

std::shared_ptr<const void> PendingIterations::hold(std::int64_t iteration) const {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  const auto place = state_->all.insert(iteration);
  state_->note();
  return {static_cast<const void*>(&*place), [state = state_, place](const void*) {
            const std::lock_guard<std::mutex> end(state->mutex);
            state->all.erase(place);
            state->note();
          }};
}

bool PendingIterations::has(std::int64_t first, std::int64_t last) const {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  const auto found = state_->all.lower_bound(first);
  return found != state_->all.end() && *found <= last;
}

ConstantsFile::ConstantsFile() : file_(os::memory_file("leat-constants")) {}

void ConstantsFile::store(const Block& block) {
  const std::lock_guard<std::mutex> lock(mutex_);
  Block kept = block;
  kept.lease = end_;
  if (!os::write_at(file_.get(), block.data, block.bytes, end_)) return;
  end_ += round_up(block.bytes, kBlockAlignment);
  blocks_[{block.variable, block.rank, block.block}] = kept;
}

std::vector<Block> ConstantsFile::blocks() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::vector<Block> all;
  for (const auto& [key, block] : blocks_) all.push_back(block);
  return all;
}

namespace {

// A quick script sees all of a short run; a slow one does not hold up the end of the run for long.
constexpr std::int64_t kCatchUpNs = 5'000'000'000;

}  // namespace

bool ScriptFunction::wants(std::uint32_t variable) const {
  const auto has = [variable](const std::vector<std::uint32_t>& list) {
    return std::find(list.begin(), list.end(), variable) != list.end();
  };
  return all_variables || has(variables) || has(beside);
}

bool ScriptFunction::is_its_turn(const Content& content) const {
  if (content.number % every != 0) return false;
  const auto happens = [&](std::uint32_t event) {
    return std::find(content.events.begin(), content.events.end(), event) != content.events.end();
  };
  return events.empty() || std::any_of(events.begin(), events.end(), happens);
}

bool ScriptFunction::has_its_variables(const Content& content) const {
  return all_variables ||
         std::all_of(variables.begin(), variables.end(), [&](std::uint32_t variable) {
           return std::binary_search(content.variables.begin(), content.variables.end(), variable);
         });
}

// What is made of an iteration comes when functions that take nothing of it have been called.
bool ScriptFunction::is_due(const Content& content) const {
  if (products.empty() != content.products.empty() || !may_be_due(content)) return false;
  return products.empty() ||
         std::any_of(content.products.begin(), content.products.end(),
                     [this](const std::string& name) { return model::is_wanted(products, name); });
}

Content content_of(const Iteration& iteration) {
  Content content{iteration.number, {}};
  for (const auto& [variable, pin] : iteration.pins) content.variables.push_back(variable);
  std::sort(content.variables.begin(), content.variables.end());
  for (const Signal& signal : iteration.signals) content.events.push_back(signal.event);
  return content;
}

Content content_of(const std::vector<Publication>& published, Content content) {
  for (const Publication& publication : published) {
    for (const Product& product : publication.products)
      content.products.push_back(publication.source + "/" + product.name);
  }
  return content;
}

Content ScriptJob::content() const { return content_of(published, content_of(*iteration)); }

bool ScriptJob::is_like(const ScriptJob& other) const {
  if (published.empty() || other.published.empty())
    return published.empty() && other.published.empty();
  return published[0].source == other.published[0].source;
}

bool Script::may_want(const Content& content) const {
  if (removed) return false;
  if (inputs) return usable;
  if (unknown()) return true;
  return usable && std::any_of(functions.begin(), functions.end(),
                               [&](const ScriptFunction& f) { return f.is_due(content); });
}

bool Script::waits_for(std::int64_t first, std::int64_t last) const {
  if (inputs && inputs->has(first, last)) return true;
  const auto expected = expecting.lower_bound(first);
  return (expected != expecting.end() && expected->first <= last) ||
         std::any_of(waiting.begin(), waiting.end(), [first, last](const ScriptJob& job) {
           return job.iteration->number >= first && job.iteration->number <= last;
         });
}

bool Script::awaits_products(const Content& content) const {
  return std::any_of(functions.begin(), functions.end(), [&](const ScriptFunction& function) {
    return !function.products.empty() && function.may_be_due(content);
  });
}

void Script::take(const Iteration& iteration, const std::shared_ptr<const void>& pending) {
  if (inputs) {
    if (usable && !removed) inputs->take(iteration, pending, os::now_ns());
    return;
  }
  const Content content = content_of(iteration);
  if (may_want(content)) {
    add({kept_with(part_of(iteration, false), pending)});
  } else if (!usable) {
    leave_out(content);
  }
  if (!removed && (unknown() || (usable && awaits_products(content))))
    expecting[iteration.number] = kept_with(part_of(iteration, true), pending);
}

void Script::take(const Published& published, const std::shared_ptr<const void>& pending) {
  if (inputs) {
    for (const Publication& each : published.all)  // what scripts make has come already
      if (each.kind == Publication::Source::plugin) inputs->take(each);
    if (published.by_stores) inputs->stores_have_published(published.iteration);
    return;
  }
  ScriptJob job;
  if (const auto found = expecting.find(published.iteration);
      published.by_stores && found != expecting.end()) {
    job.iteration = std::move(found->second);
    expecting.erase(found);
  }
  if (published.all.empty()) return;
  if (!job.iteration) {
    auto without_blocks = std::make_shared<Iteration>();
    without_blocks->number = published.iteration;
    without_blocks->parameters = published.all[0].parameters;
    job.iteration = kept_with(std::shared_ptr<const Iteration>(without_blocks), pending);
  }
  for (const Publication& each : published.all) {
    if (each.kind != Publication::Source::script || each.source != file.name)
      job.published.push_back(each);
  }
  const Content content = job.content();
  if (job.published.empty()) return;
  if (may_want(content)) {
    add(std::move(job));
  } else if (!usable) {
    leave_out(content);
  }
}

std::vector<std::uint64_t> Script::channels_without(const Content& content) const {
  std::vector<std::uint64_t> channels;
  for (const ScriptFunction& function : functions)
    if (!is_over() && function.lacks_variables(content))
      channels.push_back(channel_of_script(file.name, function.name));
  return channels;
}

std::shared_ptr<const Iteration> Script::part_of(const Iteration& iteration,
                                                 bool with_products) const {
  auto part = std::make_shared<Iteration>();
  part->number = iteration.number;
  part->complete = iteration.complete;
  part->parameters = iteration.parameters;
  part->signals = iteration.signals;
  const Content content = content_of(iteration);
  const auto wanted = [&](std::uint32_t variable) {
    return unknown() ||
           std::any_of(functions.begin(), functions.end(), [&](const ScriptFunction& function) {
             return function.products.empty() != with_products && function.may_be_due(content) &&
                    function.wants(variable);
           });
  };
  for (const auto& [variable, pin] : iteration.pins) {
    if (wanted(variable)) part->pins.emplace(variable, pin);
  }
  for (const Block& block : iteration.blocks) {
    if (part->pins.count(block.variable)) part->blocks.push_back(block);
  }
  return part;
}

// Nobody says again what was signalled: no newer iteration takes its place.
bool Script::is_by_event(const ScriptJob& job) const {
  const Content content = job.content();
  return std::any_of(functions.begin(), functions.end(), [&](const ScriptFunction& function) {
    return function.is_called_by_event(content);
  });
}

std::string Script::title() const {
  return (inputs ? "module \"" : "script \"") + file.name + "\"";
}

double Script::timeout_seconds() const noexcept {
  return file.module && file.module->timeout_seconds > 0 ? file.module->timeout_seconds
                                                         : source->timeout_seconds;
}

bool Script::waits() const noexcept {
  if (inputs) return !file.module->latest;
  return source->waits || std::any_of(functions.begin(), functions.end(),
                                      [](const ScriptFunction& each) { return each.is_of_run; });
}

void Script::add(ScriptJob job) {
  job.early = unknown();
  if (!waits() && !job.early) {
    const auto older = std::find_if(waiting.rbegin(), waiting.rend(), [&](const ScriptJob& each) {
      return !each.early && each.is_like(job) && !is_by_event(each);
    });
    if (older != waiting.rend()) {
      leave_out(older->content());
      waiting.erase(std::prev(older.base()));
    }
  }
  waiting.push_back(std::move(job));
}

void Script::leave_out(const Content& content) {
  if (removed) return;
  if (inputs) {
    ++counts.skipped;
  } else if (unknown()) {
    unjudged.push_back(content);
  } else if (functions.empty() ||
             std::any_of(functions.begin(), functions.end(),
                         [&](const ScriptFunction& f) { return f.is_due(content); })) {
    ++counts.skipped;
  }
}

void Script::is_known(std::int64_t now_ns) {
  for (const Content& content : std::exchange(unjudged, {})) leave_out(content);
  std::erase_if(waiting,
                [&](const ScriptJob& job) { return job.early && !may_want(job.content()); });
  std::erase_if(expecting,
                [&](const auto& each) { return !awaits_products(content_of(*each.second)); });
  // Once: a script that takes its process along each time would catch up for ever.
  const bool has_early = !waiting.empty() && waiting.front().early;
  if (has_early && backlog_until_ns == 0) backlog_until_ns = now_ns + kCatchUpNs;
}

void Script::leave_backlog(std::int64_t now_ns) {
  if (waits() || backlog_until_ns == 0 || now_ns < backlog_until_ns) return;
  backlog_until_ns = 0;
  if (waiting.empty()) return;
  const auto newest = std::prev(waiting.end());
  for (auto each = waiting.begin(); each != newest; ++each)
    if (!is_by_event(*each)) leave_out(each->content());
  const auto kept = std::stable_partition(
      waiting.begin(), newest, [this](const ScriptJob& job) { return is_by_event(job); });
  waiting.erase(kept, newest);
}

void Script::drop_waiting() {
  std::set<std::int64_t> numbers;
  for (const ScriptJob& job : waiting) {
    leave_out(job.content());
    numbers.insert(job.iteration->number);
  }
  waiting.clear();
  if (inputs) counts.skipped += inputs->drop();
  // What would have been made of them is not known; without the blocks it is of no use.
  counts.skipped += static_cast<std::uint64_t>(
      std::count_if(expecting.begin(), expecting.end(), [&](const auto& each) {
        return !each.second->pins.empty() && numbers.count(each.first) == 0;
      }));
  expecting.clear();
}

void Script::record_failure(const std::string& why) {
  ++counts.failed;
  if (counts.first_error.empty()) counts.first_error = why;
}

void Script::give_up() {
  usable = must_load = false;
  drop_waiting();
}

}  // namespace leat::server
