// SPDX-License-Identifier: Apache-2.0
// What servers of a run tell each other: any bytes, and those of messages in which some were changed, which goes deepest.
#include <utility>

#include "lib/comm/message.hpp"
#include "tests/fuzz/target.hpp"

namespace {

using namespace leat;
using namespace leat::comm;

RankSet ranks(fuzz::Input& input) {
  RankSet set;
  for (std::uint32_t i = input.below(4); i > 0; --i) {
    const auto first = static_cast<Rank>(input.below(100));
    set += RankSet(first, first + static_cast<Rank>(input.below(20)));
  }
  return set;
}

template <class Column, class Value>
Column numbers(fuzz::Input& input, Op most, Value value) {
  Column column;
  column.op = static_cast<Op>(input.below(static_cast<std::uint32_t>(most) + 1));
  for (std::uint32_t i = input.below(5); i > 0; --i) column.values.push_back(value(input));
  return column;
}

Columns columns(fuzz::Input& input) {
  const auto real = [](fuzz::Input& from) { return from.take<double>(); };
  Columns all;
  for (std::uint32_t i = input.below(4); i > 0; --i) {
    switch (input.below(4)) {
      case 0:
        all.emplace_back(
            numbers<Integers>(input, Op::bit_or, [](auto& in) { return in.number(); }));
        break;
      case 1:
        all.emplace_back(numbers<Reals>(input, Op::max, real));
        break;
      case 2: {
        Sums sums;
        for (std::uint32_t n = input.below(4); n > 0; --n) {
          sums.values.emplace_back();
          for (std::uint32_t k = input.below(4); k > 0; --k) sums.values.back().add(real(input));
        }
        all.emplace_back(std::move(sums));
        break;
      }
      default: {
        Gathered gathered;
        for (std::uint32_t n = input.below(4); n > 0; --n)
          gathered.parts[static_cast<Rank>(input.below(50))] = input.text(input.below(20));
        all.emplace_back(std::move(gathered));
      }
    }
  }
  return all;
}

View view(fuzz::Input& input) {
  View made;
  made.epoch = input.number();
  made.root = static_cast<Rank>(input.below(10));
  made.version = input.number();
  made.dead = ranks(input);
  made.left = ranks(input);
  for (std::uint32_t i = input.below(3); i > 0; --i)
    made.starts.push_back({input.number(), input.number()});
  return made;
}

Message message(fuzz::Input& input) {
  switch (input.below(5)) {
    case 0: {
      Up up;
      up.view = view(input);
      up.attached = ranks(input);
      up.leaving = ranks(input);
      up.known = input.number();
      return up;
    }
    case 1: {
      Down down;
      down.view = view(input);
      down.known = input.number();
      down.confirmed = input.number();
      return down;
    }
    case 2: {
      Partial partial;
      partial.round = {input.take<std::uint64_t>(), input.number()};
      partial.of = ranks(input);
      partial.columns = columns(input);
      return partial;
    }
    case 3: {
      Outcome outcome;
      outcome.sequence = input.number();
      outcome.round = {input.byte(), input.number()};
      outcome.of = ranks(input);
      outcome.columns = columns(input);
      return outcome;
    }
    default: {
      Want want;
      want.from = input.number();
      return want;
    }
  }
}

// Whatever it is, it has one form, and goes on as it came.
void read(const std::string& bytes) {
  const std::optional<Message> read = message_in(bytes);
  if (!read) return;
  const std::string again = bytes_of(*read);
  fuzz::promise(again.size() <= bytes.size(), "a message says nothing twice");
  const std::optional<Message> read_again = message_in(again);
  fuzz::promise(read_again && bytes_of(*read_again) == again, "what was read can be sent on");
  if (const auto* const partial = std::get_if<Partial>(&*read)) {
    Columns sum = partial->columns;
    fuzz::promise(fit(sum, partial->columns), "columns fit themselves");
    combine(&sum, partial->columns);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input input(data, size);
  if (input.below(2) == 0) {
    read(input.rest());
    return 0;
  }
  std::string bytes = bytes_of(message(input));
  fuzz::promise(message_in(bytes).has_value(), "what is sent can be read");
  read(bytes);
  while (!input.empty() && !bytes.empty()) {
    const std::size_t at = input.take<std::uint16_t>() % bytes.size();
    if (input.below(4) == 0) {
      bytes.resize(at);
    } else {
      bytes[at] = static_cast<char>(input.byte());
    }
    read(bytes);
  }
  return 0;
}
