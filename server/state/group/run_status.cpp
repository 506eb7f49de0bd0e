// SPDX-License-Identifier: Apache-2.0
#include "server/state/group/run_status.hpp"

#include <algorithm>
#include <variant>

namespace leat::server {
namespace {

std::map<comm::Rank, std::string> rows_in(const comm::Outcome& outcome) {
  if (outcome.columns.size() != 1) return {};
  const auto* const all = std::get_if<comm::Gathered>(&outcome.columns[0]);
  return all ? all->parts : std::map<comm::Rank, std::string>();
}

comm::Columns columns_of(comm::Rank self, const std::string& row) {
  comm::Gathered gathered;
  gathered.parts[self] = row;
  return {std::move(gathered)};
}

}  // namespace

RunStatus::RunStatus(const Run& run, RunRounds& rounds) : run_(run), rounds_(rounds) {
  rounds_.listen(channel::status,
                 {.contributed =
                      [this](const comm::Round& round) {
                        contributed_ = std::max(contributed_, round.number);
                      },
                  .outcome =
                      [this](const comm::Outcome& outcome) {
                        last_ = outcome.round.number;
                        contributed_ = std::max(contributed_, last_);
                        rows_ = {rows_in(outcome), run_.now_ns};
                      },
                  .awaited = [this](const comm::Round& round) { contribute(round.number); }});
  rounds_.listen(channel::ends,
                 {.outcome = [this](const comm::Outcome& outcome) { ends_ = rows_in(outcome); }});
}

void RunStatus::contribute(std::int64_t number) {
  if (number <= contributed_ || !row_ || !rounds_.has_begun()) return;
  rounds_.contribute({channel::status, number}, columns_of(rounds_.self(), row_()));
}

void RunStatus::ask() {
  if (contributed_ <= last_) contribute(last_ + 1);
}

void RunStatus::end(const std::string& row) {
  if (!rounds_.has_begun()) return;
  rounds_.contribute({channel::ends, 0}, columns_of(rounds_.self(), row));
}

}  // namespace leat::server
