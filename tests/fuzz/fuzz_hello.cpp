// SPDX-License-Identifier: Apache-2.0
// What the other end of a link says first.
#include "lib/comm/hello.hpp"
#include "tests/fuzz/target.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace leat;
  using namespace leat::comm;
  const std::string text(reinterpret_cast<const char*>(data), size);
  const Hello own{1, -1, 4, "run"};
  const std::optional<Hello> theirs = hello_in(text);
  const std::string why = why_no_peer(theirs, own);
  if (!theirs) {
    fuzz::promise(!why.empty(), "what is no hello is refused");
    return 0;
  }
  fuzz::promise(hello_in(hello_text(*theirs)) == theirs, "a hello has one meaning");
  const bool is_peer = theirs->to == 1 && theirs->size == 4 && theirs->run == "run" &&
                       theirs->from >= 0 && theirs->from < 4 && theirs->from != 1;
  fuzz::promise(why.empty() == is_peer, "who is let in is another server of the run");
  return 0;
}
