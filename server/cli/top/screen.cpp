// SPDX-License-Identifier: Apache-2.0
#include "server/cli/top/screen.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "lib/base/text.hpp"
#include "server/cli/ctl_screen.hpp"
#include "server/cli/screen.hpp"

namespace leat::cli::top {
namespace {

constexpr std::size_t kFactColumn = 2, kValueColumn = 14;
constexpr std::size_t kBarWidth = 20;
constexpr std::size_t kLeastName = 8, kLeastValue = 8, kRowsOfParameters = 3;
constexpr double kNearlyFull = 0.9;

std::string formatted(const char* form, double value) {
  char text[64];
  std::snprintf(text, sizeof text, form, value);
  return text;
}

std::string percent_text(double share) { return std::to_string(std::lround(100 * share)) + " %"; }

// "612", "9.8", "0.25"
std::string short_number(double value) {
  if (value == 0) return "0";
  return formatted(value >= 99.95 ? "%.0f" : value >= 9.995 ? "%.1f" : "%.2f", value);
}

std::string bytes_text(double bytes) {
  return format_bytes(static_cast<std::uint64_t>(std::max(0.0, bytes)));
}

Json member(const Json& facts, const char* key) {
  return facts.is_object() ? facts.value(key, Json()) : Json();
}

std::uint64_t count_of(const Json& facts, const char* key) {
  return facts.is_object() ? count_in(facts, key) : 0;
}

Paint paint_of_state(const std::string& state) {
  return state == "running" ? Paint::green : state == "ended" ? Paint::plain : Paint::yellow;
}

// Writes facts below each other: "  name        value".
class Facts {
 public:
  explicit Facts(Grid* grid) : grid_(grid) {}

  /// Without a name it stands below the fact before.
  void fact(const std::string& name, const std::string& value, Paint paint = Paint::plain) {
    const std::size_t row = next();
    grid_->put(row, kFactColumn, name, Paint::dim);
    put_words(row, kValueColumn, value, paint);
  }
  /// In one row, with its blanks.
  void picture(const std::string& name, const std::string& value) {
    const std::size_t row = next();
    grid_->put(row, kFactColumn, name, Paint::dim);
    grid_->put(row, kValueColumn, value);
  }
  /// Characters that a row of a fact has for its value.
  std::size_t room() const {
    return std::max(kLeastValue, grid_->width() - std::min(grid_->width(), kValueColumn));
  }
  void line(const std::string& text, Paint paint) { put_words(next(), kFactColumn, text, paint); }
  /// A blank row, and a title.
  void section(const std::string& text) {
    next();
    grid_->put(next(), 0, text, Paint::bold);
  }

 private:
  std::size_t next() {
    const std::size_t row = grid_->height();
    grid_->need_rows(row + 1);
    return row;
  }
  // Goes on in more rows where it is too long.
  void put_words(std::size_t row, std::size_t indent, const std::string& text, Paint paint) {
    std::size_t column = indent;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = std::min(text.find(' ', at), text.size());
      const std::string word = text.substr(at, end - at);
      if (column > indent && column + 1 + width_of(word) > grid_->width()) {
        row = next();
        column = indent;
      }
      column = grid_->put(row, column + (column > indent ? 1 : 0), word, paint);
      at = end + 1;
    }
  }

  Grid* grid_;
};

void draw_title(const Shown& one, const std::string& clock, Grid* grid) {
  const Json& status = one.answers.status;
  const std::string name = status.is_object() ? text_in(status, "simulation") : "";
  const std::size_t room =
      std::max(kLeastName, grid->width() / 3);  // what comes behind it counts too
  std::size_t column = grid->put(0, 0, cut(name.empty() ? one.session : name, room), Paint::bold);
  column = grid->put(0, column + 2, one.state, paint_of_state(one.state));
  if (!name.empty() && name != one.session)
    column = grid->put(0, column + 2, one.session, Paint::dim);
  if (member(status, "pid").is_number())
    column = grid->put(0, column + 2, "leatd " + shown(status, "pid"), Paint::dim);
  if (column + 2 + width_of(clock) <= grid->width())
    grid->put_right(0, grid->width(), clock, Paint::dim);
}

void draw_iterations(const Shown& one, Facts* facts) {
  const Json& metrics = one.answers.metrics;
  const Json iterations = member(metrics, "iterations");
  const auto rate = one.figures.iterations_per_minute;
  facts->fact("iterations", std::to_string(count_of(iterations, "complete")) + " complete, " +
                                std::to_string(count_of(iterations, "stored")) + " stored, " +
                                std::to_string(count_of(metrics, "queue")) + " on their way" +
                                (rate ? "; " + short_number(*rate) + " a minute" : ""));
  const std::uint64_t failed = count_of(iterations, "failed"),
                      dropped = count_of(iterations, "dropped");
  if (failed + dropped > 0)
    facts->fact(
        "",
        std::to_string(failed) + " FAILED in some store, " + std::to_string(dropped) + " dropped",
        Paint::red);
  const std::optional<std::int64_t> at = slowest_iteration(one.answers.status);
  if (one.of_iterations == 0 || !at) return;
  const double share =
      std::min(1.0, static_cast<double>(*at) / static_cast<double>(one.of_iterations));
  const auto left = seconds_left(one.of_iterations, one.answers, one.figures);
  facts->fact("length", std::to_string(*at) + " of " + std::to_string(one.of_iterations) + ", " +
                            percent_text(share) +
                            (left ? "; " + duration_text(*left) + " left" : ""));
}

std::string bar_of(double share, const Style& style) {
  const auto full = static_cast<std::size_t>(std::lround(share * kBarWidth));
  std::string bar;
  for (std::size_t i = 0; i < kBarWidth; ++i)
    bar += style.blocks ? (i < full ? "\u2588" : "\u2591") : (i < full ? "#" : ".");
  return bar;
}

std::string history_of(const std::vector<std::optional<double>>& fills, const Style& style) {
  static constexpr const char* kBlocks[] = {"\u2581", "\u2582", "\u2583", "\u2584",
                                            "\u2585", "\u2586", "\u2587", "\u2588"};
  static constexpr const char* kLetters[] = {"_", ".", ":", "-", "=", "+", "*", "#"};
  std::string text;
  for (const std::optional<double>& each : fills) {
    const auto level = static_cast<std::size_t>(std::clamp(each.value_or(0) * 8, 0.0, 7.0));
    text += each ? (style.blocks ? kBlocks : kLetters)[level] : " ";
  }
  return text;
}

void draw_buffer(const Shown& one, const Style& style, Facts* facts) {
  const Figures& figures = one.figures;
  if (figures.buffer_bytes == 0) return;
  const double share = std::min(
      1.0, static_cast<double>(figures.used_bytes) / static_cast<double>(figures.buffer_bytes));
  std::string value = bar_of(share, style) + " " + percent_text(share) + " of " +
                      format_bytes(figures.buffer_bytes);
  if (figures.full_in_seconds)
    value += ", full in " + duration_text(std::max(1.0, *figures.full_in_seconds));
  const bool is_alarming = share > kNearlyFull || figures.full_in_seconds;
  facts->fact("buffer", value, is_alarming ? Paint::yellow : Paint::plain);
  const bool any = std::count_if(one.fills.begin(), one.fills.end(),
                                 [](const auto& each) { return each.has_value(); }) > 1;
  if (any) facts->picture("last minute", history_of(one.fills, style));
}

void draw_ranks(const Json& status, Facts* facts) {
  const Json ranks = member(status, "ranks");
  std::optional<std::int64_t> most;
  std::vector<int> dead;
  for (const Json& each : member(status, "clients")) {
    const std::string phase = text_in(each, "phase");
    if (phase == "dead" && each["rank"].is_number()) dead.push_back(each["rank"].get<int>());
    if (phase != "attached") continue;
    const std::int64_t iteration = each.value("iteration", std::int64_t{0});
    most = std::max(most.value_or(iteration), iteration);
  }
  const std::optional<std::int64_t> least = slowest_iteration(status);
  std::string value = std::to_string(count_of(ranks, "attached")) + " of " +
                      std::to_string(count_of(ranks, "node")) + " attached";
  const std::uint64_t all = count_of(ranks, "all");
  if (all > count_of(ranks, "node")) value += ", " + std::to_string(all) + " in the run";
  if (least && *least == *most) value += "; in iteration " + std::to_string(*least);
  if (least && *least != *most)
    value += "; in iterations " + std::to_string(*least) + " to " + std::to_string(*most);
  facts->fact("ranks", value);
  if (!dead.empty())
    facts->fact("", (dead.size() == 1 ? "rank " : "ranks ") + range_text(dead) + " died",
                Paint::red);
  if (const std::uint64_t takeovers = count_of(status, "takeovers"); takeovers > 0)
    facts->fact("takeovers", counted(takeovers, "server") + " of this session died", Paint::yellow);
}

void draw_waits(const Shown& one, Facts* facts) {
  std::string name = "waits";
  for (const std::string& each : waits(one.answers, one.figures)) {
    facts->fact(name, each);
    name = "";
  }
}

void draw_parameters(const Json& parameters, Facts* facts) {
  std::vector<std::string> values;
  std::size_t room = kRowsOfParameters * facts->room(), shown = 0;
  for (const Json& each : parameters) {
    const Json value = member(each, "value");
    const std::string text =
        cut(text_in(each, "name") + " " + (value.is_null() ? "-" : value.dump()), facts->room());
    const std::size_t needed = width_of(text) + 2;
    if (shown > 0 && needed > room) break;
    room -= std::min(room, needed);
    values.push_back(text);
    ++shown;
  }
  if (shown < parameters.size())
    values.push_back("and " + std::to_string(parameters.size() - shown) + " more, see `leat ctl`");
  if (!values.empty()) facts->fact("parameters", joined(values, ", "));
}

// Rows of a table, each in the paint of its row; the titles are dim.
void draw_table(const Table& table, const std::vector<Paint>& paints, Grid* grid) {
  const std::vector<std::string> rows = table.rows({.width = grid->width()});
  const bool is_one_row_each = rows.size() == paints.size() + 1;  // no row became a paragraph
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Paint paint = !is_one_row_each ? Paint::plain : i == 0 ? Paint::dim : paints[i - 1];
    std::size_t begin = 0;
    for (std::size_t end = 0; begin <= rows[i].size(); begin = end + 1) {
      end = std::min(rows[i].find('\n', begin), rows[i].size());
      grid->put(grid->height(), 0, rows[i].substr(begin, end - begin), paint);
    }
  }
}

std::string or_dash(const std::optional<double>& value, std::string (*text)(double)) {
  return value ? text(*value) : "-";
}

Paint paint_of(const PipelineNode& node) {
  if (node.failed.value_or(0) > 0 || !node.usable) return Paint::red;
  return node.behind > 1 || node.skipped > 0 ? Paint::yellow : Paint::plain;
}

void draw_pipeline(const Figures& figures, Facts* facts, Grid* grid) {
  if (figures.nodes.empty()) return;
  facts->section("stores and scripts");
  Table table({{.title = "name", .least = 8},
               {.title = "kind"},
               {.title = "calls", .right = true},
               {.title = "per second", .right = true, .may_go = true},
               {.title = "a call", .right = true},
               {.title = "at work", .right = true},
               {.title = "behind", .right = true},
               {.title = "skipped", .right = true},
               {.title = "failed", .right = true},
               {.title = "bytes", .right = true, .may_go = true}});
  std::vector<Paint> paints;
  for (const PipelineNode& each : figures.nodes) {
    paints.push_back(paint_of(each));
    table.add({{each.name},
               {each.kind},
               {std::to_string(each.calls)},
               {or_dash(each.calls_per_second, short_number)},
               {or_dash(each.seconds_per_call, format_seconds)},
               {or_dash(each.share, percent_text)},
               {std::to_string(each.behind)},
               {std::to_string(each.skipped)},
               {each.failed ? std::to_string(*each.failed) : "-"},
               {each.kind == "store" ? format_bytes(each.bytes) : "-"}});
  }
  draw_table(table, paints, grid);
  for (const PipelineNode& each : figures.nodes) {
    if (!each.usable)
      facts->line(each.name + " is not called any more, until it changes or is loaded anew",
                  Paint::red);
    if (!each.why.empty())
      facts->line(each.name + ": " + each.why.substr(0, each.why.find('\n')), Paint::red);
  }
}

void draw_servers(const Json& run, Facts* facts, Grid* grid) {
  const Json servers = member(run, "servers");
  if (servers.size() < 2) return;
  facts->section(counted(servers.size(), "server") + " of the run");
  std::vector<Column> columns;
  std::vector<Paint> paints;
  for (const Field& each : fields_of_servers()) columns.push_back(each.column);
  Table table(columns);
  for (const Json& server : servers) {
    std::vector<Cell> cells;
    for (const Field& each : fields_of_servers()) cells.push_back(each.cell(server));
    table.add(std::move(cells));
    const std::string state = text_in(server, "state");
    paints.push_back(state == "there" || state == "ended" ? Paint::plain : Paint::yellow);
  }
  draw_table(table, paints, grid);
}

}  // namespace

std::string duration_text(double seconds) {
  constexpr double kShownInMinutes = 120;
  const double whole = std::round(seconds);
  return whole < kShownInMinutes ? std::to_string(std::lround(whole)) + " s"
                                 : format_seconds(whole);
}

std::size_t columns_of_history(std::size_t width) {
  return width > kValueColumn ? std::min<std::size_t>(width - kValueColumn, 60) : 0;
}

void draw_session(const Shown& one, const std::string& clock, const Style& style, Grid* grid) {
  grid->need_rows(1);
  draw_title(one, clock, grid);
  Facts facts(grid);
  if (!one.note.empty()) facts.fact("", one.note, Paint::yellow);
  const Answers& answers = one.answers;
  if (!answers.metrics.is_object() || !answers.status.is_object()) return;
  draw_iterations(one, &facts);
  const auto rate = one.figures.bytes_per_second;
  facts.fact("data", bytes_text(static_cast<double>(count_of(answers.metrics, "bytes"))) +
                         " written" + (rate ? "; " + bytes_text(*rate) + " a second" : ""));
  draw_buffer(one, style, &facts);
  draw_ranks(answers.status, &facts);
  draw_waits(one, &facts);
  const Json idle = member(answers.metrics, "idle_share");
  facts.fact(
      "server",
      "up " + duration_text(member(answers.metrics, "uptime_seconds").get<double>()) +
          (idle.is_number() ? "; its cores " + percent_text(idle.get<double>()) + " idle" : ""));
  draw_parameters(answers.parameters, &facts);
  draw_pipeline(one.figures, &facts, grid);
  draw_servers(answers.run, &facts, grid);
}

void draw_sessions(const std::vector<Shown>& all, std::size_t selected, const std::string& clock,
                   Grid* grid) {
  grid->need_rows(1);
  grid->put(0, 0,
            all.empty() ? "no session of yours runs on this node"
                        : counted(all.size(), "session") + " of yours on this node",
            Paint::bold);
  grid->put_right(0, grid->width(), clock, Paint::dim);
  if (all.empty()) return;
  Table table({{.title = "session", .least = 10},
               {.title = "simulation", .least = 8, .may_go = true},
               {.title = "state"},
               {.title = "ranks", .right = true, .may_go = true},
               {.title = "iteration", .right = true},
               {.title = "a minute", .right = true},
               {.title = "buffer", .right = true},
               {.title = "queued", .right = true, .may_go = true},
               {.title = "dropped", .right = true},
               {.title = "failed", .right = true}});
  std::vector<Paint> paints;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Shown& one = all[i];
    const Json iterations = member(one.answers.metrics, "iterations");
    const auto at = slowest_iteration(one.answers.status);
    const Figures& figures = one.figures;
    const std::uint64_t bad = count_of(iterations, "dropped") + count_of(iterations, "failed");
    paints.push_back(i == selected            ? Paint::bold
                     : bad > 0                ? Paint::red
                     : one.state == "running" ? Paint::plain
                                              : paint_of_state(one.state));
    table.add(
        {{one.session},
         {one.answers.status.is_object() ? text_in(one.answers.status, "simulation") : "-"},
         {one.state},
         {std::to_string(count_of(member(one.answers.status, "ranks"), "node"))},
         {at ? std::to_string(*at) : "-"},
         {or_dash(figures.iterations_per_minute, short_number)},
         {figures.buffer_bytes == 0 ? "-"
                                    : percent_text(static_cast<double>(figures.used_bytes) /
                                                   static_cast<double>(figures.buffer_bytes))},
         {std::to_string(count_of(one.answers.metrics, "queue"))},
         {std::to_string(count_of(iterations, "dropped"))},
         {std::to_string(count_of(iterations, "failed"))}});
  }
  draw_table(table, paints, grid);
  const bool is_one_row_each = grid->height() == all.size() + 2;
  if (selected < all.size() && is_one_row_each) grid->put(selected + 2, 0, ">", Paint::bold);
}

}  // namespace leat::cli::top
