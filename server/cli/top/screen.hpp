// SPDX-License-Identifier: Apache-2.0
// What `leat top` shows, drawn on a grid of cells: one session, or all of a node.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "server/cli/top/figures.hpp"
#include "server/cli/top/grid.hpp"

namespace leat::cli::top {

/// How it can be drawn.
struct Style {
  bool blocks = true;  ///< the terminal shows block characters; else bars are of "#"
};

/// Of one session, as of now.
struct Shown {
  std::string session, state;  ///< "running"
  std::string note{};          ///< what is wrong with it, or new
  Answers answers{};
  Figures figures{};
  std::vector<std::optional<double>> fills{};  ///< of the buffer, as History has them
  std::uint64_t of_iterations = 0;             ///< how many the run will have; 0: not known
};
/// "12 s", "3 min 12 s": whole seconds.
std::string duration_text(double seconds);

/// Columns for Shown::fills.
std::size_t columns_of_history(std::size_t width);
/// What `fills` are of.
inline constexpr double kHistorySeconds = 60;

/// The first row is its title; `clock` stands at the end of it.
void draw_session(const Shown& shown, const std::string& clock, const Style& style, Grid* grid);
/// A row for each session, with a mark in front of the selected one; the first two rows are titles.
void draw_sessions(const std::vector<Shown>& all, std::size_t selected, const std::string& clock,
                   Grid* grid);

}  // namespace leat::cli::top
