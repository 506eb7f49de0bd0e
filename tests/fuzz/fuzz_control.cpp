// SPDX-License-Identifier: Apache-2.0
// Programs at a control channel that say anything, in any pieces, and read as they like. Half of
// what they say is nearly a request, as that goes deepest.
#include <climits>

#include "server/driver/control_channel.hpp"
#include "tests/fuzz/target.hpp"

namespace {

using namespace leat;
using namespace leat::control;

class AnyRun final : public ControlledRun {
 public:
  Answer answer(const Request& request) override {
    if (request.verb == "ledger") return std::string("{\n\"leat_ledger\": 1}\n");
    if (request.arguments.empty()) return std::string("null");
    return refusal("no");
  }
};

class Programs {
 public:
  Programs(const std::uint8_t* data, std::size_t size) : input_(data, size) {}

  void run() {
    while (!input_.empty()) act();
    channel_.end({{"status", 0}}, now_);
  }

 private:
  void act() {
    const int number = static_cast<int>(input_.below(40));
    Connection* peer = channel_.find(number);
    if (!peer || peer->is_over(now_)) {
      channel_.close(number);
      peer = &channel_.open(number, "control/1", now_);
    }
    switch (input_.below(8)) {
      case 0:
        return say(peer, input_.text(input_.take<std::uint16_t>()));
      case 1:
      case 2:
        return say(peer, nearly_a_request());
      case 3:
        return read(peer, input_.byte() * 64);
      case 4:
        return peer->input_ended();
      case 5:
        now_ += static_cast<std::int64_t>(input_.byte()) * 100'000'000;
        return;
      case 6:
        return channel_.publish(names_of_events()[input_.below(7)],
                                {{"iteration", input_.number()}, {"why", input_.text(9)}}, now_);
      default:
        channel_.work(now_);
    }
  }

  void say(Connection* peer, const std::string& text) {
    if (peer->wants_input()) peer->received(text, now_);
  }

  // What is read is whole lines of JSON.
  void read(Connection* peer, std::size_t most) {
    const std::string_view unsent = peer->unsent();
    fuzz::promise(unsent.size() < (2u << 20), "what waits to be read is bounded");
    const std::size_t end = unsent.find('\n');
    if (end == std::string_view::npos) {
      fuzz::promise(unsent.empty(), "messages end");
      return;
    }
    fuzz::promise(Json::accept(unsent.substr(0, end)), "messages are JSON");
    peer->sent(end + 1, now_);
    if (most > end && !peer->unsent().empty()) read(peer, most - end);
  }

  std::string nearly_a_request() {
    const std::vector<Verb>& all = verbs();
    std::string text = all[input_.below(static_cast<std::uint32_t>(all.size()))].example + "\n";
    for (std::uint32_t changes = input_.below(4); changes > 0; --changes)
      text[input_.byte() % text.size()] = static_cast<char>(input_.byte());
    return text;
  }

  fuzz::Input input_;
  AnyRun run_;
  Channel channel_{run_};
  std::int64_t now_ = 1;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Programs(data, size).run();
  (void)parse_request({reinterpret_cast<const char*>(data), size});
  return 0;
}
