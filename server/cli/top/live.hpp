// SPDX-License-Identifier: Apache-2.0
// `leat top` at work in a terminal: keys, and which screen is shown.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "server/cli/top/order.hpp"
#include "server/cli/top/sessions.hpp"
#include "server/cli/top/terminal.hpp"

namespace leat::cli::top {

struct LiveOptions {
  std::string session;  ///< shown first; "": all of them
  std::int64_t interval_ns = 250'000'000;
  std::uint64_t of_iterations = 0;
};

class Live {
 public:
  Live(Terminal& terminal, const LiveOptions& options);
  /// Until a key or a signal ends it.
  void run();

 private:
  /// What is asked for in the last row but one.
  struct Prompt {
    std::string verb, question, text;
  };
  void turn(std::int64_t now_ns);
  void sleep(std::int64_t now_ns) const;
  void draw(std::int64_t now_ns);
  Grid body(std::int64_t now_ns) const;
  std::vector<std::string> message() const;
  void draw_footer(Grid* grid, const std::vector<std::string>& lines, std::size_t hidden) const;
  void handle(const Key& key);
  void handle_in_prompt(const Key& key);
  void handle_letter(const std::string& letter);
  void move(std::ptrdiff_t rows);
  void ask(const std::string& verb);
  void give(const std::string& verb, const std::string& words);

  Terminal& terminal_;
  LiveOptions options_;
  Style style_;
  Sessions sessions_;
  std::string open_;  // the session that is shown; "": all
  std::size_t selected_ = 0, scrolled_ = 0;
  std::optional<Prompt> prompt_;
  std::optional<Order> order_;
  bool is_over_ = false;
};

}  // namespace leat::cli::top
