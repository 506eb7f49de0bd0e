// SPDX-License-Identifier: Apache-2.0
// A record is written as MessagePack of [kind, {field: value}], its kind being its place in JournalRecord.
#include "server/state/journal/records.hpp"

#include <cstddef>
#include <exception>
#include <nlohmann/json.hpp>
#include <type_traits>

// MessagePack keeps the bits of a real number, and that it is none of the integers.
template <>
struct nlohmann::adl_serializer<leat::ParameterValue> {
  static void to_json(json& to, const leat::ParameterValue& value) {
    std::visit(
        [&to](const auto& each) {
          if constexpr (!std::is_same_v<const std::monostate&, decltype(each)>) to = each;
        },
        value);
  }
  static void from_json(const json& from, leat::ParameterValue& value) {
    if (from.is_number_integer()) value = from.get<std::int64_t>();
    if (from.is_number_float()) value = from.get<double>();
    if (from.is_string()) value = from.get<std::string>();
  }
};

namespace leat::server {

using nlohmann::json;

void to_json(json& to, const Signal& signal) { to = {signal.event, signal.rank, signal.times}; }
void from_json(const json& from, Signal& signal) { signal = {from.at(0), from.at(1), from.at(2)}; }

// Without names: there may be a hundred thousand of them in a record.
static void to_json(json& to, const SpillRecord::One& one) {
  to = {one.client, one.rank, one.variable, one.block, one.bytes, one.checksum};
}
static void from_json(const json& from, SpillRecord::One& one) {
  one = {from.at(0), from.at(1), from.at(2), from.at(3), from.at(4), from.at(5)};
}

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(PendingSignal, iteration, client, event, times)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(RunEventCount, by_ranks, by_request)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ReadySignal, signal, after)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(SignalReceived, signal, number)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(SignalRequested, event)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(SignalsDecided, iteration, signals, happened)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(SignalsDeferred, iteration)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(RunSignalsDeferred, iteration)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(SignalsSnapshot, pending, ready, counts, happened, decided)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(RunIterationsSnapshot, pending, counts, requested, reported,
                                   next, happened, agreed)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(RoundContributed, partial)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(RoundOutcome, outcome)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(RunView, view, why_alone)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(RunRoundsSnapshot, restarts, view, over, known, outcomes,
                                   reductions, open)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(RunOrder, parameter, value, who, lead)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(RunWords, dropped, orders, votes, ends)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(RunProposal, number, order, is_shown, effective, awaited,
                                   refused, wanted)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(RunOrderReceived, order)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(RunSteeringSnapshot, orders, proposals, votes, next, effective,
                                   ended)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ServersMet, own, offers, why)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ParameterSet, parameter, value)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(IntegerSet, client, event, parameter, value)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(IterationEnded, iteration)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ParameterSteered, iteration, parameter, value)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ParametersSnapshot, last_ended, now, ended)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(LossNoted, line)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(IterationsDropped, iterations)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(OtherRanksCame, ranks)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(SpillRecord, iteration, file, head_checksum, blocks)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(RankBegan, client, iteration)

namespace {

template <std::size_t kind = 0>
std::optional<JournalRecord> record_of_kind(std::size_t wanted, const json& fields) {
  if constexpr (kind < std::variant_size_v<JournalRecord>) {
    if (wanted != kind) return record_of_kind<kind + 1>(wanted, fields);
    return fields.get<std::variant_alternative_t<kind, JournalRecord>>();
  }
  return std::nullopt;
}

}  // namespace

std::string encode(const JournalRecord& record) {
  json whole = json::array();
  whole.push_back(record.index());
  whole.push_back(std::visit([](const auto& each) { return json(each); }, record));
  std::string bytes;
  json::to_msgpack(whole, bytes);
  return bytes;
}

std::string bytes_of(const RunWords& words) {
  std::string bytes;
  json::to_msgpack(json(words), bytes);
  return bytes;
}

std::optional<RunWords> run_words_in(std::string_view bytes) {
  try {
    return json::from_msgpack(bytes).get<RunWords>();
  } catch (const std::exception&) {  // of a server of another version
    return std::nullopt;
  }
}

std::optional<JournalRecord> decode_record(std::string_view bytes) {
  try {
    const json record = json::from_msgpack(bytes);
    return record_of_kind(record.at(0).get<std::size_t>(), record.at(1));
  } catch (const std::exception&) {  // half a record, or what another program has written
    return std::nullopt;
  }
}

}  // namespace leat::server
