// SPDX-License-Identifier: Apache-2.0
// Columns that plugins give and get, between the plugin ABI and rounds of the run.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "lib/comm/message.hpp"
#include "server/include/plugin.h"

namespace leat::server {

/// What one server may give in one call; of bytes that are gathered, eight are one.
inline constexpr std::uint64_t kMostColumnNumbers = 1 << 20;

/// Throws std::invalid_argument with what is wrong with them.
comm::Columns columns_of(const leat_column* columns, std::uint64_t count, std::uint64_t stride);
/// As they are contributed: with columns of our own before them, by which one sees who gave something.
comm::Columns of_server(const comm::Columns& columns, comm::Rank self);

// An outcome, as a plugin sees it.
class ReductionView {
 public:
  /// Nothing when it is not of what was given: it is of nobody, or of other columns.
  static std::optional<ReductionView> of(const comm::Columns& given, const comm::Outcome& outcome,
                                         comm::Rank self, comm::Rank servers);
  /// Points into this; without its iteration.
  leat_reduction seen() const;

 private:
  void add(const comm::Integers& column);
  void add(const comm::Reals& column);
  void add(const comm::Sums& column);
  void add(const comm::Gathered& column);

  std::vector<std::vector<std::int64_t>> integers_;
  std::vector<std::vector<double>> reals_;
  std::vector<std::vector<char>> bytes_;
  std::vector<std::vector<std::uint64_t>> sizes_;  // of what is gathered, by server
  std::vector<leat_column> columns_;
  std::int32_t self_ = 0, servers_ = 0, missing_ = 0;
  bool is_first_ = false;
};

}  // namespace leat::server
