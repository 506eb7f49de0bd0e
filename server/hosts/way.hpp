// SPDX-License-Identifier: Apache-2.0
// The way of a module to another host, on the node: to leatd it is the module's process.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "client-api/module/mapped_files.hpp"
#include "client-api/module/output_places.hpp"
#include "lib/comm/byte_stream.hpp"
#include "lib/frames/frame.hpp"

namespace leat::hosts {

// Takes the orders of leatd, as a module does, and passes them on to the host, each with the arrays that it names: so the run,
// its policies, counts and time limits know nothing of a network. Who comes in at the sockets and has the credential is the
// host, one at a time; who comes too waits there. While it is not there, or when it takes longer than a turn may, the turn is
// missed: nobody waits for it, but that a module which takes all may wait for `patience` once, until the host comes.
class Way {
 public:
  /// 1: it was not started by leatd. Else ends with leatd, or by the first frame.
  static int run();

 private:
  Way(nlohmann::json setup, comm::Credential credential);

  void go_on();
  void accept_one();
  void introduce(std::unique_ptr<comm::ByteStream> stream);
  void hear_between_turns();
  void lose(const std::string& why);

  void take_turn(const Frame& order);
  bool await_host(std::int64_t deadline_ns);
  Result<Frame> with_data(const Frame& order);
  std::string why_missed(const Frame& order, std::int64_t deadline_ns);
  std::string pass_on(Frame frame, std::int64_t deadline_ns, bool* is_over);
  std::string take_arrays(Frame* results);
  void say(nlohmann::json head);
  void note(const char* level, const std::string& text);

  nlohmann::json setup_;
  comm::Credential credential_;
  std::string host_;
  std::string failed_;  // why a turn that came to its end has failed
  std::string whole_;   // the same, with all that Python says
  std::int64_t limit_ns_, patience_ns_;
  std::vector<int> sockets_;
  module::MappedFiles files_;
  module::OutputPlaces outputs_;
  std::uint64_t most_bytes_;
  std::unique_ptr<comm::ByteStream> stream_;
  bool is_ready_ = false, was_in_vain_ = false;
  std::uint64_t missed_ = 0;  // since it was there
  std::vector<nlohmann::json> notes_;
};

}  // namespace leat::hosts
