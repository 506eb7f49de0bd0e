// SPDX-License-Identifier: Apache-2.0
#include "lib/staging/shares.hpp"

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>

namespace leat::staging {
namespace {

using nlohmann::json;

constexpr std::string_view kEnding = "-staging";
constexpr const char* kMoved = ".";
constexpr std::size_t kLongestRun = 36;  // of the 64 letters of a session's name

// To the base of 36: paths of sockets are short.
std::string in_letters(std::int32_t number) {
  std::string letters;
  for (; number > 0; number /= 36)
    letters.insert(letters.begin(), "0123456789abcdefghijklmnopqrstuvwxyz"[number % 36]);
  return letters;
}

}  // namespace

std::vector<std::int64_t> plan_of(const std::vector<RankList>& servers, std::int64_t nodes) {
  std::vector<std::size_t> order(servers.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return servers[a] < servers[b]; });
  std::size_t all = 0, before = 0;
  for (const RankList& each : servers) all += each.size();
  std::vector<std::int64_t> plan(servers.size(), 0);
  for (const std::size_t each : order) {
    const std::size_t middle = 2 * before + servers[each].size();  // of its ranks, twice
    plan[each] = std::min<std::int64_t>(
        nodes - 1, static_cast<std::int64_t>(middle * static_cast<std::size_t>(nodes) /
                                             std::max<std::size_t>(1, 2 * all)));
    before += servers[each].size();
  }
  std::set<std::int64_t> used(plan.begin(), plan.end());
  for (std::int64_t& each : plan) each = std::distance(used.begin(), used.find(each));
  return plan;
}

// A long name keeps its end, which is what differs.
std::string session_of(const Share& share) {
  std::string run = share.run.size() > kLongestRun
                        ? "s" + share.run.substr(share.run.size() - kLongestRun + 1)
                        : share.run;
  run += kEnding;
  if (share.moved == 0) return run;
  return run + kMoved + in_letters(share.moved) + "-" +
         std::to_string(share.ranks.empty() ? 0 : share.ranks.front());
}

SessionName name_in(std::string_view session) {
  const std::size_t at = session.rfind(std::string(kEnding) + kMoved);
  if (at == std::string_view::npos) return {std::string(session), 0};
  const std::size_t end = at + kEnding.size();
  const std::string number(session.substr(end + std::string_view(kMoved).size()));
  return {std::string(session.substr(0, end)),
          std::max(1, static_cast<std::int32_t>(std::strtol(number.c_str(), nullptr, 36)))};
}

std::string text_of(const Share& share) {
  return json{
      {"run", share.run}, {"ranks", share.ranks}, {"all", share.all}, {"moved", share.moved}}
      .dump();
}

std::optional<Share> share_in(const std::string& text) {
  try {
    const json said = json::parse(text);
    Share share{said.at("run"), said.at("ranks"), said.at("all"), said.at("moved")};
    const bool good = !share.ranks.empty() &&
                      std::is_sorted(share.ranks.begin(), share.ranks.end()) &&
                      share.ranks.front() >= 0 && share.ranks.back() < share.all;
    return good ? std::optional(std::move(share)) : std::nullopt;
  } catch (const json::exception&) {
    return std::nullopt;
  }
}

}  // namespace leat::staging
