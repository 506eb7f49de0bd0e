// SPDX-License-Identifier: Apache-2.0
// What leatd says to a module in C, C++ or Fortran: heads are decoded as libleat_module does it, the first as what the module is,
// all of them as orders of turns.
#include "client-api/module/turn_order.hpp"
#include "lib/frames/frame.hpp"
#include "tests/fuzz/target.hpp"

namespace {

using namespace leat;
using namespace leat::module;

void check(const TurnPart& part, std::uint64_t data_bytes) {
  fuzz::promise(bytes_of(part.type, part.extents) == part.bytes,
                "a part is as large as its extents say");
  fuzz::promise(part.extents.size() <= kMaxDims && part.names.size() == part.extents.size(),
                "all dimensions have names");
  for (const auto* list : {&part.position, &part.global, &part.ghosts_before, &part.ghosts_after})
    fuzz::promise(list->empty() || list->size() == part.extents.size(),
                  "a list has a number for each dimension, or none");
  fuzz::promise(part.memory != "order" ||
                    (part.offset <= data_bytes && part.bytes <= data_bytes - part.offset),
                "a part behind the order lies inside of it");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input input(data, size);
  const std::uint64_t data_bytes = input.below(2) == 0 ? 0 : 4096;
  nlohmann::json head;
  if (!parse_head(input.rest(), &head)) return 0;
  (void)setup_of(head);
  const Result<Turn> turn = turn_of(head, data_bytes);
  if (!turn) return 0;
  for (const auto& [port, parts] : turn->ports)
    for (const TurnPart& part : parts) check(part, data_bytes);
  return 0;
}
