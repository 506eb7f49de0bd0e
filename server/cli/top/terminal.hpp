// SPDX-License-Identifier: Apache-2.0
// The terminal that `leat top` works in, by ncurses; its only user.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "server/cli/top/grid.hpp"

namespace leat::cli::top {

struct Key {
  enum class Kind {
    none,
    character,
    enter,
    escape,
    backspace,
    up,
    down,
    page_up,
    page_down,
    resized
  };
  Kind kind = Kind::none;
  std::string text{};  ///< of a character, in UTF-8; "" of keys that mean nothing here
};

// The screen of the terminal is as it was when this ends, however the program ends but by SIGKILL.
class Terminal {
 public:
  /// Null where there can be none, and `why`.
  static std::unique_ptr<Terminal> open(std::string* why);
  ~Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  std::size_t width() const;
  std::size_t height() const;
  /// The grid's rows from the first one on; a cursor behind the text of `cursor_row` when that is a row.
  void show(const Grid& grid, std::size_t cursor_row);

  /// Sleeps until a key is there, one of the descriptors can be read, or the time has come; negative ones do not count.
  void wait(const std::vector<int>& descriptors, std::int64_t until_ns) const;
  /// One that was pressed; none.
  Key key();
  /// SIGTERM, SIGINT or SIGHUP has come, or the terminal is gone.
  bool is_over() const noexcept;

 private:
  explicit Terminal(bool has_utf8);

  bool has_utf8_;
};

/// Whether characters beyond ASCII are shown, by the locale.
bool shows_utf8();

}  // namespace leat::cli::top
