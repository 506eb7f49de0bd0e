// SPDX-License-Identifier: Apache-2.0
#include "server/pipeline/plugin_host.hpp"

#include <algorithm>
#include <cstring>
#include <exception>
#include <set>
#include <stdexcept>
#include <utility>

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

// It is a name in files and in patterns.
void expect_name(const std::string& name) {
  const bool has_odd = std::any_of(name.begin(), name.end(), [](char c) {
    return c == '/' || static_cast<unsigned char>(c) <= ' ' || c == 0x7f;
  });
  if (name.empty() || has_odd || name[0] == '.')
    throw std::invalid_argument("\"" + name +
                                "\" is no name for a product: letters, digits and \"_\" are");
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

// The plugin's memory is not kept: each product gets a place in a copy.
std::shared_ptr<const void> copy_of(std::vector<Product>* products) {
  std::size_t bytes = 0;
  const auto aligned = [](std::size_t size) { return (size + 63) / 64 * 64; };
  for (const Product& product : *products) bytes += aligned(product.bytes);
  auto copy = std::make_shared<std::vector<char>>(bytes);
  char* at = copy->data();
  for (Product& product : *products) {
    if (product.bytes > 0) std::memcpy(at, product.data, product.bytes);
    product.data = at;
    at += aligned(product.bytes);
  }
  return copy;
}

}  // namespace

PluginHost::PluginHost(std::string store, std::shared_ptr<Log> log)
    : store_(std::move(store)), log_(std::move(log)), abi_{sizeof(leat_host),
                                                           this,
                                                           &PluginHost::log,
                                                           &PluginHost::ledger,
                                                           &PluginHost::progress,
                                                           &PluginHost::publish} {}

void PluginHost::call_begins(std::optional<std::int64_t> iteration) {
  last_error_.clear();
  published_.reset();
  iteration_ = iteration;
}

void PluginHost::say(int level, const std::string& message) {
  if (level == LEAT_LOG_ERROR) last_error_ = message;
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

void PluginHost::add(const leat_result_set& set, std::shared_ptr<const void> memory) {
  if (!iteration_)
    throw std::logic_error("publish() is for the calls of iteration(), of what that was given");
  Publication all =
      published_.value_or(Publication{Publication::Source::plugin, store_, *iteration_, {}});
  std::set<std::string> names;
  for (const Product& product : all.products) names.insert(product.name);
  std::vector<Product> added;
  for (std::uint64_t i = 0; i < set.result_count; ++i) {
    added.push_back(product_of(*leat_result_at(&set, i)));
    if (!names.insert(added.back().name).second)
      throw std::invalid_argument("product \"" + added.back().name + "\" is there twice");
  }
  if (!memory) memory = copy_of(&added);
  all.products.insert(all.products.end(), added.begin(), added.end());
  using Both = std::pair<std::shared_ptr<const void>, std::shared_ptr<const void>>;
  all.memory = std::make_shared<const Both>(std::move(all.memory), std::move(memory));
  published_ = std::move(all);
}

}  // namespace leat::server
