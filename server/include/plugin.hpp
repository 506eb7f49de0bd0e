// SPDX-License-Identifier: Apache-2.0
// Help for plugins in C++ (17 or newer), header only, over plugin.h: a class instead of three
// functions and a void*.
//
//     class Mine {
//      public:
//       Mine(const leat_run& run, leat::Host host);          // open; throw std::exception for
//                                                            // "cannot";
//                                                            leat_run_is_resumed(&run):
//                                                            // go on with what is there
//       void iteration(const leat_iteration_data& data);     // throw for "not stored"
//       void close();                                        // after the last iteration
//       void results(const leat_result_set& set);            // what scripts and other plugins
//                                                            // made; may be left out
//       void on_signal(const char* event, std::int32_t rank, // an <event> of the XML happens; may be
//                      std::int64_t iteration,               // left out
//                      const char* args);
//       // In place of iteration(): pieces, done at the same time where there are cores for it.
//       std::uint64_t begin(const leat_iteration_data& data);   // how many
//       void chunk(std::uint64_t number);    // one; any thread, any order, several at a time
//       void finish();                       // when all are done
//     };
//     LEAT_PLUGIN(Mine, "mine")
//
// What is thrown becomes a message in the server's log and in what leat_finalize reports.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <exception>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "plugin.h"

namespace leat {

/// What a plugin has made of an iteration: named arrays and numbers, for Host::publish().
class Products {
 public:
  struct Dimension {
    std::string name;
    std::int64_t extent;
  };

  /// A number.
  template <class T>
  void add(const std::string& name, T value, const std::string& unit = "") {
    add(name, std::vector<T>{value}, {}, unit);
  }
  /// An array in C order, which is moved here and not copied; as many values as the extents of the
  /// dimensions make.
  template <class T>
  void add(const std::string& name, std::vector<T> values, std::vector<Dimension> dimensions,
           const std::string& unit = "") {
    const auto kept = std::make_shared<const std::vector<T>>(std::move(values));
    all_.push_back({name, unit, scalar_of<T>(), std::move(dimensions), kept, kept->data(),
                    kept->size() * sizeof(T)});
  }
  bool empty() const { return all_.empty(); }

 private:
  friend class Host;
  struct One {
    std::string name, unit;
    std::uint32_t type;
    std::vector<Dimension> dimensions;
    std::shared_ptr<const void> memory;
    const void* data;
    std::uint64_t bytes;
  };

  template <class T>
  static constexpr std::uint32_t scalar_of() {
    static_assert(std::is_arithmetic_v<T> && !std::is_same_v<T, bool> && sizeof(T) <= 8,
                  "integers of 1 to 8 bytes, float and double");
    constexpr std::uint32_t log2 = sizeof(T) == 1 ? 0 : sizeof(T) == 2 ? 1 : sizeof(T) == 4 ? 2 : 3;
    if constexpr (std::is_floating_point_v<T>) return LEAT_FLOAT32 + log2 - 2;
    return (std::is_signed_v<T> ? LEAT_INT8 : LEAT_UINT8) + log2;
  }
  static leat_result result_of(const One& one) {
    leat_result result{};
    result.size = sizeof result;
    result.name = one.name.c_str();
    result.unit = one.unit.c_str();
    result.type = one.type;
    result.dims = static_cast<std::uint32_t>(one.dimensions.size());
    for (std::uint32_t d = 0; d < result.dims && d < LEAT_PLUGIN_MAX_DIMS; ++d) {
      result.dimension[d] = one.dimensions[d].name.c_str();
      result.extent[d] = one.dimensions[d].extent;
    }
    result.data = one.data;
    result.bytes = one.bytes;
    return result;
  }

  std::vector<One> all_;
};

/// A sum of doubles that is the same, bit for bit, in whatever order they are added, and however they are divided among
/// pieces and servers: a few doubles whose exact sum it is. Some nanoseconds for each. Not with
/// -ffast-math, which makes other sums of these. Source: Rump, Ogita, Oishi: Accurate Floating-Point
/// Summation, 2008, ExtractVector.
class ExactSum {
 public:
  void add(double value) {
    values_.push_back(value);
    if (values_.size() >= kMost) extract();
  }
  void add(const ExactSum& other) {
    for (const double value : other.values_) add(value);
    large_.insert(large_.end(), other.large_.begin(), other.large_.end());
    strange_ += other.strange_;
  }
  /// Doubles whose exact sum it is.
  std::vector<double> terms() const {
    ExactSum all = *this;
    all.extract();
    std::vector<double> terms = std::move(all.values_);
    terms.insert(terms.end(), all.large_.begin(), all.large_.end());
    if (all.strange_ != 0) terms.push_back(all.strange_);
    return terms;
  }

 private:
  static constexpr std::size_t kMost = 4096;
  static constexpr int kBits = 13;  // 2^13 is more than so many, and their sum
  static constexpr double kLarge = 0x1p+1000;

  // Splits off what is above a power of two: sums of that are exact in any order. Four at a time, which need not wait for each
  // other.
  void extract() {
    std::vector<double> rest, terms;
    rest.swap(values_);
    double most = put_aside(&rest);
    rest.resize((rest.size() + 3) / 4 * 4, 0);
    while (most > 0) {
      int exponent = 0;
      std::frexp(most, &exponent);
      const double power = std::ldexp(1.0, exponent + kBits);
      double sums[4] = {}, largest[4] = {};
      for (std::size_t i = 0; i < rest.size(); i += 4) {
        for (std::size_t k = 0; k < 4; ++k) {
          const double part = (rest[i + k] + power) - power, left = rest[i + k] - part;
          rest[i + k] = left;
          sums[k] += part;
          largest[k] = std::fabs(left) > largest[k] ? std::fabs(left) : largest[k];
        }
      }
      terms.push_back((sums[0] + sums[1]) + (sums[2] + sums[3]));
      most = 0;
      for (const double each : largest) most = each > most ? each : most;
    }
    values_ = std::move(terms);
    values_.reserve(kMost);
  }
  // What cannot be split. Returns the largest of the others.
  double put_aside(std::vector<double>* rest) {
    double most = 0;
    for (double& value : *rest) {
      if (std::fabs(value) < kLarge) {
        most = std::fabs(value) > most ? std::fabs(value) : most;
        continue;
      }
      if (std::isfinite(value))
        large_.push_back(value);
      else
        strange_ += value;
      value = 0;
    }
    return most;
  }

  std::vector<double> values_, large_;
  double strange_ = 0;  // infinities, not a number
};

/// Numbers that are reduced over all servers, for Host::reduce(): each call adds a column.
class Columns {
 public:
  void sum(std::vector<std::int64_t> values) { add(LEAT_REDUCE_SUM, std::move(values)); }
  void min(std::vector<std::int64_t> values) { add(LEAT_REDUCE_MIN, std::move(values)); }
  void max(std::vector<std::int64_t> values) { add(LEAT_REDUCE_MAX, std::move(values)); }
  void min(std::vector<double> values) { add(LEAT_REDUCE_MIN, std::move(values), 1); }
  void max(std::vector<double> values) { add(LEAT_REDUCE_MAX, std::move(values), 1); }
  void sum(std::vector<double> values) { add(LEAT_REDUCE_SUM, std::move(values), 1); }
  /// Bytes that all servers get, as Reduced::gathered(); of each as many as it likes, 8 MiB in all columns of a call.
  void gather(std::string bytes) {
    const auto kept = std::make_shared<const std::string>(std::move(bytes));
    add(LEAT_UINT8, LEAT_REDUCE_GATHER, kept->size(), 1, kept->data(), kept);
  }
  /// With the same bits for any number of servers.
  void sum(const std::vector<ExactSum>& sums) {
    std::vector<std::vector<double>> rows;
    std::size_t terms = 1;
    for (const ExactSum& each : sums) {
      rows.push_back(each.terms());
      terms = rows.back().size() > terms ? rows.back().size() : terms;
    }
    std::vector<double> values;
    for (std::vector<double>& row : rows) {
      row.resize(terms, 0);
      values.insert(values.end(), row.begin(), row.end());
    }
    add(LEAT_REDUCE_SUM, std::move(values), terms);
  }

 private:
  friend class Host;
  void add(std::uint32_t op, std::vector<std::int64_t> values) {
    const auto kept = std::make_shared<const std::vector<std::int64_t>>(std::move(values));
    add(LEAT_INT64, op, kept->size(), 1, kept->data(), kept);
  }
  void add(std::uint32_t op, std::vector<double> values, std::size_t terms) {
    const auto kept = std::make_shared<const std::vector<double>>(std::move(values));
    add(LEAT_FLOAT64, op, kept->size() / terms, terms, kept->data(), kept);
  }
  void add(std::uint32_t type, std::uint32_t op, std::size_t count, std::size_t terms,
           const void* values, std::shared_ptr<const void> kept) {
    leat_column column{};
    column.size = sizeof column;
    column.type = type;
    column.op = op;
    column.count = count;
    column.terms = terms;
    column.values = values;
    all_.push_back(column);
    kept_.push_back(std::move(kept));
  }

  std::vector<leat_column> all_;
  std::vector<std::shared_ptr<const void>> kept_;
};

/// What all servers have made of Columns, in their order.
class Reduced {
 public:
  explicit Reduced(const leat_reduction& all) : all_(all) {}
  std::int64_t integer(std::size_t column, std::size_t i = 0) const {
    return static_cast<const std::int64_t*>(at(column).values)[i];
  }
  double real(std::size_t column, std::size_t i = 0) const { return doubles(column, i)[0]; }
  /// Of a sum of doubles: what was left when it was rounded, rounded.
  double rest(std::size_t column, std::size_t i = 0) const {
    return at(column).terms > 1 ? doubles(column, i)[1] : 0;
  }
  /// Bytes that were gathered of a server; nothing where it gave nothing. As long as this is there.
  std::optional<std::string_view> gathered(std::size_t column, int server) const {
    const leat_column& all = at(column);
    std::uint64_t first = 0;
    for (int before = 0; before < server; ++before)
      if (all.sizes[before] != LEAT_GAVE_NOTHING) first += all.sizes[before];
    if (all.sizes[server] == LEAT_GAVE_NOTHING) return std::nullopt;
    return std::string_view(static_cast<const char*>(all.values) + first, all.sizes[server]);
  }
  std::size_t size(std::size_t column) const { return at(column).count; }
  std::int64_t iteration() const { return all_.iteration; }
  int servers() const { return all_.servers; }
  /// Which of them this one is, from 0 on.
  int server() const { return all_.server; }
  /// That gave nothing.
  int servers_missing() const { return all_.servers_missing; }
  /// On one server: who is to publish or write what is made once.
  bool is_first() const { return all_.is_first != 0; }

 private:
  const leat_column& at(std::size_t column) const { return *leat_column_at(&all_, column); }
  const double* doubles(std::size_t column, std::size_t i) const {
    return static_cast<const double*>(at(column).values) + i * at(column).terms;
  }
  const leat_reduction& all_;
};

/// The server's log. A copy is as good as the original; valid until close() has returned.
class Host {
 public:
  explicit Host(const leat_host* host) : host_(host) {}
  void info(const std::string& message) const { log(LEAT_LOG_INFO, message); }
  void warn(const std::string& message) const { log(LEAT_LOG_WARNING, message); }
  void error(const std::string& message) const { log(LEAT_LOG_ERROR, message); }
  /// The run's ledger so far, as JSON; "" when the server has none.
  std::string ledger() const { return leat_host_ledger(host_); }
  /// So many bytes more are done: to be said in calls that may take longer than a timeout.
  void progress(std::uint64_t bytes) const { leat_host_progress(host_, bytes); }
  /// Points to an MPI_Comm, of the servers of all nodes; null where there is none: see plugin.h.
  void* mpi_comm() const { return leat_host_mpi_comm(host_); }
  /// Which of `files` files of all servers this one may write into until this call of the plugin ends; waits for that.
  /// -1: one of its own.
  std::int32_t shared_file(std::int32_t files) const { return leat_host_shared_file(host_, files); }
  /// It needs none of them any more in this call.
  void leave_shared_file() const { leat_host_shared_file(host_, 0); }
  /// Gives a parameter a new value, on all ranks of the run from the same iteration on: see plugin.h. Throws std::runtime_error when it
  /// is refused, or cannot be done from here.
  template <class Value>
  void set(const std::string& parameter, const Value& value) const {
    leat_parameter given{};
    given.size = sizeof given;
    given.name = parameter.c_str();
    if constexpr (std::is_floating_point_v<Value>) {
      given.type = LEAT_FLOAT64;
      given.real = value;
    } else if constexpr (std::is_integral_v<Value>) {
      given.type = LEAT_INT64;
      given.integer = value;
    } else {
      given.type = LEAT_CHAR;
      given.text = c_string(value);
    }
    const int code = leat_host_set(host_, &given);
    if (code < 0)
      throw std::runtime_error(
          "parameter \"" + parameter +
          "\" cannot be set from here: this server is too old for it, or the plugin is "
          "in a process of its own (runs=\"...\")");
    if (code > 0) throw std::runtime_error("parameter \"" + parameter + "\" could not be set");
  }
  /// The functions of plugin.h themselves.
  const leat_host* abi() const { return host_; }
  /// False with an older server, and where the plugin is in a process of its own in a run of several servers.
  bool can_reduce() const { return leat_host_can_reduce(host_) != 0; }
  /// Reduces over all servers of the run, without waiting: see plugin.h. done(const Reduced&) is called later as a call of
  /// the plugin is, maybe after the next iterations; what it throws is logged. Not called where what this server gave does not
  /// fit what the others gave. Throws std::runtime_error when it is refused; the log has the reason.
  template <class Done>
  void reduce(const Columns& columns, Done done) const {
    if (!can_reduce())
      throw std::runtime_error(
          "it reduces over all servers of the run, which this server, or a plugin in a process of "
          "its own (runs=\"...\") of a run "
          "with several servers, cannot");
    auto kept = std::make_unique<Awaiting<Done>>(Awaiting<Done>{host_, std::move(done)});
    const int code = leat_host_reduce(host_, columns.all_.data(), columns.all_.size(),
                                      &Awaiting<Done>::call, kept.get());
    if (code != 0) throw std::runtime_error("what it has could not be reduced");
    kept.release();  // NOLINT(bugprone-unused-return-value): call() deletes it
  }
  /// Publishes what was made of the iteration that the plugin is called with; within iteration()
  /// only. False with an older server, which has no such thing. Throws std::runtime_error when it is
  /// refused; the log has the reason.
  bool publish(Products products) const {
    auto kept = std::make_unique<Products>(std::move(products));
    std::vector<leat_result> results;
    for (const Products::One& one : kept->all_) results.push_back(Products::result_of(one));
    leat_result_set set{};
    set.size = sizeof set;
    set.source = "";
    set.results = results.data();
    set.result_count = results.size();
    set.result_stride = sizeof(leat_result);
    const auto release = [](void* memory) { delete static_cast<Products*>(memory); };
    const int code = leat_host_publish(host_, &set, release, kept.release());
    if (code > 0) throw std::runtime_error("what it made could not be published");
    return code == 0;
  }

 private:
  static const char* c_string(const std::string& text) { return text.c_str(); }
  static const char* c_string(const char* text) { return text; }

  template <class Done>
  struct Awaiting {
    const leat_host* host;
    Done done;

    static int call(void* self, const leat_reduction* outcome) noexcept {
      const std::unique_ptr<Awaiting> own(static_cast<Awaiting*>(self));
      if (!outcome) return 0;
      try {
        own->done(Reduced(*outcome));
        return 0;
      } catch (const std::exception& e) {
        Host(own->host).error(e.what());
      } catch (...) {
        Host(own->host).error("unknown exception");
      }
      return 1;
    }
  };

  void log(int level, const std::string& message) const {
    host_->log(host_->context, level, message.c_str());
  }
  const leat_host* host_;
};

/// Value of an option, or `otherwise`.
inline std::string option(const leat_option* options, std::uint64_t count, const char* name,
                          const std::string& otherwise = "") {
  for (std::uint64_t i = 0; i < count; ++i) {
    if (std::strcmp(options[i].name, name) == 0) return options[i].value;
  }
  return otherwise;
}

/// The blocks of an iteration as a range: for (const leat_block& block : Blocks(data)).
class Blocks {
 public:
  explicit Blocks(const leat_iteration_data& data) : data_(data) {}
  class Iterator {
   public:
    Iterator(const leat_iteration_data& data, std::uint64_t at) : data_(data), at_(at) {}
    const leat_block& operator*() const { return *leat_block_at(&data_, at_); }
    Iterator& operator++() {
      ++at_;
      return *this;
    }
    bool operator!=(const Iterator& other) const { return at_ != other.at_; }

   private:
    const leat_iteration_data& data_;
    std::uint64_t at_;
  };
  Iterator begin() const { return {data_, 0}; }
  Iterator end() const { return {data_, data_.block_count}; }

 private:
  const leat_iteration_data& data_;
};

/// The level of a patch of an amr mesh, else nothing.
inline std::optional<std::int32_t> level_of(const leat_block& block) {
  if (!leat_block_has_level(&block)) return std::nullopt;
  return block.level;
}

namespace detail {

template <class Plugin>
struct State {
  Host host;
  Plugin plugin;
};

// Runs `body`; what it throws is logged, and the call has failed.
template <class Body>
int guarded(const Host& host, Body body) noexcept {
  try {
    body();
    return 0;
  } catch (const std::exception& e) {
    host.error(e.what());
  } catch (...) {
    host.error("unknown exception");
  }
  return 1;
}

template <class Plugin>
State<Plugin>* made(const leat_run& run, const Host& host) {
  return new State<Plugin>{host, Plugin(run, host)};
}

template <class Plugin>
int open(const leat_run* run, const leat_host* raw, void** state) noexcept {
  const Host host(raw);
  return guarded(host, [&] { *state = made<Plugin>(*run, host); });
}

template <class Plugin>
int iteration(void* state, const leat_iteration_data* data) noexcept {
  auto* own = static_cast<State<Plugin>*>(state);
  return guarded(own->host, [&] { own->plugin.iteration(*data); });
}

template <class Plugin>
int begin(void* state, const leat_iteration_data* data, std::uint64_t* chunks) noexcept {
  auto* own = static_cast<State<Plugin>*>(state);
  return guarded(own->host, [&] { *chunks = own->plugin.begin(*data); });
}

template <class Plugin>
int chunk(void* state, std::uint64_t number) noexcept {
  auto* own = static_cast<State<Plugin>*>(state);
  return guarded(own->host, [&] { own->plugin.chunk(number); });
}

template <class Plugin>
int finish(void* state) noexcept {
  auto* own = static_cast<State<Plugin>*>(state);
  return guarded(own->host, [&] { own->plugin.finish(); });
}

// For a host that knows nothing of pieces.
template <class Plugin>
int all_chunks(void* state, const leat_iteration_data* data) noexcept {
  std::uint64_t chunks = 0;
  int code = begin<Plugin>(state, data, &chunks);
  for (std::uint64_t i = 0; code == 0 && i < chunks; ++i) code = chunk<Plugin>(state, i);
  return code == 0 ? finish<Plugin>(state) : code;
}

template <class Plugin, class = void>
struct Calls {
  static constexpr auto iteration = detail::iteration<Plugin>;
  static constexpr decltype(leat_plugin::begin) begin = nullptr;
  static constexpr decltype(leat_plugin::chunk) chunk = nullptr;
  static constexpr decltype(leat_plugin::finish) finish = nullptr;
};

template <class Plugin>
struct Calls<Plugin, std::void_t<decltype(&Plugin::chunk)>> {
  static constexpr auto iteration = detail::all_chunks<Plugin>;
  static constexpr auto begin = detail::begin<Plugin>;
  static constexpr auto chunk = detail::chunk<Plugin>;
  static constexpr auto finish = detail::finish<Plugin>;
};

template <class Plugin>
int close(void* state) noexcept {
  const std::unique_ptr<State<Plugin>> own(static_cast<State<Plugin>*>(state));
  return guarded(own->host, [&] { own->plugin.close(); });
}

template <class Plugin>
int results(void* state, const leat_result_set* set) noexcept {
  auto* own = static_cast<State<Plugin>*>(state);
  return guarded(own->host, [&] { own->plugin.results(*set); });
}

using ResultsFunction = int (*)(void*, const leat_result_set*);

// The function above for a class that has one of this name, else none.
template <class Plugin>
constexpr auto results_of(int) -> decltype(&Plugin::results, ResultsFunction{}) {
  return results<Plugin>;
}
template <class Plugin>
constexpr ResultsFunction results_of(long) {
  return nullptr;
}

template <class Plugin>
int on_signal(void* state, const char* event, std::int32_t rank, std::int64_t iteration,
              const char* args) noexcept {
  auto* own = static_cast<State<Plugin>*>(state);
  return guarded(own->host, [&] { own->plugin.on_signal(event, rank, iteration, args); });
}

using SignalFunction = int (*)(void*, const char*, std::int32_t, std::int64_t, const char*);

template <class Plugin>
constexpr auto on_signal_of(int) -> decltype(&Plugin::on_signal, SignalFunction{}) {
  return on_signal<Plugin>;
}
template <class Plugin>
constexpr SignalFunction on_signal_of(long) {
  return nullptr;
}

using CheckFunction = const char* (*)(const leat_run*);

template <class Plugin>
const char* check(const leat_run* run) noexcept {
  static thread_local std::string why;
  try {
    why = Plugin::check(*run);
  } catch (const std::exception& e) {
    why = e.what();
  }
  return why.empty() ? nullptr : why.c_str();
}

template <class Plugin>
constexpr auto check_of(int) -> decltype(&Plugin::check, CheckFunction{}) {
  return check<Plugin>;
}
template <class Plugin>
constexpr CheckFunction check_of(long) {
  return nullptr;
}

// A run that cannot be served has been refused by check().
template <class Plugin>
int makes_whole(const leat_run* run, std::uint64_t variable) noexcept {
  try {
    return Plugin::makes_whole(*run, variable) ? 1 : 0;
  } catch (...) {
    return 1;
  }
}

template <class Plugin>
int changes_values(const leat_run* run, std::uint64_t variable) noexcept {
  try {
    return Plugin::changes_values(*run, variable) ? 1 : 0;
  } catch (...) {
    return 0;
  }
}

using VariableFunction = int (*)(const leat_run*, std::uint64_t);

template <class Plugin>
constexpr auto makes_whole_of(int) -> decltype(&Plugin::makes_whole, VariableFunction{}) {
  return makes_whole<Plugin>;
}
template <class Plugin>
constexpr VariableFunction makes_whole_of(long) {
  return nullptr;
}

template <class Plugin>
constexpr auto changes_values_of(int) -> decltype(&Plugin::changes_values, VariableFunction{}) {
  return changes_values<Plugin>;
}
template <class Plugin>
constexpr VariableFunction changes_values_of(long) {
  return nullptr;
}

}  // namespace detail
}  // namespace leat

/// Exports `Class` as the plugin of this library, called `title`.
#define LEAT_PLUGIN(Class, title)                            \
  LEAT_PLUGIN_EXPORT const leat_plugin leat_plugin_entry = { \
      LEAT_PLUGIN_ABI,                                       \
      sizeof(leat_plugin),                                   \
      title,                                                 \
      leat::detail::open<Class>,                             \
      leat::detail::Calls<Class>::iteration,                 \
      leat::detail::close<Class>,                            \
      leat::detail::results_of<Class>(0),                    \
      leat::detail::on_signal_of<Class>(0),                  \
      leat::detail::Calls<Class>::begin,                     \
      leat::detail::Calls<Class>::chunk,                     \
      leat::detail::Calls<Class>::finish,                    \
      leat::detail::check_of<Class>(0),                      \
      leat::detail::makes_whole_of<Class>(0),                \
      leat::detail::changes_values_of<Class>(0)};
