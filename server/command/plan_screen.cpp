// SPDX-License-Identifier: Apache-2.0
// What `leat plan` says, for people and as JSON.
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "lib/base/text.hpp"
#include "server/command/plan_input.hpp"
#include "server/command/terminal.hpp"

namespace leat::command {
namespace {

using plan::Way;

std::uint64_t count(std::int64_t number) { return static_cast<std::uint64_t>(number); }

const char* word_of(Way::Kind kind) {
  switch (kind) {
    case Way::Kind::synchronous:
      return "synchronous";
    case Way::Kind::dedicated:
      return "dedicated";
    case Way::Kind::dynamic:
      return "dynamic";
  }
  return "";
}

const char* word_of(plan::Limit limit) {
  switch (limit) {
    case plan::Limit::compute:
      return "compute";
    case plan::Limit::output:
      return "output";
    case plan::Limit::cores:
      return "cores";
  }
  return "";
}

bool is_same_way(const Way& a, const Way& b) {
  return a.kind == b.kind && a.dedicated == b.dedicated;
}

class Screen {
 public:
  Screen(const PlanInput& input, bool colours)
      : input_(input), load_(input.load), look_{colours, 0}, ways_(plan::ways(load_)) {}

  std::string run() const {
    return title() + iteration() + measured() + comparison() + "\n" + verdict();
  }

 private:
  std::string title() const {
    return painted(input_.simulation, Paint::bold, look_.colours) + ": " +
           counted(count(load_.cores), "core") + " of a node, " +
           counted(count(load_.iterations), "iteration") + "\n\n";
  }

  std::string iteration() const {
    std::string bytes = format_bytes(input_.bytes) + " handed over";
    if (!input_.placeholders.empty())
      bytes +=
          ", with " + joined(input_.placeholders, ", ") + " of the XML (--set for another value)";
    std::vector<std::vector<Cell>> rows{{{"computing"}, time(load_.compute), {computing()}},
                                        {{"in Leat's calls"}, time(load_.inside), {bytes}},
                                        {{"output"}, time(load_.output), {disk()}}};
    if (load_.analysis > 0)
      rows.push_back({{"analyses"}, time(load_.analysis), {"of scripts, on one core"}});
    return painted("An iteration", Paint::bold, look_.colours) + "\n" + table(rows, look_) +
           buffer();
  }

  std::string disk() const {
    if (input_.bytes_per_second)
      return "at " + format_bytes(static_cast<std::uint64_t>(*input_.bytes_per_second)) + "/s";
    return "of stores, as it was measured";
  }

  std::string computing() const {
    return "with " + counted(count(load_.computing), "core") +
           (input_.computing_is_estimated ? ", without the analyses that shared them: estimated"
                                          : "");
  }

  std::string buffer() const {
    if (input_.buffer_bytes == 0 || input_.bytes == 0) return "";
    const std::uint64_t fit = input_.buffer_bytes / input_.bytes;
    const Paint paint = fit == 0 ? Paint::red : fit == 1 ? Paint::yellow : Paint::green;
    return "  buffer of " + format_bytes(input_.buffer_bytes) + ": " +
           painted("room for " + counted(fit, "iteration"), paint, look_.colours) +
           (fit < 2 ? ", and two are wanted: " + format_bytes(2 * input_.bytes) : "") + "\n";
  }

  std::string measured() const {
    if (!input_.measured || !input_.expected) return "";
    return "\n  the run took " + format_seconds(*input_.measured) + ", the model says " +
           format_seconds(*input_.expected) + "\n";
  }

  std::string comparison() const {
    const Way& best = plan::best(ways_);
    std::vector<std::vector<Cell>> rows{{{"", Paint::dim},
                                         {"an iteration", Paint::dim, true},
                                         {"whole run", Paint::dim, true},
                                         {},
                                         {"limited by", Paint::dim},
                                         {}}};
    for (const Way& way : ways_) {
      const bool is_best = &way == &best;
      rows.push_back(
          {{way_in_words(way), is_best ? Paint::green : Paint::plain},
           time(way.iteration),
           time(way.total),
           {against(way, best), Paint::dim, true},
           {limit(way)},
           {input_.was && is_same_way(way, *input_.was) ? "this run" : "", Paint::bold}});
    }
    return "\n" + painted("Ways to run it", Paint::bold, look_.colours) + "\n" + table(rows, look_);
  }

  std::string way_in_words(const Way& way) const {
    const std::int64_t cores = load_.cores - way.dedicated;
    std::string text = plan::name_of(way) + ": " + counted(count(cores), "core") +
                       (cores == 1 ? " computes" : " compute");
    if (way.kind == Way::Kind::synchronous) text += ", then wait for " + served();
    if (way.kind == Way::Kind::dynamic) text += ", the server works where they wait";
    return text;
  }

  std::string served() const { return load_.analysis > 0 ? "output and analyses" : "output"; }

  std::string limit(const Way& way) const {
    if (way.kind == Way::Kind::synchronous) return "one after the other";
    switch (way.limit) {
      case plan::Limit::compute:
        return "computing";
      case plan::Limit::output:
        return served();
      case plan::Limit::cores:
        break;
    }
    return "all cores busy";
  }

  static std::string against(const Way& way, const Way& best) {
    if (&way == &best) return "best";
    const long more = std::lround((way.total / best.total - 1) * 100);
    return more == 0 ? "alike" : "+" + std::to_string(more) + " %";
  }

  std::string verdict() const {
    const Way& best = plan::best(ways_);
    std::string text = painted(plan::name_of(best), Paint::green, look_.colours) + ": ";
    const auto run = std::find_if(ways_.begin(), ways_.end(), [&](const Way& way) {
      return input_.was && is_same_way(way, *input_.was);
    });
    const Way& other = run == ways_.end() ? ways_.front() : *run;  // the first is mode="sync"
    if (run != ways_.end() && &best == &*run)
      text += "so was this run, and no other way is faster";
    else if (&best == &other)
      text += "no other way is faster";
    else
      text += std::to_string(std::lround((1 - best.total / other.total) * 100)) +
              " % less time than " + (run == ways_.end() ? "with mode=\"sync\"" : "this run");
    text += "\n";
    for (const Way& way : ways_) {
      const auto full = plan::iterations_until_full(load_, way, static_cast<double>(input_.bytes),
                                                    static_cast<double>(input_.buffer_bytes));
      if (way.dedicated != input_.dedicated || !full) continue;
      text += painted("with " + plan::name_of(way) + " the server does not keep up", Paint::yellow,
                      look_.colours) +
              (*full < static_cast<double>(load_.iterations)
                   ? ": after " + counted(count(std::llround(*full)), "iteration") +
                         " the buffer is full, and ranks wait for it\n"
                   : ", and the buffer has room for what is behind\n");
    }
    return text;
  }

  static Cell time(double seconds) { return {format_seconds(seconds), Paint::plain, true}; }

  const PlanInput& input_;
  const plan::Load& load_;
  Look look_;
  std::vector<Way> ways_;
};

}  // namespace

std::string plan_screen(const PlanInput& input, bool colours) {
  return Screen(input, colours).run();
}

std::string plan_json(const PlanInput& input) {
  using nlohmann::json;
  const plan::Load& load = input.load;
  const std::vector<Way> ways = plan::ways(load);
  json list = json::array();
  for (const Way& way : ways)
    list.push_back({{"way", word_of(way.kind)},
                    {"dedicated_cores", way.dedicated},
                    {"iteration_seconds", way.iteration},
                    {"total_seconds", way.total},
                    {"limit", word_of(way.limit)},
                    {"best", &way == &plan::best(ways)}});
  const json all{{"leat_plan", 1},
                 {"simulation", input.simulation},
                 {"compute_seconds", load.compute},
                 {"inside_seconds", load.inside},
                 {"output_seconds", load.output},
                 {"analysis_seconds", load.analysis},
                 {"computing_cores", load.computing},
                 {"cores", load.cores},
                 {"iterations", load.iterations},
                 {"bytes", input.bytes},
                 {"buffer_bytes", input.buffer_bytes},
                 {"ways", std::move(list)}};
  return all.dump(1, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace leat::command
