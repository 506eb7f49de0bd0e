// SPDX-License-Identifier: Apache-2.0
// Somebody at, or between, the ends of a connection between servers. The first byte chooses: a stranger who says anything to
// either end, with a knock that he has recorded or without; or two ends of which he changes what passes.
#include <vector>

#include "lib/comm/tls.hpp"
#include "tests/fuzz/target.hpp"

namespace {

using namespace leat;
using namespace leat::comm;
using Side = TlsStream::Side;

const Credential& credential() {
  static const Credential made = *Credential::make();
  return made;
}

void be_a_stranger(fuzz::Input& input, Side side, bool has_knock) {
  TlsStream end(credential(), side);
  end.send("secret");
  if (has_knock)
    end.take_in(
        TlsStream(credential(), Side::connects).take_out().substr(0, Credential::kKnockBytes));
  while (!input.empty()) {
    end.take_in(input.text(1 + input.byte()));
    end.take_out();
    fuzz::promise(!end.is_open(), "no stranger is taken for a server");
    fuzz::promise(end.take_messages().empty(), "nothing is heard of a stranger");
  }
}

// Changed, cut, repeated, left out, or as it is.
std::string pass(fuzz::Input& input, const std::string& bytes) {
  if (input.below(4) != 0 || bytes.empty()) return bytes;
  const std::size_t at = input.take<std::uint16_t>() % bytes.size();
  switch (input.below(4)) {
    case 0: {
      std::string changed = bytes;
      changed[at] = static_cast<char>(input.byte());
      return changed;
    }
    case 1:
      return bytes.substr(0, at);
    case 2:
      return bytes + bytes.substr(at);
    default:
      return input.text(input.byte()) + bytes;
  }
}

struct Talk {
  TlsStream stream;
  std::vector<std::string> sent{}, heard{};

  void say(const std::string& text) {
    if (stream.send(text)) sent.push_back(text);
  }
  void hear(const std::string& bytes) {
    stream.take_in(bytes);
    for (std::string& each : stream.take_messages()) heard.push_back(std::move(each));
  }
};

void check(const Talk& from, const Talk& to) {
  fuzz::promise(to.heard.size() <= from.sent.size(), "no message is made up");
  for (std::size_t i = 0; i < to.heard.size(); ++i)
    fuzz::promise(to.heard[i] == from.sent[i], "messages arrive in order, and as they were sent");
}

void be_between(fuzz::Input& input) {
  Talk a{TlsStream(credential(), Side::connects)}, b{TlsStream(credential(), Side::accepts)};
  for (int turn = 0; turn < 20 && (turn < 6 || !input.empty()); ++turn) {
    if (input.below(2) == 0) a.say(input.text(input.byte()));
    if (input.below(2) == 0) b.say(input.text(input.byte()));
    b.hear(pass(input, a.stream.take_out()));
    a.hear(pass(input, b.stream.take_out()));
    check(a, b);
    check(b, a);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input input(data, size);
  switch (input.below(4)) {
    case 0:
      be_a_stranger(input, Side::connects, false);
      break;
    case 1:
      be_a_stranger(input, Side::accepts, false);
      break;
    case 2:
      be_a_stranger(input, Side::accepts, true);
      break;
    default:
      be_between(input);
  }
  return 0;
}
