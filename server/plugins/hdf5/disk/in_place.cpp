// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/disk/in_place.hpp"

#include <iterator>
#include <vector>

#include "server/plugins/common/whole_io.hpp"

namespace leat::hdf5 {
namespace {

// To copy as much takes as long as a system call.
constexpr std::uint64_t kNear = 4096;

std::uint64_t end_of(const Changes::value_type& piece) { return piece.first + piece.second.size(); }

}  // namespace

int InPlace::make(int file, Journal* journal, Changes* first, const Changes& then) {
  for (auto& [address, bytes] : *first) make_in(bytes.data(), then, address, bytes.size());
  int code = learn(file, *first);
  if (code == 0) code = learn(file, then);
  if (code != 0) return code;
  const Changes of_first = known_.missing_of(*first), of_then = known_.missing_of(then);
  Changes all = of_first;
  for (const auto& [address, bytes] : of_then) put(&all, address, bytes.data(), bytes.size());
  code = journal->add(all, known_, file);
  for (const Changes* changes : {&of_first, &of_then}) {
    if (code == 0) code = write(file, *changes);
  }
  if (code != 0) known_.forget_all();
  known_.keep_small();
  return code;
}

void InPlace::note_zeros(std::uint64_t address, std::size_t bytes) {
  known_.note(address, std::vector<unsigned char>(bytes).data(), bytes);
}

// Reads what is not known.
int InPlace::learn(int file, const Changes& places) {
  std::vector<unsigned char> there;
  for (const auto& [address, bytes] : places) {
    if (known_.find(address, bytes.size())) continue;
    there.resize(bytes.size());
    const int code = read_whole(file, there.data(), there.size(), address);
    if (code != 0) return code;
    known_.note(address, there.data(), there.size());
  }
  return 0;
}

int InPlace::write(int file, const Changes& changes) {
  for (const auto& [address, bytes] : changes) known_.note(address, bytes.data(), bytes.size());
  for (auto next = changes.begin(); next != changes.end();) {
    const std::uint64_t begin = next->first;
    std::uint64_t end = end_of(*next);
    for (++next; next != changes.end() && next->first <= end + kNear &&
                 known_.find(begin, end_of(*next) - begin);
         ++next)
      end = end_of(*next);
    const int code = write_whole(file, known_.find(begin, end - begin), end - begin, begin);
    if (code != 0) return code;
  }
  return 0;
}

}  // namespace leat::hdf5
