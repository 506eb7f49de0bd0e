// SPDX-License-Identifier: Apache-2.0
// Arrays under names that the XML does not declare: dropped, or published as products of this rank, as undeclared="..." of <data>
// says. Called with the session's mutex held.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "client-api/session/channel.hpp"
#include "client-api/session/declared.hpp"
#include "client-api/session/failures.hpp"
#include "client-api/session/packing.hpp"
#include "client-api/session/product_writer.hpp"
#include "client-api/session/variable_table.hpp"
#include "lib/base/status.hpp"

struct leat_array;

namespace leat::client {

class UndeclaredWriter {
 public:
  /// A rank has no more names than these, so that a name made anew in each iteration fills no memory.
  static constexpr std::size_t kMostNames = 1000;
  /// Names of which the log shows how they would be declared.
  static constexpr std::size_t kMostTold = 100;
  static constexpr std::size_t kLongestName = 200;

  UndeclaredWriter(Channel& channel, const VariableTable& variables, Failures& failures,
                   ProductWriter& products, std::int32_t rank);

  /// Of a name that is no variable. UNWANTED: it is not stored, as the XML says.
  Status write(const Call& call, const char* name, const leat_array* array);

  /// An error of a call that would have handed over an array of this name.
  Status lose(const Call& call, std::string_view name, const Error& error);

  /// Tells the server how many were dropped.
  void tell_dropped(const Call& call) noexcept;

  /// This iteration has to be ended, be there blocks or not.
  bool any_since_end() const noexcept { return any_since_end_; }
  void begin_iteration() noexcept { any_since_end_ = false; }

 private:
  /// What came first under a name: later arrays are like it.
  struct Known {
    std::string name;
    ScalarType type = ScalarType::float64;
    std::uint32_t dims = 0;
    std::array<std::int64_t, kMaxDims> extent{};
  };
  struct Given {
    std::string name;
    ArrayView view;
    CallersWords words;
    std::uint64_t bytes = 0;
  };

  Status drop(const Call& call, const Given& given);
  Status accept(const Call& call, const Given& given);
  Status publish(const Call& call, const Given& given);
  /// OK, or what is wrong with an array of this name.
  Error why_refused(const Given& given) const;
  bool is_new(const std::string& name);
  void tell_once(const Call& call, const Given& given, const std::string& what_becomes_of_it);
  std::string head_of(const Given& given) const;

  Channel& channel_;
  const VariableTable& variables_;
  Failures& failures_;
  ProductWriter& products_;
  const shm::UndeclaredArrays policy_;
  const bool drops_iterations_;  // as when-full says
  const std::string source_;
  std::unordered_map<std::string, Known> known_;  // by the name that it has in files
  std::uint64_t dropped_ = 0;
  std::size_t told_ = 0;
  bool any_since_end_ = false;
};

/// `<variable name="u" type="double" dimensions="64,32"/>`: what declares such an array.
std::string xml_of(std::string_view name, const ArrayView& array, bool column_major);

/// "", or why no variable can have this name.
std::string why_no_variable_name(std::string_view name);

}  // namespace leat::client
