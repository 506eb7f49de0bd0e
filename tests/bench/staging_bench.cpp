// SPDX-License-Identifier: Apache-2.0
// How fast blocks go to a staging node, beside plain sockets and beside TLS alone, over loopback.  staging_bench [--quick]
// [result.json]
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "lib/comm/listening.hpp"
#include "lib/os/clock.hpp"
#include "lib/staging/frames.hpp"

namespace leat::bench {
namespace {

using comm::ByteStream;
using staging::BlockHead;
using staging::Conversation;
using staging::Frame;

constexpr std::int64_t kLimit = 60'000'000'000;

struct Pair {
  std::unique_ptr<ByteStream> sends, takes;
};

Pair connected(bool plain) {
  const comm::Credential credential = *comm::Credential::make();
  comm::Listening listening = *comm::listen_at({"127.0.0.1"});
  Pair pair;
  std::jthread accepting([&] {
    os::UniqueFd socket;
    while (!socket)
      socket = os::UniqueFd(
          accept4(listening.sockets[0].get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    pair.takes = std::move(*ByteStream::accept(std::move(socket), credential, kLimit));
  });
  pair.sends = std::move(*ByteStream::connect({"127.0.0.1"}, listening.port, credential, kLimit));
  accepting.join();
  for (ByteStream* each : {pair.sends.get(), pair.takes.get()}) each->settle(plain);
  return pair;
}

struct Load {
  std::size_t bytes;  // of a block
  int blocks;
  std::vector<char> from, to;
};

// Seconds from the first byte until the last one has been taken.
double seconds_of(const std::function<void()>& send, const std::function<void()>& take) {
  const std::int64_t begin_ns = os::now_ns();
  std::jthread sending(send);
  take();
  return static_cast<double>(os::now_ns() - begin_ns) / 1e9;
}

double by_stream(Load& load, bool plain) {
  Pair pair = connected(plain);
  return seconds_of(
      [&] {
        for (int i = 0; i < load.blocks; ++i)
          pair.sends->write(load.from.data(), load.bytes, kLimit);
      },
      [&] {
        for (int i = 0; i < load.blocks; ++i) pair.takes->read(load.to.data(), load.bytes, kLimit);
      });
}

double as_blocks(Load& load, bool plain) {
  Pair pair = connected(plain);
  Conversation sends(std::move(pair.sends)), takes(std::move(pair.takes));
  BlockHead head;
  head.bytes = load.bytes;
  bool good = true;
  const double seconds = seconds_of(
      [&] {
        for (int i = 0; i < load.blocks; ++i) sends.send_block(head, load.from.data(), kLimit);
      },
      [&] {
        Frame frame;
        for (int i = 0; i < load.blocks; ++i)
          good = good && takes.receive(&frame, kLimit) &&
                 takes.receive_data(frame.block, load.to.data(), kLimit);
      });
  if (!good || load.to != load.from) std::fprintf(stderr, "staging_bench: blocks came wrong\n");
  return seconds;
}

double median_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

}  // namespace
}  // namespace leat::bench

int main(int argc, char** argv) {
  using namespace leat::bench;
  bool is_quick = false;
  std::string path;
  for (int i = 1; i < argc; ++i) {
    if (std::string(argv[i]) == "--quick")
      is_quick = true;
    else
      path = argv[i];
  }
  Load load{std::size_t{is_quick ? 1u : 16u} << 20, is_quick ? 4 : 64, {}, {}};
  load.from.resize(load.bytes);
  load.to.resize(load.bytes);
  for (std::size_t i = 0; i < load.bytes; ++i)
    load.from[i] = static_cast<char>(i * 2654435761u >> 13);
  const std::pair<const char*, std::function<double()>> ways[] = {
      {"sockets", [&] { return by_stream(load, true); }},
      {"blocks, trust=\"job\"", [&] { return as_blocks(load, true); }},
      {"TLS alone", [&] { return by_stream(load, false); }},
      {"blocks, encrypted", [&] { return as_blocks(load, false); }}};
  std::map<std::string, std::vector<double>> rates;
  for (int turn = 0; turn < (is_quick ? 1 : 7); ++turn)
    for (const auto& [name, measure] : ways)
      rates[name].push_back(static_cast<double>(load.bytes) * load.blocks / measure() / 1e9);
  nlohmann::json all;
  for (const auto& [name, measure] : ways) {
    const std::vector<double>& found = rates[name];
    const auto [least, most] = std::minmax_element(found.begin(), found.end());
    std::printf("%-22s %6.2f GB/s (%.2f to %.2f)\n", name, median_of(found), *least, *most);
    all["ways"].push_back(
        {{"name", name}, {"gb_per_s", median_of(found)}, {"least", *least}, {"most", *most}});
  }
  const auto ratio = [&](const char* a, const char* b) {
    return median_of(rates[a]) / median_of(rates[b]);
  };
  all["plain_ratio"] = ratio(ways[1].first, ways[0].first);
  all["encrypted_ratio"] = ratio(ways[3].first, ways[2].first);
  std::printf("blocks beside sockets %.2f, encrypted beside TLS alone %.2f (goal: 0.7 each)\n",
              all["plain_ratio"].get<double>(), all["encrypted_ratio"].get<double>());
  if (!path.empty()) std::ofstream(path) << all.dump(1) << '\n';
  return 0;
}
