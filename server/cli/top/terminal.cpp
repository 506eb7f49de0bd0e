// SPDX-License-Identifier: Apache-2.0
#include "server/cli/top/terminal.hpp"

#include <langinfo.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <clocale>
#include <cstdlib>
#include <cstring>
#include <cwchar>

#include "lib/os/clock.hpp"
#include "server/cli/screen.hpp"

// Behind all others: its names are common words.
#define NCURSES_WIDECHAR 1
#define NCURSES_NOMACROS 1
#include <curses.h>

namespace leat::cli::top {
namespace {

std::atomic<bool> is_ended{false};

void end_by_signal(int /*signal*/) { is_ended = true; }

attr_t attribute_of(Paint paint) {
  switch (paint) {
    case Paint::plain:
      return A_NORMAL;
    case Paint::bold:
      return A_BOLD;
    case Paint::dim:
      return A_DIM;
    case Paint::red:
      return A_BOLD | COLOR_PAIR(1);
    case Paint::green:
      return COLOR_PAIR(2);
    case Paint::yellow:
      return COLOR_PAIR(3);
  }
  return A_NORMAL;
}

void prepare_colours() {
  if (!has_colors() || !look_of(stdout).colours) return;
  start_color();
  use_default_colors();
  init_pair(1, COLOR_RED, -1);
  init_pair(2, COLOR_GREEN, -1);
  init_pair(3, COLOR_YELLOW, -1);
}

std::string utf8_of(wint_t character) {
  char bytes[16];
  std::mbstate_t state{};
  const std::size_t count = std::wcrtomb(bytes, static_cast<wchar_t>(character), &state);
  return count == static_cast<std::size_t>(-1) ? "" : std::string(bytes, count);
}

Key key_of_function(wint_t code) {
  switch (code) {
    case KEY_UP:
      return {Key::Kind::up};
    case KEY_DOWN:
      return {Key::Kind::down};
    case KEY_PPAGE:
      return {Key::Kind::page_up};
    case KEY_NPAGE:
      return {Key::Kind::page_down};
    case KEY_ENTER:
      return {Key::Kind::enter};
    case KEY_BACKSPACE:
      return {Key::Kind::backspace};
    case KEY_RESIZE:
      return {Key::Kind::resized};
    default:
      return {Key::Kind::character, ""};
  }
}

Key key_of_character(wint_t character) {
  if (character == '\r' || character == '\n') return {Key::Kind::enter};
  if (character == 27) return {Key::Kind::escape};
  if (character == 8 || character == 127) return {Key::Kind::backspace};
  if (character < 32) return {Key::Kind::character, ""};
  return {Key::Kind::character, utf8_of(character)};
}

}  // namespace

bool shows_utf8() {
  std::setlocale(LC_CTYPE, "");
  return std::strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
}

std::unique_ptr<Terminal> Terminal::open(std::string* why) {
  const char* const name = std::getenv("TERM");
  const bool is_one = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
  *why = !is_one ? "standard input and output are no terminal"
                 : "TERM does not say which terminal this is";
  if (!is_one || !name || !*name) return nullptr;
  setenv("ESCDELAY", "50", 0);  // an Escape is not the begin of another key for long
  const bool has_utf8 = shows_utf8();
  *why = std::string("there is no description of the terminal \"") + name +
         "\" here; TERM=vt100 may do";
  if (!newterm(nullptr, stdout, stdin)) return nullptr;
  return std::unique_ptr<Terminal>(new Terminal(has_utf8));
}

Terminal::Terminal(bool has_utf8) : has_utf8_(has_utf8) {
  struct sigaction action {};
  action.sa_handler = end_by_signal;
  for (const int each : {SIGTERM, SIGINT, SIGHUP}) sigaction(each, &action, nullptr);
  cbreak();
  noecho();
  nonl();
  keypad(stdscr, TRUE);
  nodelay(stdscr, TRUE);
  curs_set(0);
  prepare_colours();
}

Terminal::~Terminal() { endwin(); }

std::size_t Terminal::width() const {
  return static_cast<std::size_t>(std::max(1, getmaxx(stdscr)));
}
std::size_t Terminal::height() const {
  return static_cast<std::size_t>(std::max(1, getmaxy(stdscr)));
}

void Terminal::show(const Grid& grid, std::size_t cursor_row) {
  werase(stdscr);
  for (std::size_t row = 0; row < std::min(grid.height(), height()); ++row) {
    wmove(stdscr, static_cast<int>(row), 0);
    for (const GridCell& cell : grid.row(row)) {
      wattrset(stdscr, static_cast<int>(attribute_of(cell.paint)));
      waddstr(stdscr, has_utf8_ || cell.text.size() == 1 ? cell.text.c_str() : "?");
    }
  }
  wattrset(stdscr, static_cast<int>(A_NORMAL));
  const bool has_cursor = cursor_row < std::min(grid.height(), height());
  if (has_cursor)
    wmove(stdscr, static_cast<int>(cursor_row),
          static_cast<int>(std::min(width_of(grid.text_of_row(cursor_row)), width() - 1)));
  curs_set(has_cursor ? 1 : 0);
  wrefresh(stdscr);
}

void Terminal::wait(const std::vector<int>& descriptors, std::int64_t until_ns) const {
  std::vector<pollfd> entries{{STDIN_FILENO, POLLIN, 0}};
  for (const int each : descriptors)
    if (each >= 0) entries.push_back({each, POLLIN, 0});
  poll(entries.data(), entries.size(), os::left_ms(until_ns));
  if (entries.front().revents & (POLLERR | POLLNVAL | POLLHUP)) is_ended = true;
}

Key Terminal::key() {
  wint_t character = 0;
  const int kind = wget_wch(stdscr, &character);
  if (kind == KEY_CODE_YES) return key_of_function(character);
  return kind == OK ? key_of_character(character) : Key{};
}

bool Terminal::is_over() const noexcept { return is_ended; }

}  // namespace leat::cli::top
