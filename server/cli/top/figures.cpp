// SPDX-License-Identifier: Apache-2.0
#include "server/cli/top/figures.hpp"

#include <algorithm>
#include <cmath>

#include "lib/base/text.hpp"
#include "server/cli/screen.hpp"

namespace leat::cli::top {
namespace {

constexpr double kKeptSeconds = 600;
// "Lately": long enough for a mean, short enough to be of now.
constexpr double kRecentSeconds = 5;
// A rate is of the shortest of these in which there were so many iterations.
constexpr double kRateWindows[] = {kRecentSeconds, 60, kKeptSeconds};
constexpr std::uint64_t kEnoughIterations = 5;
// A buffer goes up and down with each iteration: a trend is seen over this time, in at least half of it.
constexpr double kTrendSeconds = 20;
constexpr double kFarthestForecast = 600;

std::uint64_t difference(std::uint64_t now, std::uint64_t then) {
  return now > then ? now - then : 0;
}

double number_at(const Json& facts, const char* key) {
  const Json value = facts.is_object() ? facts.value(key, Json()) : Json();
  return value.is_number() ? value.get<double>() : 0;
}

Json part_of(const Json& facts, const char* key) {
  return facts.is_object() ? facts.value(key, Json()) : Json();
}

std::uint64_t count_at(const Json& facts, const char* key) {
  return facts.is_object() ? count_in(facts, key) : 0;
}

std::string text_at(const Json& facts, const char* key) {
  return facts.is_object() ? text_in(facts, key) : "";
}

struct Spread {
  double least = 1e300, most = -1e300, sum = 0, seconds = 0;
  std::size_t count = 0;

  void add(double at, double value) {
    least = std::min(least, value);
    most = std::max(most, value);
    sum += value;
    seconds += at;
    ++count;
  }
  double mean() const { return sum / static_cast<double>(count); }
  double when() const { return seconds / static_cast<double>(count); }
};

}  // namespace

namespace {

const char* kind_of_script(const Json& metrics) {
  return metrics.value("is_module", false) ? "module" : "script";
}

}  // namespace

History::Point History::point_of(double at, const Answers& answers) {
  const Json& metrics = answers.metrics;
  const Json memory = part_of(metrics, "memory");
  Point point;
  point.at = at;
  point.uptime = number_at(metrics, "uptime_seconds");
  point.complete = count_at(part_of(metrics, "iterations"), "complete");
  point.bytes = count_at(metrics, "bytes");
  point.used_bytes = count_at(memory, "used_bytes");
  point.buffer_bytes = count_at(memory, "bytes");
  point.ranks = count_at(part_of(answers.status, "ranks"), "attached");
  point.waited_seconds = number_at(memory, "waited_seconds");
  const auto add = [&point](const char* kind, const Json& each) {
    point.work.push_back({std::string(kind) + " " + text_in(each, "name"),
                          {count_in(each, "calls"), number_at(each, "seconds")}});
  };
  for (const Json& each : part_of(metrics, "stores")) add("store", each);
  for (const Json& each : part_of(metrics, "scripts")) add(kind_of_script(each), each);
  return point;
}

void History::add(double at, const Answers& answers) {
  if (!answers.metrics.is_object()) return;
  Point point = point_of(at, answers);
  const bool is_another = !points_.empty() && point.uptime < points_.back().uptime;
  if (is_another) clear();
  points_.push_back(std::move(point));
  while (points_.front().at < at - kKeptSeconds) points_.pop_front();
}

// The oldest point that is no older; null when that is the last one.
const History::Point* History::before(double seconds) const {
  if (points_.empty()) return nullptr;
  const auto found = std::find_if(points_.begin(), points_.end(), [&](const Point& each) {
    return each.at >= points_.back().at - seconds;
  });
  return found->at < points_.back().at ? &*found : nullptr;
}

// Null: too few iterations have come since this was begun.
const History::Point* History::for_rate() const {
  for (const double seconds : kRateWindows) {
    const Point* const then = before(seconds);
    if (then && difference(points_.back().complete, then->complete) >= kEnoughIterations)
      return then;
  }
  return nullptr;
}

// The buffer fills when it holds more in the second half of the time than in the first, at its lowest and at its highest.
std::optional<double> History::full_in() const {
  const Point* const first = before(kTrendSeconds);
  if (!first || points_.back().at - first->at < kTrendSeconds / 2) return {};
  const Point& last = points_.back();
  const double middle = (first->at + last.at) / 2;
  Spread halves[2];
  for (const Point& each : points_)
    if (each.at >= first->at)
      halves[each.at > middle].add(each.at, static_cast<double>(each.used_bytes));
  const bool is_filling = halves[0].count > 0 && halves[1].count > 0 &&
                          halves[1].least > halves[0].least && halves[1].most > halves[0].most;
  if (!is_filling) return {};
  const double per_second =
      (halves[1].mean() - halves[0].mean()) / (halves[1].when() - halves[0].when());
  const double left = static_cast<double>(last.buffer_bytes) - halves[1].most;
  if (per_second <= 0 || left <= 0) return {};
  const double seconds = left / per_second;
  return seconds < kFarthestForecast ? std::optional(seconds) : std::nullopt;
}

PipelineNode History::node_of(const Json& each, const char* kind, const Point* since) const {
  PipelineNode node{.name = text_in(each, "name"), .kind = kind};
  node.calls = count_in(each, "calls");
  node.skipped = count_in(each, "skipped");
  node.bytes = count_in(each, "bytes");
  if (each.contains("failed")) node.failed = count_in(each, "failed");
  node.behind = count_in(each, "waiting");
  node.usable = each.value("usable", true);
  node.why = text_in(each, "why");
  const double seconds = number_at(each, "seconds");
  if (node.calls > 0) node.seconds_per_call = seconds / static_cast<double>(node.calls);
  if (!since) return node;
  const std::string name = node.kind + " " + node.name;
  const auto then = std::find_if(since->work.begin(), since->work.end(),
                                 [&](const auto& one) { return one.first == name; });
  if (then == since->work.end()) return node;
  const double over = points_.back().at - since->at;
  const auto calls = static_cast<double>(difference(node.calls, then->second.calls));
  const double worked = std::max(0.0, seconds - then->second.seconds);
  node.calls_per_second = calls / over;
  node.share = worked / over;
  if (calls > 0) node.seconds_per_call = worked / calls;
  return node;
}

namespace {

// Of stores the segment knows what they have begun: what is complete and due comes after that.
void add_queue_of_stores(const Json& status, std::vector<PipelineNode>* nodes) {
  const std::optional<std::int64_t> open = slowest_iteration(status);
  if (!open) return;
  for (const Json& store : part_of(status, "stores")) {
    const Json done = store.value("done", Json()), every = store.value("every", Json());
    const auto found = std::find_if(nodes->begin(), nodes->end(), [&](const PipelineNode& node) {
      return node.kind == "store" && node.name == text_in(store, "name");
    });
    const std::int64_t period = every.is_number_integer() ? every.get<std::int64_t>() : 0;
    if (found == nodes->end() || period <= 0 || store.value("awaits_event", false)) continue;
    const std::int64_t last = done.is_number() ? done.get<std::int64_t>() : -1;
    const std::int64_t due = (*open + period - 1) / period - (last + period) / period;
    found->behind = static_cast<std::uint64_t>(std::max<std::int64_t>(0, due));
  }
}

}  // namespace

Figures History::figures(const Answers& answers) const {
  Figures figures;
  const Json& metrics = answers.metrics;
  if (!metrics.is_object() || points_.empty()) return figures;
  const Point& last = points_.back();
  figures.used_bytes = last.used_bytes;
  figures.buffer_bytes = last.buffer_bytes;
  figures.full_in_seconds = full_in();
  if (const Point* const then = for_rate()) {
    const double over = last.at - then->at;
    figures.iterations_per_minute =
        60 * static_cast<double>(difference(last.complete, then->complete)) / over;
    figures.bytes_per_second = static_cast<double>(difference(last.bytes, then->bytes)) / over;
  } else if (const Json rates = part_of(metrics, "rates"); count_at(metrics, "bytes") > 0) {
    figures.iterations_per_minute = 60 * number_at(rates, "iterations_per_second");
    figures.bytes_per_second = number_at(rates, "bytes_per_second");
  }
  const Point* const recent = before(kRecentSeconds);
  if (recent && last.ranks > 0)
    figures.waited_share = std::clamp((last.waited_seconds - recent->waited_seconds) /
                                          (last.at - recent->at) / static_cast<double>(last.ranks),
                                      0.0, 1.0);
  for (const Json& each : part_of(metrics, "stores"))
    figures.nodes.push_back(node_of(each, "store", recent));
  for (const Json& each : part_of(metrics, "scripts"))
    figures.nodes.push_back(node_of(each, kind_of_script(each), recent));
  add_queue_of_stores(answers.status, &figures.nodes);
  return figures;
}

std::vector<std::optional<double>> History::fills(std::size_t columns, double seconds) const {
  std::vector<std::optional<double>> parts(columns);
  if (points_.empty() || columns == 0) return parts;
  const double now = points_.back().at;
  for (const Point& each : points_) {
    const double age = now - each.at;
    if (age >= seconds || each.buffer_bytes == 0) continue;
    const auto from_end = static_cast<std::size_t>(age / seconds * static_cast<double>(columns));
    std::optional<double>& part = parts[columns - 1 - std::min(from_end, columns - 1)];
    const double share =
        static_cast<double>(each.used_bytes) / static_cast<double>(each.buffer_bytes);
    part = std::max(part.value_or(0), share);
  }
  return parts;
}

std::optional<double> seconds_left(std::uint64_t of, const Answers& answers,
                                   const Figures& figures) {
  const std::optional<std::int64_t> at = slowest_iteration(answers.status);
  const double per_minute = figures.iterations_per_minute.value_or(0);
  if (of == 0 || !at || per_minute <= 0) return {};
  const double left = static_cast<double>(of) - static_cast<double>(*at);
  return left > 0 ? left / per_minute * 60 : 0;
}

std::optional<std::int64_t> slowest_iteration(const Json& status) {
  std::optional<std::int64_t> least;
  for (const Json& each : part_of(status, "clients")) {
    if (text_in(each, "phase") != "attached") continue;
    const std::int64_t iteration = each.value("iteration", std::int64_t{0});
    least = std::min(least.value_or(iteration), iteration);
  }
  return least;
}

namespace {

// Ranks may be one iteration apart, and nobody asks why, unless one of them waits.
constexpr std::int64_t kUsuallyApart = 1;
constexpr double kShareWorthSaying = 0.01;

std::string ranks_text(std::vector<int> ranks) {
  std::sort(ranks.begin(), ranks.end());
  return (ranks.size() == 1 ? "rank " : "ranks ") + range_text(ranks);
}

std::string plural(std::size_t count, const char* one, const char* many) {
  return count == 1 ? one : many;
}

// The store or script that has the most to do yet.
const PipelineNode* slowest_node(const Figures& figures) {
  const PipelineNode* slowest = nullptr;
  for (const PipelineNode& each : figures.nodes)
    if (each.behind > 0 && (!slowest || each.behind > slowest->behind)) slowest = &each;
  return slowest;
}

void add_waits_for_buffer(const Answers& answers, const Figures& figures,
                          std::vector<std::string>* lines) {
  std::vector<int> ranks;
  for (const Json& each : part_of(part_of(answers.metrics, "memory"), "waiting_ranks"))
    ranks.push_back(each.get<int>());
  if (ranks.empty()) {
    if (figures.waited_share.value_or(0) >= kShareWorthSaying)
      lines->push_back("ranks waited " + std::to_string(std::lround(100 * *figures.waited_share)) +
                       " % of the last seconds for buffer space");
    return;
  }
  const PipelineNode* const slow = slowest_node(figures);
  lines->push_back(ranks_text(ranks) + plural(ranks.size(), " waits", " wait") +
                   " for buffer space" +
                   (slow ? ", which is freed when " + slow->kind + " \"" + slow->name +
                               "\" has the next iteration"
                         : ""));
}

void add_waits_for_ranks(const Json& status, bool somebody_waits, std::vector<std::string>* lines) {
  const std::optional<std::int64_t> least = slowest_iteration(status);
  if (!least) return;
  std::int64_t most = *least;
  std::vector<int> slow;
  for (const Json& each : part_of(status, "clients")) {
    if (text_in(each, "phase") != "attached") continue;
    const std::int64_t iteration = each.value("iteration", std::int64_t{0});
    most = std::max(most, iteration);
    if (iteration == *least && each["rank"].is_number()) slow.push_back(each["rank"].get<int>());
  }
  if (most - *least <= (somebody_waits ? 0 : kUsuallyApart)) return;
  lines->push_back("iteration " + std::to_string(*least) + " waits for " + ranks_text(slow) +
                   "; the fastest rank is in iteration " + std::to_string(most));
}

}  // namespace

std::vector<std::string> waits(const Answers& answers, const Figures& figures) {
  std::vector<std::string> lines;
  if (const std::string awaited = text_at(answers.status, "waits"); !awaited.empty())
    lines.push_back(awaited);
  add_waits_for_buffer(answers, figures, &lines);
  const bool somebody_waits = !part_of(part_of(answers.metrics, "memory"), "waiting_ranks").empty();
  add_waits_for_ranks(answers.status, somebody_waits, &lines);
  for (const PipelineNode& each : figures.nodes) {
    if (each.behind > 1)
      lines.push_back(counted(each.behind, "iteration") + " wait for " + each.kind + " \"" +
                      each.name + "\"");
  }
  if (lines.empty() && answers.metrics.is_object() && count_in(answers.metrics, "queue") == 0)
    lines.push_back("stores and scripts wait for the ranks");
  return lines;
}

}  // namespace leat::cli::top
