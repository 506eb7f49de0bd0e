// SPDX-License-Identifier: Apache-2.0
// The part of the screen that says what one iteration takes.
#include "lib/base/text.hpp"
#include "server/command/check_report.hpp"

namespace leat::command {
namespace {

class MemoryPart {
 public:
  MemoryPart(const CheckReport& report, const Look& look) : report_(report), look_(look) {}

  std::string run() { return memory() + parameters(); }

 private:
  std::string memory() {
    const model::MemoryEstimate& memory = report_.memory;
    const Cell open{unknown_part(), Paint::yellow};
    std::vector<std::vector<Cell>> rows{
        {{"one rank"}, known_bytes(memory.known_bytes_per_rank), open},
        {{"node of " + counted(static_cast<std::uint64_t>(report_.per_node), "rank")},
         known_bytes(memory.known_bytes_per_node),
         open},
        {{"buffer of a node"}, {format_bytes(memory.buffer_bytes)}, room()}};
    if (report_.options.ranks) rows.insert(rows.end() - 1, whole_run(*report_.options.ranks));
    for (auto& row : rows) row[1].right = true;
    return "\n" + painted("Memory of one iteration", Paint::bold, look_.colours) + "\n" +
           table(rows, look_);
  }

  // "at least: 2 variables have no known size", or "".
  std::string unknown_part() const {
    std::uint64_t unknown = 0;
    for (const model::VariableEstimate& each : report_.memory.variables) {
      unknown += each.taken && !each.bytes_per_rank;
    }
    if (unknown == 0) return "";
    const std::string those =
        counted(unknown, "variable") + (unknown == 1 ? " has" : " have") + " no known size";
    return report_.memory.known_bytes_per_rank == 0 ? those : "at least: " + those;
  }

  Cell known_bytes(std::uint64_t bytes) const {
    if (bytes == 0 && !report_.memory_complete) return {"?", Paint::yellow};
    return {format_bytes(bytes)};
  }

  std::vector<Cell> whole_run(std::int64_t ranks) const {
    const std::int64_t nodes = ranks / report_.per_node + (ranks % report_.per_node != 0);
    std::uint64_t bytes = 0;
    const bool too_many = __builtin_mul_overflow(report_.memory.known_bytes_per_rank,
                                                 static_cast<std::uint64_t>(ranks), &bytes);
    return {{"all " + counted(static_cast<std::uint64_t>(ranks), "rank") + " on " +
             counted(static_cast<std::uint64_t>(nodes), "node")},
            known_bytes(too_many ? UINT64_MAX : bytes),
            {}};
  }

  Cell room() const {
    if (!report_.iterations_that_fit) return {};
    const std::uint64_t fit = *report_.iterations_that_fit;
    const Paint paint = fit == 0 ? Paint::red : fit == 1 ? Paint::yellow : Paint::green;
    const std::string at_most = report_.memory_complete ? "" : "at most ";
    return {"room for " + at_most + counted(fit, "iteration"), paint};
  }

  std::string parameters() {
    if (report_.set_by_simulation.empty()) return "";
    const std::string hint = report_.sizes_need.empty()
                                 ? ""
                                 : "  (" + options_of(report_.sizes_need) + " shows the sizes)";
    return "\nset by the simulation: " +
           painted(joined(report_.set_by_simulation, ", "), Paint::yellow, look_.colours) +
           painted(hint, Paint::dim, look_.colours) + "\n";
  }

  const CheckReport& report_;
  Look look_;
};

}  // namespace

std::string options_of(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names)
    text += (text.empty() ? "--set " : " --set ") + name + "=...";
  return text;
}

std::string memory_text(const CheckReport& report, const Look& look) {
  return MemoryPart(report, look).run();
}

}  // namespace leat::command
