// SPDX-License-Identifier: Apache-2.0
#include "server/pipeline/plugin_host.hpp"

#include <algorithm>
#include <exception>
#include <set>
#include <stdexcept>
#include <utility>

#include "lib/model/checks.hpp"

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

}  // namespace

PluginHost::PluginHost(std::string store, std::vector<std::string> publishes,
                       std::shared_ptr<Log> log, ServerMpi mpi)
    : store_(std::move(store)),
      publishes_(std::move(publishes)),
      log_(std::move(log)),
      mpi_(std::move(mpi)),
      abi_{sizeof(leat_host),     this,
           &PluginHost::log,      &PluginHost::ledger,
           &PluginHost::progress, &PluginHost::publish,
           &PluginHost::mpi_comm} {}

void PluginHost::call_begins(Call call, std::int64_t iteration) {
  published_.reset();
  call_ = call;
  iteration_ = iteration;
  const std::lock_guard<std::mutex> lock(mutex_);
  last_error_.clear();
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

void PluginHost::add(const leat_result_set& set, std::shared_ptr<const void> memory) {
  if (call_ == Call::other)
    throw std::logic_error(
        "publish() is for the calls of iteration() and results(), of what they were given");
  Publication added{Publication::Source::plugin, store_, iteration_, {}};
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
  if (publishes_.empty() && call_ == Call::iteration) return;
  if (std::find(publishes_.begin(), publishes_.end(), name) != publishes_.end()) return;
  throw std::invalid_argument("product \"" + name +
                              "\" is not in publishes=\"...\" of <store name=\"" + store_ +
                              "\">, which says what it makes of products");
}

}  // namespace leat::server
