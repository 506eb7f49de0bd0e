// SPDX-License-Identifier: Apache-2.0
#include "server/cli/top/live.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "lib/base/text.hpp"
#include "lib/os/clock.hpp"
#include "server/cli/screen.hpp"

namespace leat::cli::top {
namespace {

// The clock goes on, and so does "for 12 s".
constexpr std::int64_t kRedrawNs = 1'000'000'000;
constexpr std::size_t kPageRows = 10;
// Of all sessions at once nobody reads faster.
constexpr std::int64_t kOverviewNs = 1'000'000'000;

constexpr const char* kKeysOfSession =
    "q quit  Esc sessions  r reload scripts  s set  e event  d drain  arrows scroll";
constexpr const char* kKeysOfAll = "q quit  arrows select  Enter open";

// "dt, title": what can be named.
std::string names_in(const Json& description, const char* list) {
  std::vector<std::string> names;
  if (description.is_object())
    for (const Json& each : description.value(list, Json::array()))
      names.push_back(text_in(each, "name"));
  return joined(names, ", ");
}

std::string without_last_character(const std::string& text) {
  std::vector<std::string> characters = characters_of(text);
  if (!characters.empty()) characters.pop_back();
  return joined(characters, "");
}

}  // namespace

Live::Live(Terminal& terminal, const LiveOptions& options)
    : terminal_(terminal),
      options_(options),
      style_{.blocks = shows_utf8()},
      sessions_(options.interval_ns),
      open_(options.session) {
  if (!open_.empty()) sessions_.add(open_);
}

void Live::run() {
  while (!is_over_ && !terminal_.is_over()) {
    const std::int64_t now_ns = os::now_ns();
    turn(now_ns);
    draw(now_ns);
    sleep(now_ns);
    for (Key key = terminal_.key(); key.kind != Key::Kind::none; key = terminal_.key()) handle(key);
  }
}

void Live::turn(std::int64_t now_ns) {
  if (order_) order_->turn(now_ns);
  if (open_.empty()) {
    sessions_.discover(now_ns);
    for (const auto& each : sessions_.all())
      each->set_interval(std::max(kOverviewNs, options_.interval_ns));
    sessions_.turn(now_ns);
  } else {
    Watch& watch = sessions_.add(open_);
    watch.set_interval(options_.interval_ns);
    watch.turn(now_ns);
  }
}

void Live::sleep(std::int64_t now_ns) const {
  std::int64_t until_ns = now_ns + kRedrawNs;
  std::vector<int> descriptors{order_ ? order_->descriptor() : -1};
  for (const auto& each : sessions_.all()) {
    if (!open_.empty() && each->session() != open_) continue;
    descriptors.push_back(each->descriptor());
    until_ns = std::min(until_ns, each->next_ns());
  }
  terminal_.wait(descriptors, until_ns);
}

Grid Live::body(std::int64_t now_ns) const {
  Grid grid(terminal_.width());
  const std::size_t columns = columns_of_history(grid.width());
  std::vector<Shown> all;
  for (const auto& each : sessions_.all()) {
    if (!open_.empty() && each->session() != open_) continue;
    all.push_back(shown_of(*each, now_ns, columns, options_.of_iterations));
  }
  if (open_.empty())
    draw_sessions(all, selected_, clock_text(false), &grid);
  else if (!all.empty())
    draw_session(all.front(), clock_text(false), style_, &grid);
  return grid;
}

// What is asked, or what has come of an order: one row, or some where it is too long.
std::vector<std::string> Live::message() const {
  if (!prompt_ && !order_) return {""};
  const std::vector<std::string> characters =
      characters_of(prompt_ ? prompt_->question + " " + prompt_->text : order_->text());
  const std::size_t width = std::max<std::size_t>(1, terminal_.width());
  std::vector<std::string> lines{""};
  for (std::size_t i = 0; i < characters.size(); ++i) {
    if (i > 0 && i % width == 0) lines.emplace_back();
    lines.back() += characters[i];
  }
  const std::size_t most = std::max<std::size_t>(1, terminal_.height() / 2);
  if (lines.size() > most && prompt_)
    lines.erase(lines.begin(), lines.end() - static_cast<std::ptrdiff_t>(most));
  lines.resize(std::min(lines.size(), most));
  return lines;
}

// The title stays; what is below it scrolls.
void Live::draw(std::int64_t now_ns) {
  const Grid all = body(now_ns);
  const std::vector<std::string> lines = message();
  const std::size_t height = terminal_.height(), footer = lines.size() + 1;
  const std::size_t room = height > footer ? height - footer : 0;
  const std::size_t beyond = all.height() > room ? all.height() - room : 0;
  if (open_.empty() && selected_ + 3 > room) scrolled_ = selected_ + 3 - room;
  scrolled_ = std::min(scrolled_, beyond);
  Grid grid(all.width());
  grid.need_rows(height);
  for (std::size_t row = 0; row < std::min(room, all.height()); ++row)
    grid.copy_row(row, all, row == 0 ? 0 : row + scrolled_);
  draw_footer(&grid, lines, beyond - scrolled_);
  terminal_.show(grid, prompt_ && height >= footer ? height - 2 : grid.height());
}

void Live::draw_footer(Grid* grid, const std::vector<std::string>& lines,
                       std::size_t hidden) const {
  const std::size_t height = grid->height();
  if (height < lines.size() + 1) return;
  const Paint paint = prompt_                          ? Paint::bold
                      : order_ && order_->is_refused() ? Paint::red
                                                       : Paint::green;
  const std::size_t first = height - 1 - lines.size();
  for (std::size_t i = 0; i < lines.size(); ++i) grid->put(first + i, 0, lines[i], paint);
  const std::string below = "  " + counted(hidden, "row") + " below";
  if (hidden > 0 && !prompt_ && width_of(lines.back()) + width_of(below) <= grid->width())
    grid->put_right(height - 2, grid->width(), below, Paint::dim);
  const char* const keys = prompt_         ? "Enter gives the order, Esc does not"
                           : open_.empty() ? kKeysOfAll
                                           : kKeysOfSession;
  grid->put(height - 1, 0, keys, Paint::dim);
}

void Live::handle(const Key& key) {
  if (prompt_) return handle_in_prompt(key);
  switch (key.kind) {
    case Key::Kind::none:
    case Key::Kind::resized:
    case Key::Kind::backspace:
      return;
    case Key::Kind::character:
      return handle_letter(key.text);
    case Key::Kind::escape:
      open_.clear();
      scrolled_ = 0;
      return;
    case Key::Kind::enter:
      if (!open_.empty() || selected_ >= sessions_.all().size()) return;
      open_ = sessions_.all()[selected_]->session();
      scrolled_ = 0;
      return;
    case Key::Kind::up:
      return move(-1);
    case Key::Kind::down:
      return move(1);
    case Key::Kind::page_up:
      return move(-static_cast<std::ptrdiff_t>(kPageRows));
    case Key::Kind::page_down:
      return move(kPageRows);
  }
}

// draw() keeps it within what there is to see.
void Live::move(std::ptrdiff_t rows) {
  std::size_t& place = open_.empty() ? selected_ : scrolled_;
  const std::size_t most =
      open_.empty() ? std::max<std::size_t>(1, sessions_.all().size()) - 1 : SIZE_MAX / 2;
  const auto moved = static_cast<std::ptrdiff_t>(place) + rows;
  place = std::min(static_cast<std::size_t>(std::max<std::ptrdiff_t>(0, moved)), most);
  if (open_.empty()) scrolled_ = 0;
}

void Live::handle_letter(const std::string& letter) {
  if (letter == "q") is_over_ = true;
  if (open_.empty()) return;
  if (letter == "r") give("reload-scripts", "");
  if (letter == "s") ask("set");
  if (letter == "e") ask("signal");
  if (letter == "d") ask("drain");
}

void Live::ask(const std::string& verb) {
  const Json& description = sessions_.add(open_).description();
  std::string question;
  if (verb == "set") question = "set NAME=VALUE (" + names_in(description, "parameters") + "):";
  if (verb == "signal") question = "signal event (" + names_in(description, "events") + "):";
  if (verb == "drain")
    question = "Leat stores what it has and ends, the simulation computes on. Type yes:";
  const std::size_t room = terminal_.width() / 2;
  if (width_of(question) > room && verb != "drain")
    question = verb == "set" ? "set NAME=VALUE:" : "signal event:";
  prompt_ = Prompt{verb, question, ""};
}

void Live::handle_in_prompt(const Key& key) {
  switch (key.kind) {
    case Key::Kind::character:
      prompt_->text += key.text;
      return;
    case Key::Kind::backspace:
      prompt_->text = without_last_character(prompt_->text);
      return;
    case Key::Kind::escape:
      prompt_.reset();
      return;
    case Key::Kind::enter: {
      const Prompt given = *std::exchange(prompt_, std::nullopt);
      if (given.verb == "drain" && given.text == "yes") give("drain", "");
      if (given.verb != "drain" && !given.text.empty()) give(given.verb, given.text);
      return;
    }
    case Key::Kind::none:
    case Key::Kind::resized:
    case Key::Kind::up:
    case Key::Kind::down:
    case Key::Kind::page_up:
    case Key::Kind::page_down:
      return;
  }
}

void Live::give(const std::string& verb, const std::string& words) {
  std::vector<std::string> given;
  if (!words.empty()) given.push_back(words);
  order_.emplace(open_, verb, given, os::now_ns());
}

}  // namespace leat::cli::top
