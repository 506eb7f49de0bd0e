// SPDX-License-Identifier: Apache-2.0
// A rank of a simulation that a test drives: reads one call per line from standard input, makes it,
// and answers with one line of JSON, {"status": "LEAT_OK", "error": "...", "value": ...}.
// leat_run.py is the other end.
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "client-api/api/leat_build.h"
#include "tests/support/test_bytes.hpp"

namespace {

using Answer = nlohmann::json;
using leat::test::fill;

Answer answer_of(leat_status status) {
  return {{"status", leat_status_name(status)}, {"error", status < 0 ? leat_last_error() : ""}};
}

std::vector<std::int64_t> numbers(const std::string& list) {
  std::vector<std::int64_t> values;
  std::istringstream text(list);
  for (std::string one; std::getline(text, one, ',');) values.push_back(std::stoll(one));
  return values;
}

// The words of one line after the first.
class Words {
 public:
  explicit Words(const std::string& line) : text_(line) { text_ >> verb_; }
  const std::string& verb() const { return verb_; }
  std::string text() { return next<std::string>(); }
  std::int64_t number() { return next<std::int64_t>(); }
  bool has_more() { return !(text_ >> std::ws).eof(); }
  std::uint32_t block() { return next<std::uint32_t>(); }

 private:
  template <class T>
  T next() {
    T value{};
    if (!(text_ >> value)) throw std::runtime_error("too few words for " + verb_);
    return value;
  }
  std::istringstream text_;
  std::string verb_;
};

leat_status init_ranks(Words& words) {
  const std::string config = words.text(), session = words.text();
  leat_ranks ranks{};
  ranks.struct_size = sizeof ranks;
  ranks.rank = static_cast<std::int32_t>(words.number());
  ranks.size = static_cast<std::int32_t>(words.number());
  ranks.node_rank = words.has_more() ? static_cast<std::int32_t>(words.number()) : ranks.rank;
  ranks.node_size = words.has_more() ? static_cast<std::int32_t>(words.number()) : ranks.size;
  ranks.session = session.c_str();
  return leat_init_ranks(config.c_str(), &ranks);
}

leat_status write_block(const std::string& name, std::uint32_t block, std::size_t bytes,
                        std::uint64_t seed) {
  std::vector<char> data(bytes);
  fill(data.data(), bytes, seed);
  // What the caller does with its array afterwards must not matter.
  const leat_status status = leat_write_block(name.c_str(), block, data.data());
  std::fill(data.begin(), data.end(), '\x5a');
  return status;
}

leat_status write(Words& words) {
  const std::string name = words.text();
  const std::uint32_t block = words.block();
  const auto bytes = static_cast<std::size_t>(words.number());
  return write_block(name, block, bytes, static_cast<std::uint64_t>(words.number()));
}

// A Fortran section of doubles, a(1:step*fast:step, :), of an array a(2*fast, slow).
leat_status write_section(Words& words) {
  const std::string name = words.text();
  const std::uint32_t block = words.block();
  const std::int64_t fast = words.number(), slow = words.number(), step = words.number();
  std::vector<char> data(static_cast<std::size_t>(16 * fast * slow));
  fill(data.data(), data.size(), static_cast<std::uint64_t>(words.number()));
  leat_array array{};
  array.struct_size = sizeof array;
  array.data = data.data();
  array.type = LEAT_TYPE_FLOAT64;
  array.dims = 2;
  array.extent[0] = fast;
  array.extent[1] = slow;
  array.stride[0] = 8 * step;
  array.stride[1] = 16 * fast;
  array.column_major = 1;
  return leat_write_array(name.c_str(), block, &array);
}

// An array of this type and extents ("4,3"; "-" for a number), and the message of one that is not stored.
Answer write_any(Words& words) {
  const std::string name = words.text();
  const auto type = static_cast<std::int32_t>(words.number());
  const std::string list = words.text();
  const std::vector<std::int64_t> extents =
      list == "-" ? std::vector<std::int64_t>() : numbers(list);
  std::vector<char> data(static_cast<std::size_t>(words.number()));
  fill(data.data(), data.size(), static_cast<std::uint64_t>(words.number()));
  const bool is_null = name == "NULL";
  const leat_status status =
      leat_write_any(is_null ? nullptr : name.c_str(), data.empty() ? nullptr : data.data(), type,
                     static_cast<std::int32_t>(extents.size()), extents.data());
  Answer answer = answer_of(status);
  if (status == LEAT_UNWANTED) answer["error"] = leat_last_error();
  std::fill(data.begin(), data.end(), '\x5a');
  return answer;
}

leat_status alloc(Words& words) {
  const std::string name = words.text();
  const std::uint32_t block = words.block();
  void* data = nullptr;
  const leat_status status = leat_alloc_block(name.c_str(), block, &data);
  const auto bytes = static_cast<std::size_t>(words.number());
  if (status == LEAT_OK) fill(data, bytes, static_cast<std::uint64_t>(words.number()));
  return status;
}

// Writes blocks 0 to n-1 from n threads at once, `rounds` times; seed: that of block 0.
leat_status threads(Words& words) {
  const std::string name = words.text();
  const auto count = words.block();
  const auto rounds = words.number();
  const auto bytes = static_cast<std::size_t>(words.number());
  const auto seed = static_cast<std::uint64_t>(words.number());
  std::vector<leat_status> statuses(count, LEAT_OK);
  std::vector<std::thread> writers;
  for (std::uint32_t block = 0; block < count; ++block) {
    writers.emplace_back([&, block] {
      for (int round = 0; round < rounds; ++round) {
        const leat_status status = write_block(name, block, bytes, seed + block);
        if (status != LEAT_OK) statuses[block] = status;
      }
    });
  }
  for (std::thread& writer : writers) writer.join();
  for (const leat_status status : statuses) {
    if (status != LEAT_OK) return status;
  }
  return LEAT_OK;
}

// Whole iterations without a word to the test, until it is killed: seed of iteration i is seed + i.
leat_status run_on(Words& words) {
  const std::string name = words.text();
  const auto bytes = static_cast<std::size_t>(words.number());
  const auto seed = static_cast<std::uint64_t>(words.number());
  std::vector<char> data(bytes);
  for (std::uint64_t i = 0;; ++i) {
    fill(data.data(), bytes, seed + i);
    leat_status status = leat_write(name.c_str(), data.data());
    if (status == LEAT_OK) status = leat_end_iteration();
    if (status != LEAT_OK) return status;
  }
}

// Whole iterations as fast as may be, each of one block: seed of iteration i is seed + i. The
// value: which of them returned LEAT_DROPPED, and how long the longest call took. Ends at an error.
Answer iterate(Words& words) {
  const std::string name = words.text();
  const auto bytes = static_cast<std::size_t>(words.number());
  const auto seed = static_cast<std::uint64_t>(words.number());
  const auto count = static_cast<std::uint64_t>(words.number());
  std::vector<char> data(bytes);
  std::vector<std::int64_t> dropped;
  double longest = 0;
  leat_status status = LEAT_OK;
  for (std::uint64_t i = 0; i < count && status >= 0; ++i) {
    fill(data.data(), bytes, seed + i);
    const auto began = std::chrono::steady_clock::now();
    status = leat_write(name.c_str(), data.data());
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
    longest = std::max(longest, took.count());
    if (status == LEAT_DROPPED) dropped.push_back(leat_iteration());
    if (status >= 0) status = leat_end_iteration();
  }
  Answer answer = answer_of(status);
  answer["value"] = {{"dropped", dropped}, {"longest", longest}};
  return answer;
}

// What a checkpoint has of a block, in memory that is 0x5a before, into a file.
leat_status read_block(Words& words) {
  const std::string name = words.text();
  const std::uint32_t block = words.block();
  std::vector<char> data(static_cast<std::size_t>(words.number()), '\x5a');
  const leat_status status = leat_read_block(name.c_str(), block, data.data());
  std::ofstream(words.text(), std::ios::binary)
      .write(data.data(), static_cast<std::streamsize>(data.size()));
  return status;
}

// A wild pointer: writes 0xff into the shared segment past the library, from an offset on.
leat_status scribble(Words& words) {
  const auto offset = static_cast<std::uintptr_t>(words.number());
  const auto bytes = static_cast<std::size_t>(words.number());
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.find("/dev/shm/leat-") == std::string::npos) continue;
    std::memset(reinterpret_cast<char*>(std::stoull(line, nullptr, 16)) + offset, 0xff, bytes);
    return LEAT_OK;
  }
  return LEAT_ERROR_STATE;
}

leat_status extents(Words& words,
                    leat_status (*set)(const char*, std::uint32_t, const std::int64_t*)) {
  const std::string name = words.text();
  const std::uint32_t block = words.block();
  return set(name.c_str(), block, numbers(words.text()).data());
}

const std::map<std::string, std::function<leat_status(Words&)>> kCalls = {
    {"init", [](Words& w) { return leat_init(w.text().c_str()); }},
    {"init_ranks", init_ranks},
    {"finalize", [](Words&) { return leat_finalize(); }},
    {"write", write},
    {"read", read_block},
    {"write_section", write_section},
    {"write_null", [](Words& w) { return leat_write(w.text().c_str(), nullptr); }},
    {"alloc", alloc},
    {"commit",
     [](Words& w) {
       const std::string n = w.text();
       return leat_commit_block(n.c_str(), w.block());
     }},
    {"end_iteration", [](Words&) { return leat_end_iteration(); }},
    {"start_at", [](Words& w) { return leat_start_at(w.number()); }},
    {"begin", [](Words& w) { return leat_begin_iteration(w.number()); }},
    {"iteration",
     [](Words& w) { return w.number() == leat_iteration() ? LEAT_OK : LEAT_ERROR_STATE; }},
    {"signal", [](Words& w) { return leat_signal(w.text().c_str()); }},
    {"idle_begin", [](Words& w) { return leat_idle_begin(w.text().c_str()); }},
    {"idle_end", [](Words&) { return leat_idle_end(); }},
    {"after_collective",
     [](Words& w) { return leat_after_collective(static_cast<std::int32_t>(w.number())); }},
    {"idle_pair",
     [](Words& w) {
       const std::string site = w.text();
       for (std::int64_t left = w.number(); left > 0; --left) {
         leat_idle_begin(site.c_str());
         leat_idle_end();
       }
       return LEAT_OK;
     }},
    {"set_extent", [](Words& w) { return extents(w, leat_set_extent); }},
    {"set_position", [](Words& w) { return extents(w, leat_set_position); }},
    {"set_level",
     [](Words& w) {
       const std::string n = w.text();
       const std::uint32_t block = w.block();
       const auto level = static_cast<std::int32_t>(w.number());
       return leat_set_level(n.c_str(), block, level, numbers(w.text()).data());
     }},
    {"set_int",
     [](Words& w) {
       const std::string n = w.text();
       return leat_set_int(n.c_str(), w.number());
     }},
    {"set_double",
     [](Words& w) {
       const std::string n = w.text();
       return leat_set_double(n.c_str(), std::stod(w.text()));
     }},
    {"set_string",
     [](Words& w) {
       const std::string n = w.text();
       return leat_set_string(n.c_str(), w.text().c_str());
     }},
    {"wanted", [](Words& w) { return leat_wanted(w.text().c_str()); }},
    {"threads", threads},
    {"scribble", scribble},
    {"run_on", run_on},
    {"work_in",  // with files for this user alone
     [](Words& w) {
       umask(0077);
       return chdir(w.text().c_str()) == 0 ? LEAT_OK : LEAT_ERROR_SYSTEM;
     }},
    {"die",
     [](Words&) {
       raise(SIGKILL);
       return LEAT_OK;
     }},
};

Answer make(const std::string& line) {
  Words words(line);
  if (words.verb() == "iteration") return {{"status", "LEAT_OK"}, {"value", leat_iteration()}};
  if (words.verb() == "iterate") return iterate(words);
  if (words.verb() == "write_any") return write_any(words);
  if (words.verb() == "restart_step") {
    std::int64_t step = -1;
    const leat_status status = leat_restart_step(&step);
    Answer answer = answer_of(status);
    answer["value"] = step;
    return answer;
  }
  if (words.verb() == "get_double") {
    double value = 0;
    const leat_status status = leat_get_double(words.text().c_str(), &value);
    Answer answer = answer_of(status);
    answer["value"] = value;
    return answer;
  }
  if (words.verb() == "get_string") {
    char value[256] = "";
    const leat_status status = leat_get_string(words.text().c_str(), value, sizeof value, nullptr);
    Answer answer = answer_of(status);
    answer["value"] = value;
    return answer;
  }
  const auto call = kCalls.find(words.verb());
  if (call == kCalls.end()) throw std::runtime_error("no call " + words.verb());
  return answer_of(call->second(words));
}

std::string answer_to(const std::string& line) {
  try {
    return make(line).dump();
  } catch (const std::exception& e) {
    return Answer{{"status", "TEST_ERROR"}, {"error", e.what()}}.dump();
  }
}

// A child that lives until somebody kills it; its process id.
Answer fork_and_stay() {
  const pid_t child = fork();
  if (child == 0) {
    for (;;) pause();
  }
  return {{"status", "LEAT_OK"}, {"value", child}};
}

// The call, made by a child that was forked, which then ends as programs do: what the child was
// told.
Answer in_child(const std::string& line) {
  int ends[2];
  if (pipe(ends) != 0) throw std::runtime_error("no pipe");
  const pid_t child = fork();
  if (child == 0) {
    const std::string answer = answer_to(line);
    const ssize_t written = ::write(ends[1], answer.data(), answer.size());
    std::exit(written == static_cast<ssize_t>(answer.size()) ? 0 : 1);
  }
  close(ends[1]);
  std::string answer;
  char part[512];
  for (ssize_t got = 0; (got = read(ends[0], part, sizeof part)) > 0;)
    answer.append(part, static_cast<std::size_t>(got));
  close(ends[0]);
  waitpid(child, nullptr, 0);
  return Answer::parse(answer);
}

std::string answer_of_parent(const std::string& line) {
  constexpr const char* kInChild = "in_child ";
  if (line == "fork_and_stay") return fork_and_stay().dump();
  if (line.starts_with(kInChild)) return in_child(line.substr(std::strlen(kInChild))).dump();
  return answer_to(line);
}

}  // namespace

int main() {
  for (std::string line; std::getline(std::cin, line);)
    std::cout << answer_of_parent(line) << std::endl;
  return 0;
}
