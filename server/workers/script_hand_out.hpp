// SPDX-License-Identifier: Apache-2.0
// Watches the files of scripts, hands iterations out to those that want them, and says which process each is called in.
// One thread of its own.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "server/workers/script_board.hpp"

namespace leat::server {

class ScriptHandOut {
 public:
  explicit ScriptHandOut(ScriptContext& context) : context_(context), board_(context.board) {}

  /// Until the board closes.
  void run();

 private:
  bool next_news(std::optional<ScriptBoard::News>* news);
  void edit_graph();
  void look_for_changes();
  void warn_of_groups(const std::vector<ScriptFile>& files);
  void take_file(const ScriptFile& file);
  void warn_of_lacking_sources();
  void take_module(const ScriptFile& file);
  void give_to_scripts(const ScriptBoard::News& news);
  void store_constants(const ScriptBoard::News& news);
  void relieve();
  std::vector<int> scripts_at_seats() const;
  std::size_t seat_for_new_script();
  bool find_other_seat(const Script& script, std::size_t* index);
  std::size_t add_seat(Script* module = nullptr);

  ScriptContext& context_;
  ScriptBoard& board_;
  GraphPlans plans_;
  std::set<std::string> looked_at_;  // scripts, and what was said of their groups
};

}  // namespace leat::server
