// SPDX-License-Identifier: Apache-2.0
#include "server/pipeline/plugin_host.hpp"

#include <algorithm>
#include <cmath>
#include <exception>
#include <set>
#include <stdexcept>
#include <utility>

#include "lib/model/checks.hpp"
#include "server/pipeline/plugin_columns.hpp"
#include "server/state/group/reductions.hpp"

namespace leat::server {
namespace {

LogLevel level_of(int level) {
  switch (level) {
    case LEAT_LOG_DEBUG:
      return LogLevel::debug;
    case LEAT_LOG_INFO:
      return LogLevel::info;
    case LEAT_LOG_WARNING:
      return LogLevel::warning;
    default:
      return LogLevel::error;
  }
}

void expect_name(const std::string& name) {
  if (const std::string why = model::why_no_product_name(name); !why.empty())
    throw std::invalid_argument(why);
}

Product product_of(const leat_result& result) {
  Product product;
  product.name = result.name;
  expect_name(product.name);
  const std::string what = "product \"" + product.name + "\"";
  if (result.type < LEAT_INT8 || result.type > LEAT_CHAR)
    throw std::invalid_argument(what + ": " + std::to_string(result.type) +
                                " is no type; enum leat_scalar has them");
  if (result.dims > LEAT_PLUGIN_MAX_DIMS)
    throw std::invalid_argument(what + " has " + std::to_string(result.dims) + " dimensions; " +
                                std::to_string(LEAT_PLUGIN_MAX_DIMS) + " are the most");
  product.unit = result.unit;
  product.type = static_cast<ScalarType>(result.type);
  for (std::uint32_t d = 0; d < result.dims; ++d) {
    product.dimensions.emplace_back(result.dimension[d]);
    expect_name(product.dimensions.back());
    product.extents.push_back(result.extent[d]);
  }
  product.data = result.data;
  product.bytes = result.bytes;
  if (!extents_make(product, product.bytes))
    throw std::invalid_argument(what + " has " + std::to_string(product.bytes) +
                                " bytes, which its type and extents do not make");
  return product;
}

Steering::Value value_of(const leat_parameter& parameter) {
  switch (parameter.type) {
    case LEAT_INT64:
      return parameter.integer;
    case LEAT_FLOAT64:
      if (std::isfinite(parameter.real)) return parameter.real;
      throw std::invalid_argument(std::string(parameter.name) + ": not a finite number");
    case LEAT_CHAR:
      if (parameter.text) return std::string(parameter.text);
      throw std::invalid_argument(std::string(parameter.name) + ": its text is NULL");
    default:
      throw std::invalid_argument(
          std::string(parameter.name) + ": " + std::to_string(parameter.type) +
          " is no type of a parameter: LEAT_INT64, LEAT_FLOAT64, LEAT_CHAR");
  }
}

}  // namespace

PluginHost::PluginHost(std::string store, std::vector<std::string> publishes,
                       std::shared_ptr<Log> log, ServerMpi mpi)
    : store_(std::move(store)),
      publishes_(std::move(publishes)),
      log_(std::move(log)),
      mpi_(std::move(mpi)),
      abi_{sizeof(leat_host),        this,
           &PluginHost::log,         &PluginHost::ledger,
           &PluginHost::progress,    &PluginHost::publish,
           &PluginHost::mpi_comm,    &PluginHost::reduce,
           &PluginHost::shared_file, &PluginHost::set} {}

void PluginHost::call_begins(Call call, std::int64_t iteration) {
  published_.reset();
  asked_.clear();
  call_ = call;
  iteration_ = iteration;
  step_ = 0;
  const std::lock_guard<std::mutex> lock(mutex_);
  last_error_.clear();
}

void PluginHost::call_failed() {
  published_.reset();
  for (const auto& each : std::exchange(asked_, {})) each->done(each->user, nullptr);
}

std::string PluginHost::last_error() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return last_error_;
}

void PluginHost::say(int level, const std::string& message) {
  if (level == LEAT_LOG_ERROR) {
    const std::lock_guard<std::mutex> lock(mutex_);
    last_error_ = message;
  }
  log_->log(level_of(level), "store \"{}\": {}", store_, message);
}

void PluginHost::log(void* self, int level, const char* message) {
  static_cast<PluginHost*>(self)->say(level, message);
}

const char* PluginHost::ledger(void* self) {
  auto* host = static_cast<PluginHost*>(self);
  host->shown_ledger_ = host->ledger_ ? host->ledger_() : "";
  return host->shown_ledger_.c_str();
}

void PluginHost::progress(void* self, std::uint64_t bytes) {
  const auto* host = static_cast<const PluginHost*>(self);
  if (bytes > 0 && host->progress_) host->progress_();
}

int PluginHost::publish(void* self, const leat_result_set* set, void (*release)(void*),
                        void* memory) {
  auto* host = static_cast<PluginHost*>(self);
  try {
    // First of all: whatever becomes of the call, the memory is released.
    const std::shared_ptr<const void> kept =
        release ? std::shared_ptr<void>(memory, release) : nullptr;
    host->add(*set, kept);
    return 0;
  } catch (const std::exception& e) {
    host->say(LEAT_LOG_ERROR, std::string("cannot publish: ") + e.what());
    return 1;
  }
}

void* PluginHost::mpi_comm(void* self) {
  auto* host = static_cast<PluginHost*>(self);
  if (!host->mpi_.communicator && !host->mpi_.why_none.empty())
    host->say(LEAT_LOG_WARNING, "has no communicator: " + host->mpi_.why_none);
  return host->mpi_.communicator;
}

int PluginHost::reduce(void* self, const leat_column* columns, std::uint64_t count,
                       std::uint64_t stride, int (*done)(void*, const leat_reduction*),
                       void* user) {
  auto* host = static_cast<PluginHost*>(self);
  try {
    host->ask(columns_of(columns, count, stride), done, user);
    return 0;
  } catch (const std::exception& e) {
    host->say(LEAT_LOG_ERROR, std::string("cannot reduce: ") + e.what());
    return 1;
  }
}

// Once in a call: the turn that it has is for that file.
std::int32_t PluginHost::shared_file(void* self, std::int32_t files) {
  auto* host = static_cast<PluginHost*>(self);
  if (files < 1 && !host->always_in_turn_) host->turn_ = Turns::Turn();
  if (!host->take_turn_ || files < 1) return -1;
  if (!host->turn_.is_there()) host->turn_ = host->take_turn_(files);
  return host->turn_.file();
}

int PluginHost::set(void* self, const leat_parameter* parameter) {
  auto* host = static_cast<PluginHost*>(self);
  try {
    SteeringRequest request{"store/" + host->store_, parameter->name, value_of(*parameter)};
    const std::lock_guard<std::mutex> lock(host->mutex_);
    host->steering_.push_back(std::move(request));
    return 0;
  } catch (const std::exception& e) {
    host->say(LEAT_LOG_ERROR, std::string("cannot set a parameter: ") + e.what());
    return 1;
  }
}

std::vector<SteeringRequest> PluginHost::take_steering() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return std::exchange(steering_, {});
}

void PluginHost::ask(comm::Columns columns, int (*done)(void*, const leat_reduction*), void* user) {
  constexpr std::uint32_t kMostCalls = 1 << 16;  // as number_of() has room for
  if (call_ != Call::iteration && call_ != Call::reduced)
    throw std::logic_error("reduce() is for the calls of iteration(), and for what comes of it");
  if (step_ >= kMostReductionSteps)
    throw std::logic_error("it reduces what it has reduced for the " + std::to_string(step_) +
                           "th time");
  Calls& calls = calls_[step_];
  if (calls.iteration != iteration_) calls = {iteration_, 0};
  if (calls.number >= kMostCalls) throw std::logic_error("there are too many calls");
  const std::int64_t number = number_of(iteration_, static_cast<std::uint16_t>(calls.number++));
  asked_.push_back(std::make_shared<const PluginReduction>(
      PluginReduction{{step_, number}, std::move(columns), done, user}));
}

// Where this server has the whole run, what it makes of an outcome is of the same call.
std::string PluginHost::send_reductions() {
  while (!asked_.empty()) {
    const std::shared_ptr<const PluginReduction> next = asked_.front();
    asked_.pop_front();
    if (!reduce_) {
      const comm::Outcome outcome{0, 0, next->round, comm::RankSet(0), of_server(next->columns, 0)};
      if (std::string error = deliver(*next, outcome, 0, 1); !error.empty()) return error;
      continue;
    }
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      under_way_.insert(next->iteration());
    }
    reduce_(next);
  }
  return "";
}

std::string PluginHost::deliver(const PluginReduction& reduction, const comm::Outcome& outcome,
                                comm::Rank self, comm::Rank servers) {
  call_ = Call::reduced;
  iteration_ = reduction.iteration();
  step_ = static_cast<std::uint32_t>(reduction.round.channel) + 1;
  const std::optional<ReductionView> view =
      ReductionView::of(reduction.columns, outcome, self, servers);
  if (!view) {
    reduction.done(reduction.user, nullptr);
    return "what it reduced over the servers of the run does not fit what the others gave, or came "
           "too late";
  }
  leat_reduction seen = view->seen();
  seen.iteration = iteration_;
  if (reduction.done(reduction.user, &seen) == 0) return "";
  std::string said = last_error();
  return said.empty() ? "it failed with what a reduction came to, and did not say why" : said;
}

void PluginHost::was_delivered(const PluginReduction& reduction) {
  const std::lock_guard<std::mutex> lock(mutex_);
  under_way_.erase(under_way_.find(reduction.iteration()));
}

bool PluginHost::is_reducing(std::int64_t first, std::int64_t last) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = under_way_.lower_bound(first);
  return found != under_way_.end() && *found <= last;
}

void PluginHost::add(const leat_result_set& set, std::shared_ptr<const void> memory) {
  if (call_ == Call::other)
    throw std::logic_error(
        "publish() is for the calls of iteration() and results(), of what they were given");
  Publication added{Publication::Source::plugin, store_, iteration_, {}};
  added.of_run = call_ == Call::reduced && reduce_;
  std::set<std::string> names;
  for (std::uint64_t i = 0; i < set.result_count; ++i) {
    added.products.push_back(product_of(*leat_result_at(&set, i)));
    const std::string& name = added.products.back().name;
    expect_declared(name);
    if (!names.insert(name).second)
      throw std::invalid_argument("product \"" + name + "\" is there twice");
  }
  added.memory = memory ? std::move(memory) : copy_data(&added.products);
  if (const std::string why = add_to(&published_, std::move(added)); !why.empty())
    throw std::invalid_argument(why);
}

// What is made of products is said in the XML, so that nobody waits for himself.
void PluginHost::expect_declared(const std::string& name) const {
  if (publishes_.empty() && call_ != Call::results) return;
  if (std::find(publishes_.begin(), publishes_.end(), name) != publishes_.end()) return;
  throw std::invalid_argument("product \"" + name +
                              "\" is not in publishes=\"...\" of <store name=\"" + store_ +
                              "\">, which says what it makes of products");
}

}  // namespace leat::server
