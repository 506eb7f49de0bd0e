// SPDX-License-Identifier: Apache-2.0
// The bytes of a configuration: a model or messages, never anything else.
#include "lib/model/checks.hpp"
#include "lib/model/reader.hpp"
#include "lib/model/xml/schema.hpp"
#include "lib/shm/leases.hpp"
#include "tests/fuzz/target.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace leat;
  static const model::Schema schema;
  const std::string text(reinterpret_cast<const char*>(data), size);
  // A folder that does not exist: what is included by a relative path is not there.
  const model::ReadResult read = model::read_text(text, "/no-such-folder/fuzz.xml", schema);
  fuzz::promise(read.model || !model::format(read.diagnostics).empty(), "a refusal says why");
  if (read.model) model::estimate_memory(*read.model, 4, shm::RegionArena::block_bytes);
  return 0;
}
