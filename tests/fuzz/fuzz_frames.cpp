// SPDX-License-Identifier: Apache-2.0
// What a worker says: a stream of bytes is taken apart as leatd does it. The first byte chooses
// between the stream as it is, and frames around heads of the input's, which is where most of the
// decoding lies.
#include <sys/socket.h>

#include "lib/model/run_description.hpp"
#include "lib/os/clock.hpp"
#include "lib/os/descriptor.hpp"
#include "server/workers/frames.hpp"
#include "server/workers/script_task.hpp"
#include "tests/fuzz/target.hpp"

namespace {

using namespace leat;
using namespace leat::server;

void check(const Product& product, const std::string& data) {
  const auto* const first = static_cast<const char*>(product.data);
  fuzz::promise(first >= data.data() && first <= data.data() + data.size() &&
                    product.bytes <= data.size() - static_cast<std::size_t>(first - data.data()),
                "an array lies inside of its data");
  std::uint64_t bytes = scalar_bytes(product.type);
  for (const std::int64_t extent : product.extents) {
    fuzz::promise(extent >= 0, "no extent is negative");
    bytes *= static_cast<std::uint64_t>(extent);
  }
  fuzz::promise(bytes == product.bytes, "an array is as large as its extents say");
  fuzz::promise(product.dimensions.size() == product.extents.size(), "all dimensions have names");
}

void decode(const Frame& frame) {
  for (const char* key : {"kind", "error", "cannot", "level", "text", "parameter"}) {
    text_in(frame.head, key);
  }
  functions_in(frame.head);
  // What is steered goes to other scripts, as text of another frame.
  Frame next;
  next.head["value"] = model::to_json(value_in(frame.head));
  for (const Product& product : products_in(frame.head, frame.data)) check(product, frame.data);
}

std::string framed(fuzz::Input& input) {
  std::string stream;
  while (!input.empty()) {
    const std::string data(input.byte(), 'd');
    const std::string head = input.text(input.take<std::uint16_t>());
    const std::uint64_t lengths[2] = {head.size(), data.size()};
    stream.append(reinterpret_cast<const char*>(lengths), sizeof lengths);
    stream += head + data;
  }
  return stream;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input input(data, size);
  const std::string stream = input.below(4) == 0 ? input.rest() : framed(input);
  auto ends = os::stream_pair();
  if (!ends) return 0;
  const std::int64_t deadline_ns = os::now_ns() + 2'000'000'000;
  const ssize_t sent = send(ends->first.get(), stream.data(), stream.size(), MSG_DONTWAIT);
  (void)sent;  // what does not fit is cut off: a worker that ends in the middle of a frame
  ends->first.reset();
  Frame frame;
  FrameStatus status = receive_frame(ends->second.get(), &frame, deadline_ns);
  for (; status == FrameStatus::frame;
       status = receive_frame(ends->second.get(), &frame, deadline_ns)) {
    decode(frame);
  }
  fuzz::promise(status != FrameStatus::late, "a worker that has ended is not late");
  return 0;
}
