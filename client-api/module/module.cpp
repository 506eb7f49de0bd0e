// SPDX-License-Identifier: Apache-2.0
#include "client-api/module/module.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "lib/base/text.hpp"
#include "lib/os/process.hpp"

namespace leat::module {
namespace {

using nlohmann::json;

// leatd ends a module whose turn takes too long, and its end ends every wait for it.
constexpr std::int64_t kAsLongAsLeatdLives = INT64_MAX;

bool is_socket(int descriptor) {
  int type = 0;
  socklen_t bytes = sizeof type;
  return getsockopt(descriptor, SOL_SOCKET, SO_TYPE, &type, &bytes) == 0;
}

// What the module starts has nothing to do with them.
os::UniqueFd own(int descriptor) {
  fcntl(descriptor, F_SETFD, FD_CLOEXEC);
  return os::UniqueFd(descriptor);
}

template <class Map>
std::vector<std::string> names_of(const Map& map) {
  std::vector<std::string> names;
  for (const auto& each : map) names.push_back(each.first);
  return names;
}

Error no_port(const Setup& setup, const char* kind, const std::string& port,
              const std::vector<std::string>& there) {
  return {Status::ERROR_UNKNOWN_NAME,
          "module \"" + setup.name + "\" has no " + kind + " \"" + port + "\"" +
              (there.empty() ? "; it has none" : did_you_mean(port, there))};
}

const Error& no_turn() {
  static const Error error{Status::ERROR_STATE,
                           "there is no turn: this is for within a turn, after leat_wait() was 1"};
  return error;
}

}  // namespace

Result<void> Module::connect() {
  if (connected_) return {};
  if (!std::getenv("LEAT_MODULE") || !is_socket(kWorkerSocket))
    return Error{Status::ERROR_SERVER,
                 "this program is a module of a graph, which Leat starts: name it in "
                 "leat.graph.module(..., run=...), or say `leat graph FILE.py -- COMMAND` to run "
                 "the simulation with it"};
  Frame first;
  if (receive_frame(kWorkerSocket, &first, kAsLongAsLeatdLives) != FrameStatus::frame)
    return Error{Status::ERROR_SERVER, "leatd has ended, or says nothing that makes sense"};
  Result<Setup> setup = setup_of(first.head);
  if (!setup) {
    send_frame(kWorkerSocket, {{{"cannot", setup.error().message}}, ""}, kAsLongAsLeatdLives);
    return setup.error();
  }
  setup_ = std::move(*setup);
  process_ = getpid();
  fcntl(kWorkerSocket, F_SETFD, FD_CLOEXEC);
  files_ = std::make_unique<MappedFiles>(
      os::UniqueFd(open(setup_.segment.c_str(), O_RDONLY | O_CLOEXEC)), own(kWorkerConstants));
  outputs_ = std::make_unique<OutputPlaces>(own(kWorkerOutputs), setup_.most_output_bytes);
  connected_ = true;
  return say(json::object());
}

Result<void> Module::say(json head) {
  if (send_frame(kWorkerSocket, {std::move(head), ""}, kAsLongAsLeatdLives)) return {};
  return Error{Status::ERROR_SERVER, "leatd has ended"};
}

Result<void> Module::end_turn(const std::string& error) {
  turn_.reset();
  files_->end_turn();
  outputs_->give_back();
  aligned_.clear();
  put_.clear();
  return say({{"kind", "answer"}, {"error", error}, {"whole", ""}});
}

Result<bool> Module::wait() {
  if (const Result<void> connected = connect(); !connected) return connected.error();
  if (over_ || (turn_ && !end_turn(""))) return false;
  while (true) {
    const FrameStatus came = receive_frame(kWorkerSocket, &order_, kAsLongAsLeatdLives);
    over_ = came != FrameStatus::frame;
    if (came == FrameStatus::malformed)
      return Error{Status::ERROR_SERVER,
                   "what leatd says is no order: has this program, or what "
                   "it has started, read from descriptor 3?"};
    if (over_) return false;
    Result<Turn> turn = turn_of(order_.head, order_.data.size());
    if (turn) {
      outputs_->release(turn->released);
      turn_ = std::move(*turn);
      return true;
    }
    if (!end_turn(turn.error().message)) return false;
  }
}

Result<const std::vector<TurnPart>*> Module::parts(const std::string& port) const {
  if (!turn_) return no_turn();
  const auto found = turn_->ports.find(port);
  if (found == turn_->ports.end()) return no_port(setup_, "input", port, names_of(turn_->ports));
  return &found->second;
}

Result<const void*> Module::data_of(const TurnPart& part) {
  if (part.bytes == 0) return static_cast<const void*>(nullptr);
  if (part.memory != "order") return files_->at(part.memory, part.offset, part.bytes);
  const char* const data = order_.data.data() + part.offset;
  if (reinterpret_cast<std::uintptr_t>(data) % alignof(std::max_align_t) == 0) return data;
  aligned_.emplace_back(data, data + part.bytes);
  return static_cast<const void*>(aligned_.back().data());
}

Result<ParameterValue> Module::parameter(const std::string& name) const {
  if (!turn_) return no_turn();
  if (!setup_.parameters.count(name))
    return Error{Status::ERROR_UNKNOWN_NAME, "there is no parameter \"" + name + "\" in the XML" +
                                                 did_you_mean(name, names_of(setup_.parameters))};
  const auto found = turn_->parameters.find(name);
  if (found == turn_->parameters.end())
    return Error{Status::ERROR_STATE, "parameter \"" + name + "\" has no value yet"};
  return found->second;
}

// JSON has no infinite numbers: leatd says them in words.
Result<double> Module::real_parameter(const std::string& name) const {
  const Result<ParameterValue> value = parameter(name);
  if (!value) return value.error();
  if (const auto* text = std::get_if<std::string>(&*value)) {
    if (setup_.parameters.at(name) == "double") return std::strtod(text->c_str(), nullptr);
    return Error{Status::ERROR_TYPE, "parameter \"" + name + "\" is a text"};
  }
  return as_real(*value);
}

Result<void*> Module::memory(std::uint64_t bytes) {
  if (!turn_) return no_turn();
  return outputs_->start(bytes);
}

Result<const OutputPort*> Module::may_put(const std::string& port, const PutArray& array,
                                          std::uint64_t* bytes) const {
  if (!turn_) return no_turn();
  const auto found = setup_.outputs.find(port);
  if (found == setup_.outputs.end())
    return no_port(setup_, "output", port, names_of(setup_.outputs));
  if (put_.count(port))
    return Error{Status::ERROR_STATE, "port \"" + port + "\" has had its array in this turn"};
  const std::optional<std::uint64_t> size = bytes_of(array.type, array.extents);
  if (!size)
    return Error{Status::ERROR_ARGUMENT,
                 "port \"" + port + "\": an extent is negative, or all are beyond all bounds"};
  if (!array.data && *size > 0)
    return Error{Status::ERROR_ARGUMENT, "port \"" + port + "\": data is null"};
  *bytes = *size;
  if (!found->second.steers.empty() && *size != scalar_bytes(array.type))
    return Error{Status::ERROR_SHAPE, "port \"" + port + "\" steers parameter \"" +
                                          found->second.steers[0] + "\", which is one number: " +
                                          counted(*size / scalar_bytes(array.type), "element") +
                                          " came"};
  return &found->second;
}

Result<std::uint64_t> Module::placed(const PutArray& array, std::uint64_t bytes) {
  if (const auto offset = outputs_->finish(array.data, bytes)) return *offset;
  const Result<void*> copy = outputs_->start(bytes);
  if (!copy) return copy.error();
  if (bytes > 0) std::memcpy(*copy, array.data, bytes);
  return *outputs_->finish(*copy, bytes);
}

namespace {

template <class Number>
json number_at(const void* data) {
  Number number;
  std::memcpy(&number, data, sizeof number);
  return number;
}

// Null for what is no number that JSON has.
json steered_value(const void* data, ScalarType type) {
  switch (type) {
    case ScalarType::int8:
      return number_at<std::int8_t>(data);
    case ScalarType::int16:
      return number_at<std::int16_t>(data);
    case ScalarType::int32:
      return number_at<std::int32_t>(data);
    case ScalarType::int64:
      return number_at<std::int64_t>(data);
    case ScalarType::uint8:
      return number_at<std::uint8_t>(data);
    case ScalarType::uint16:
      return number_at<std::uint16_t>(data);
    case ScalarType::uint32:
      return number_at<std::uint32_t>(data);
    case ScalarType::uint64:
      return number_at<std::uint64_t>(data);
    case ScalarType::float32:
      return number_at<float>(data);
    case ScalarType::float64:
      return number_at<double>(data);
    case ScalarType::complex64:
    case ScalarType::complex128:
    case ScalarType::character:
      return {};
  }
  return {};
}

}  // namespace

Result<void> Module::steer(const OutputPort& output, const PutArray& array) {
  for (const std::string& parameter : output.steers) {
    const Result<void> said = say({{"kind", "set"},
                                   {"parameter", parameter},
                                   {"value", steered_value(array.data, array.type)},
                                   {"scope", "run"}});
    if (!said) return said;
  }
  return {};
}

Result<void> Module::put(const std::string& port, const PutArray& array) {
  std::uint64_t bytes = 0;
  const Result<const OutputPort*> output = may_put(port, array, &bytes);
  if (!output) return output.error();
  if (!(*output)->steers.empty()) {
    const json value = steered_value(array.data, array.type);
    if (value.is_null() || (value.is_number_float() && !std::isfinite(value.get<double>())))
      return Error{Status::ERROR_TYPE,
                   "port \"" + port + "\" steers a parameter, and takes a finite number"};
  }
  const Result<std::uint64_t> offset = placed(array, bytes);
  if (!offset)
    return Error{offset.error().status, "port \"" + port + "\": " + offset.error().message};
  put_.insert(port);
  const Result<void> said =
      say({{"kind", "results"},
           {"arrays", json::array({{{"name", port},
                                    {"type", scalar_name(array.type)},
                                    {"unit", array.unit.empty() ? (*output)->unit : array.unit},
                                    {"dimensions", array.names},
                                    {"extents", array.extents},
                                    {"offset", *offset},
                                    {"bytes", bytes}}})}});
  return said ? steer(**output, array) : said;
}

Result<void> Module::log(std::string_view level, std::string_view text) {
  if (const Result<void> connected = connect(); !connected) return connected;
  return say({{"kind", "log"}, {"level", level}, {"text", text}});
}

void Module::program_ends(int status) {
  if (turn_ && status == 0 && getpid() == process_) (void)end_turn("");
}

}  // namespace leat::module
