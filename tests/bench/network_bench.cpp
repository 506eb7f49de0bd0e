// SPDX-License-Identifier: Apache-2.0
// What the servers of a run cost each other: how long all of them take to agree, and to find each other, what they send for it,
// and what strangers can take.  network_bench [--quick] [--only=<part>] [result.json]
#include <arpa/inet.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <cstdio>
#include <fstream>
#include <functional>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <queue>
#include <set>
#include <string>
#include <vector>

#include "lib/comm/network.hpp"
#include "lib/comm/tcp_links.hpp"
#include "lib/os/clock.hpp"

namespace leat::bench {
namespace {

using namespace leat::comm;

constexpr std::int64_t kUs = 1000, kMs = 1000 * kUs, kSecond = 1000 * kMs;
constexpr Rank kFanOut = 32;

MemberSettings member_settings(Rank self, Rank size) {
  return {self, size, kFanOut, 10 * kSecond, 20 * kSecond, 60 * kSecond, 65536};
}

template <class T>
T median_of(std::vector<T> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// ---- one round of servers that have a core each ----

// Whatever else this machine does meanwhile.
std::int64_t thread_time_ns() {
  timespec used{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return used.tv_sec * kSecond + used.tv_nsec;
}

// In a time of its own: what a server does takes as long as it does here, on one core, and servers do it beside each other; a
// message is under way for `kDelay`. Links cost nothing, but the bytes of a message are made and read.
class EmulatedServers {
 public:
  static constexpr std::int64_t kDelay = 50 * kUs;

  explicit EmulatedServers(Rank size) {
    for (Rank rank = 0; rank < size; ++rank)
      servers_.push_back({std::make_unique<Member>(member_settings(rank, size), 0)});
    for (Rank rank = 1; rank < size; ++rank) {
      const Rank above = (rank - 1) / kFanOut;
      let(above, 0, [rank](Member* member) { member->connected(rank); });
      let(rank, 0, [above](Member* member) { member->connected(above); });
    }
  }

  bool all_have_joined() const {
    return std::all_of(servers_.begin(), servers_.end(),
                       [](const Server& each) { return each.member->is_joined(); });
  }

  /// From the moment when all contribute to the one when the last has the outcome.
  std::int64_t agree(std::int64_t round) {
    const std::int64_t begin_ns = now_ns_ = std::max(now_ns_, latest_ns());
    for (Rank rank = 0; rank < size(); ++rank)
      let(rank, begin_ns, [round, rank](Member* member) {
        (void)member->contribute({0, round}, {Integers{Op::max, {rank}}});
      });
    for (missing_ = servers_.size(); missing_ > 0;) step();
    return latest_ns() - begin_ns;
  }

  void step() {
    const auto [tick_ns, late] =
        ticks_.empty() ? std::pair<std::int64_t, Rank>{INT64_MAX, 0} : *ticks_.begin();
    if (!events_.empty() && events_.top().ns <= tick_ns) {
      const Event event = events_.top();
      events_.pop();
      now_ns_ = event.ns;
      let(event.to, event.ns, event.what);
    } else {
      now_ns_ = std::max(now_ns_, tick_ns);
      let(late, now_ns_, [](Member* member) { member->tick(); });
    }
  }

  Rank size() const { return static_cast<Rank>(servers_.size()); }
  std::uint64_t messages() const { return messages_; }
  std::uint64_t bytes() const { return bytes_; }

 private:
  struct Server {
    std::unique_ptr<Member> member;
    std::int64_t free_ns = 0;
    std::int64_t outcome_ns = 0;
    std::int64_t tick_ns = INT64_MAX;
  };
  struct Event {
    std::int64_t ns;
    std::uint64_t number;
    Rank to;
    std::function<void(Member*)> what;
    bool operator<(const Event& other) const {
      return std::tie(ns, number) > std::tie(other.ns, other.number);
    }
  };

  Server& of(Rank rank) { return servers_[static_cast<std::size_t>(rank)]; }
  std::int64_t latest_ns() const {
    return std::max_element(
               servers_.begin(), servers_.end(),
               [](const Server& a, const Server& b) { return a.outcome_ns < b.outcome_ns; })
        ->outcome_ns;
  }

  void let(Rank rank, std::int64_t at_ns, const std::function<void(Member*)>& what) {
    Server& server = of(rank);
    const std::int64_t start_ns = std::max(at_ns, server.free_ns);
    server.member->set_time(start_ns);
    const std::int64_t begin_ns = thread_time_ns();
    what(server.member.get());
    std::vector<std::pair<Rank, std::string>> sent;
    for (const auto& [to, message] : server.member->take_messages())
      sent.emplace_back(to, bytes_of(message));
    const std::vector<Outcome> outcomes = server.member->take_outcomes();
    for (const Outcome& each : outcomes) server.member->confirm(each.sequence);
    server.free_ns = start_ns + thread_time_ns() - begin_ns;
    ticks_.erase({server.tick_ns, rank});
    server.tick_ns = server.member->next_tick_ns();
    ticks_.emplace(server.tick_ns, rank);
    missing_ -= outcomes.size();
    if (!outcomes.empty()) server.outcome_ns = server.free_ns;
    for (auto& [to, bytes] : sent) {
      ++messages_;
      bytes_ += bytes.size();
      events_.push({server.free_ns + kDelay, next_event_++, to,
                    [rank, came = std::move(bytes)](Member* member) {
                      if (std::optional<Message> message = message_in(came))
                        member->receive(rank, std::move(*message));
                    }});
    }
  }

  std::vector<Server> servers_;
  std::priority_queue<Event> events_;
  std::set<std::pair<std::int64_t, Rank>> ticks_;  // the next one of each
  std::int64_t now_ns_ = 0;
  std::uint64_t next_event_ = 0, messages_ = 0, bytes_ = 0;
  std::size_t missing_ = 0;
};

nlohmann::json agreement(Rank size, int rounds) {
  EmulatedServers servers(size);
  while (!servers.all_have_joined()) servers.step();
  servers.agree(0);
  const std::uint64_t messages = servers.messages(), bytes = servers.bytes();
  std::vector<std::int64_t> took;
  for (int round = 1; round <= rounds; ++round) took.push_back(servers.agree(round));
  const double each = static_cast<double>(rounds) * size;
  return {
      {"servers", size},
      {"ns", median_of(took)},
      {"most_ns", *std::max_element(took.begin(), took.end())},
      {"messages_per_server_and_round", static_cast<double>(servers.messages() - messages) / each},
      {"bytes_per_server_and_round", static_cast<double>(servers.bytes() - bytes) / each}};
}

// ---- servers on loopback ----

class LoopbackServers {
 public:
  explicit LoopbackServers(Rank size) {
    const Credential credential = *Credential::make();
    std::vector<Card> cards;
    for (Rank rank = 0; rank < size; ++rank) {
      links_.push_back(std::make_unique<TcpLinks>(
          TcpLinks::Settings{rank, size, "bench", 10 * kSecond, std::size_t{64} << 20},
          credential));
      const Result<std::uint16_t> port = links_.back()->listen({"127.0.0.1"});
      if (!port) std::fprintf(stderr, "%s\n", port.error().message.c_str()), std::exit(1);
      cards.push_back({rank, "node", *port, {"127.0.0.1"}});
    }
    for (auto& each : links_) each->set_cards(cards);
  }

  // Children first, so that none looks for another parent.
  ~LoopbackServers() {
    while (!servers_.empty()) servers_.pop_back();
  }

  void start() {
    const auto size = static_cast<Rank>(links_.size());
    for (Rank rank = 0; rank < size; ++rank)
      servers_.push_back(std::make_unique<Network>(
          member_settings(rank, size), std::move(links_[static_cast<std::size_t>(rank)]),
          [this] { wake(); }));
  }

  /// All contribute what this one makes, and all get the outcome.
  std::int64_t agree(std::int64_t round, const std::function<Columns(Rank)>& columns) {
    std::vector<Columns> made;
    for (std::size_t i = 0; i < servers_.size(); ++i) made.push_back(columns(static_cast<Rank>(i)));
    const std::int64_t begin_ns = os::now_ns();
    for (std::size_t i = 0; i < servers_.size(); ++i)
      (void)servers_[i]->contribute({0, round}, std::move(made[i]));
    std::vector<bool> has(servers_.size());
    for (std::size_t missing = servers_.size(); missing > 0;) {
      std::unique_lock lock(mutex_);
      news_.wait_for(lock, std::chrono::milliseconds(100), [this] { return is_news_; });
      is_news_ = false;
      lock.unlock();
      for (std::size_t i = 0; i < servers_.size(); ++i) {
        if (has[i]) continue;
        for (const Outcome& each : servers_[i]->take_outcomes()) {
          if (each.of.count() != servers_.size())
            std::fprintf(stderr, "round %ld is of %s only\n", static_cast<long>(round),
                         each.of.text().c_str());
          servers_[i]->confirm(each.sequence);
          has[i] = true;
          --missing;
        }
      }
    }
    return os::now_ns() - begin_ns;
  }

 private:
  void wake() {
    const std::lock_guard lock(mutex_);
    is_news_ = true;
    news_.notify_one();
  }

  std::vector<std::unique_ptr<TcpLinks>> links_;
  std::mutex mutex_;
  std::condition_variable news_;
  bool is_news_ = false;
  std::vector<std::unique_ptr<Network>> servers_;
};

double resident_kib() {
  std::ifstream file("/proc/self/statm");
  double all = 0, resident = 0;
  file >> all >> resident;
  return resident * static_cast<double>(sysconf(_SC_PAGESIZE)) / 1024;
}

/// Until the first outcome of all of them is everywhere.
nlohmann::json connecting(Rank size) {
  rlimit files{};
  getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
  const double before_kib = resident_kib();
  LoopbackServers servers(size);
  const std::int64_t used_ns = os::processor_time_ns(), begin_ns = os::now_ns();
  servers.start();
  servers.agree(0, [](Rank rank) { return Columns{Integers{Op::sum, {rank}}}; });
  const std::int64_t took_ns = os::now_ns() - begin_ns;
  return {{"servers", size},
          {"ns", took_ns},
          {"processor_ns_per_server", (os::processor_time_ns() - used_ns) / size},
          {"kib_per_server", (resident_kib() - before_kib) / size}};
}

Columns bins_of(Rank rank, int count) {
  Integers all;
  for (int i = 0; i < count; ++i) all.values.push_back(1000 * i + rank);
  return {std::move(all)};
}

Columns sums_of(Rank rank, int count) {
  Sums all;
  all.values.resize(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) all.values[static_cast<std::size_t>(i)].add(0.1 * i + rank);
  return {std::move(all)};
}

nlohmann::json reduction(Rank size, int count, int rounds, Columns (*columns_of)(Rank, int)) {
  LoopbackServers servers(size);
  servers.start();
  const auto columns = [count, columns_of](Rank rank) { return columns_of(rank, count); };
  servers.agree(0, columns);
  std::vector<std::int64_t> took;
  for (int round = 1; round <= rounds; ++round) took.push_back(servers.agree(round, columns));
  return {{"servers", size}, {"count", count}, {"ns", median_of(took)}};
}

// ---- strangers ----

[[noreturn]] void flood(std::uint16_t port, const std::string& bytes) {
  SocketAddress address = *socket_address("127.0.0.1", port);
  while (true) {
    const os::UniqueFd made(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (connect(made.get(), address.get(), address.size) == 0) [[maybe_unused]]
      const ssize_t sent =
          send(made.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  }
}

/// Of a core, of the server whom one process floods.
nlohmann::json strangers(const std::string& kind, const std::string& bytes, std::int64_t for_ns) {
  TcpLinks links({0, 2, "bench", 10 * kSecond}, *Credential::make());
  const std::uint16_t port = *links.listen({"127.0.0.1"});
  const os::UniqueFd wake(eventfd(0, EFD_CLOEXEC));
  const pid_t child = fork();
  if (child == 0) flood(port, bytes);
  while (links.refused() < 600) links.poll(os::now_ns() + 100 * kMs, wake.get());
  const std::uint64_t refused = links.refused();
  const std::int64_t begin_ns = os::now_ns(), used_ns = thread_time_ns();
  while (os::now_ns() < begin_ns + for_ns) links.poll(os::now_ns() + 100 * kMs, wake.get());
  const auto took_ns = static_cast<double>(os::now_ns() - begin_ns);
  const auto spent_ns = static_cast<double>(thread_time_ns() - used_ns);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  return {{"kind", kind},
          {"share", spent_ns / took_ns},
          {"ns_per_stranger", spent_ns / static_cast<double>(links.refused() - refused)}};
}

void say(const char* what, double value, double most, const char* unit) {
  std::printf("%-72s %9.2f %-6s%s\n", what, value, unit,
              most <= 0       ? ""
              : value <= most ? "  reached"
                              : "  MORE THAN WAS TO BE REACHED");
  std::fflush(stdout);
}

double of(const nlohmann::json& row, const char* name) { return row[name].get<double>(); }

void say_agreement(bool is_quick, nlohmann::json* all) {
  const auto round = (*all)["agreement"] = agreement(is_quick ? 16 : 256, is_quick ? 3 : 200);
  say("agreement of 256 servers, 50 us between them", of(round, "ns") / 1e6, 5, "ms");
  say("messages for each server and round", of(round, "messages_per_server_and_round"), 0, "");
  say("bytes for each server and round", of(round, "bytes_per_server_and_round"), 0, "B");
}

void say_growth(bool is_quick, nlohmann::json* all) {
  for (const Rank size :
       is_quick ? std::vector<Rank>{4, 16} : std::vector<Rank>{10, 100, 1000, 10000}) {
    const auto row = agreement(size, is_quick ? 3 : 20);
    (*all)["growth"].push_back(row);
    say(("agreement of " + std::to_string(size) + " servers").c_str(), of(row, "ns") / 1e6, 0,
        "ms");
  }
}

void say_reductions(bool is_quick, nlohmann::json* all) {
  const Rank size = is_quick ? 3 : 8;
  const int rounds = is_quick ? 3 : 200;
  const auto bins = (*all)["bins"] = reduction(size, 1000, rounds, bins_of);
  say("a round of 1,000 bins of 8 servers on loopback, TLS", of(bins, "ns") / 1e6, 2, "ms");
  const auto sums = (*all)["sums"] = reduction(size, 1000, rounds, sums_of);
  say("a round of 1,000 exact sums of 8 servers on loopback, TLS", of(sums, "ns") / 1e6, 0, "ms");
}

void say_connecting(bool is_quick, nlohmann::json* all) {
  const auto many = (*all)["connecting"] = connecting(is_quick ? 16 : 1024);
  say("1,024 servers on this machine find each other, TLS", of(many, "ns") / 1e9, 2, "s");
  say("processor time of a server for it", of(many, "processor_ns_per_server") / 1e3, 0, "us");
  say("memory of such a server", of(many, "kib_per_server"), 1024, "KiB");
}

void say_strangers(bool is_quick, nlohmann::json* all) {
  for (const auto& [kind, bytes] :
       {std::pair<std::string, std::string>{"that say nothing", ""},
        {"that ask for a web page", "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"}}) {
    const auto flood = strangers(kind, bytes, is_quick ? 100 * kMs : 3 * kSecond);
    (*all)["strangers"].push_back(flood);
    say(("a flood of strangers " + kind).c_str(), 100 * of(flood, "share"), 4, "% of a core");
    say("processor time for each of them", of(flood, "ns_per_stranger") / 1e3, 0, "us");
  }
}

}  // namespace
}  // namespace leat::bench

int main(int argc, char** argv) {
  using namespace leat::bench;
  bool is_quick = false;
  std::string only, path;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--quick") {
      is_quick = true;
    } else if (word.starts_with("--only=")) {
      only = word.substr(7);
    } else {
      path = word;
    }
  }
  nlohmann::json all;
  const std::pair<const char*, void (*)(bool, nlohmann::json*)> parts[] = {
      {"agreement", say_agreement},
      {"growth", say_growth},
      {"reductions", say_reductions},
      {"connecting", say_connecting},
      {"strangers", say_strangers}};
  for (const auto& [name, say_part] : parts)
    if (only.empty() || only == name) say_part(is_quick, &all);
  if (!path.empty()) std::ofstream(path) << all.dump(1) << '\n';
  return 0;
}
