// SPDX-License-Identifier: Apache-2.0
#include "lib/predict/trace.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string_view>

#include "lib/predict/machine.hpp"

namespace leat::predict {
namespace {

constexpr std::string_view kUntil = "# until ";

void skip_blanks(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
}

// The number in front, which is taken off.
std::optional<std::int64_t> take_number(std::string_view& text) {
  std::int64_t number = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (fault != std::errc{}) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  if (!text.empty() && text.front() != ' ' && text.front() != '\t') return std::nullopt;
  skip_blanks(text);
  return number;
}

// As much of a line as a message can show.
std::string shown(std::string_view line) {
  std::string text = "\"";
  for (const char c : line.substr(0, 40)) text += c >= ' ' && c <= '~' ? c : '?';
  return text + "\"";
}

class TraceReader {
 public:
  explicit TraceReader(const std::string& name) { trace_.name = name; }

  Result<void> take(std::string_view line) {
    ++line_;
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    if (line.starts_with(kUntil)) return take_until(line.substr(kUntil.size()));
    if (line.starts_with('#')) return {};
    std::string_view rest = line;
    skip_blanks(rest);
    if (rest.empty()) return wrong("an empty line: was an event left out?");
    const std::optional<std::int64_t> begin = take_number(rest);
    if (begin && rest.empty()) return wrong("the duration is missing: " + shown(line));
    const std::optional<std::int64_t> duration = begin ? take_number(rest) : std::nullopt;
    if (!duration || !rest.empty())
      return wrong(shown(line) +
                   " is not \"start_ns duration_ns\", two whole numbers of nanoseconds");
    return take(Event{*begin, *duration});
  }

  Result<Trace> finish(bool was_cut) {
    if (was_cut) return wrong("the last line has no end: was its writer killed? Remove that line");
    if (trace_.events.empty())
      return Error{Status::ERROR_CONFIG, trace_.name + ": there is no event in it"};
    const Event& last = trace_.events.back();
    if (until_ && *until_ < last.end())
      return Error{Status::ERROR_CONFIG, trace_.name + ": \"# until " + std::to_string(*until_) +
                                             "\" is before the end of the last event, " +
                                             std::to_string(last.end())};
    trace_.until = until_ ? *until_ : usual_end();
    return std::move(trace_);
  }

 private:
  Error wrong(const std::string& what) const {
    return {Status::ERROR_CONFIG, trace_.name + ":" + std::to_string(line_) + ": " + what};
  }

  Result<void> take_until(std::string_view text) {
    until_ = take_number(text);
    if (!until_ || !text.empty() || *until_ < 0 || *until_ > kLongestNs)
      return wrong("\"# until\" is followed by a time in nanoseconds");
    return {};
  }

  Result<void> take(const Event& event) {
    if (event.begin < 0 || event.duration < 0 || event.begin > kLongestNs ||
        event.duration > kLongestNs)
      return wrong("times are from 0 to " + std::to_string(kLongestNs) +
                   " ns; begin to count when the recording begins");
    if (!trace_.events.empty()) {
      const Event& before = trace_.events.back();
      const std::string of_before = " of line " + std::to_string(event_line_);
      if (event.begin < before.begin)
        return wrong("it starts at " + std::to_string(event.begin) + ", before the event" +
                     of_before + " does, at " + std::to_string(before.begin) + ": sort the lines");
      if (event.begin < before.end())
        return wrong("it starts at " + std::to_string(event.begin) + ", while the event" +
                     of_before + " lasts until " + std::to_string(before.end()) +
                     ": events of one trace cannot overlap");
    }
    trace_.events.push_back(event);
    event_line_ = line_;
    return {};
  }

  // Behind the last event as long a pause as usual.
  std::int64_t usual_end() const {
    const auto& events = trace_.events;
    if (events.size() == 1) return events.back().end();
    const std::int64_t starts = events.back().begin - events.front().begin;
    const std::int64_t interval = starts / static_cast<std::int64_t>(events.size() - 1);
    return std::max(events.back().begin + interval, events.back().end());
  }

  Trace trace_;
  std::int64_t line_ = 0, event_line_ = 0;
  std::optional<std::int64_t> until_;
};

}  // namespace

Result<Trace> read_trace(std::istream& in, const std::string& name) {
  TraceReader reader(name);
  bool was_cut = false;
  for (std::string line; std::getline(in, line);) {
    was_cut = in.eof();
    if (const Result<void> good = reader.take(line); !good) return good.error();
  }
  if (in.bad()) return Error{Status::ERROR_CONFIG, name + " cannot be read"};
  return reader.finish(was_cut);
}

Result<std::vector<Trace>> read_traces(const std::vector<std::string>& files) {
  std::vector<Trace> traces;
  for (const std::string& file : files) {
    std::ifstream in(file);
    if (!in || std::filesystem::is_directory(file))
      return Error{Status::ERROR_CONFIG,
                   "the trace " + file + " cannot be read: " +
                       (in ? std::string("it is a folder; name its files") : std::strerror(errno))};
    Result<Trace> trace = read_trace(in, file);
    if (!trace) return trace.error();
    traces.push_back(std::move(*trace));
  }
  return traces;
}

}  // namespace leat::predict
