// SPDX-License-Identifier: Apache-2.0
#include "server/state/parameters/steering.hpp"

#include <algorithm>
#include <charconv>
#include <limits>

#include "lib/base/text.hpp"
#include "lib/model/mesh_place.hpp"

namespace leat::server {
namespace {

using Kind = model::Parameter::Kind;
using Value = Steering::Value;

// Each try leaves ranks twice as many iterations as the one before; ranks that are still faster get
// the value at the next turn of the event loop.
constexpr std::int64_t kFirstLead = 1, kLastLead = 128;
// What a healthy client cannot reach; with a lead added it does not overflow.
constexpr std::int64_t kMostIterations = std::int64_t{1} << 62;

std::string digits_of(double value) {
  char text[32];
  const std::to_chars_result end = std::to_chars(text, text + sizeof text, value);
  return std::string(text, end.ptr);
}

shm::SteeredValue slot_value(const Value& value, Kind kind) {
  if (const auto* text = std::get_if<std::string>(&value)) return shm::SteeredValue::of(*text);
  if (const auto* real = std::get_if<double>(&value)) return shm::SteeredValue::of(*real);
  return kind == Kind::real ? shm::SteeredValue::of(as_real(value))
                            : shm::SteeredValue::of(as_integer(value));
}

Value value_in_slot(const shm::SteeredValue& value, Kind kind) {
  if (kind == Kind::integer) return value.integer();
  if (kind == Kind::real) return value.real();
  return std::string(value.text());
}

const model::Layout* layout_that_uses(const model::Model& model, std::uint32_t parameter) {
  for (const model::Layout& layout : model.layouts) {
    for (const model::Dimension& d : layout.dimensions) {
      if (d.extent.uses(parameter) || d.global.uses(parameter)) return &layout;
    }
  }
  return nullptr;
}

std::string title(const model::Parameter& parameter) {
  return "parameter \"" + parameter.name + "\" (" + parameter.where.file + ":" +
         std::to_string(parameter.where.line) + ")";
}

std::string why_no_text(const model::Parameter& parameter, const std::string& text) {
  if (text.find('\0') != std::string::npos) {
    return title(parameter) + ": a text with a zero byte in it cannot be given to a simulation";
  }
  if (text.size() <= shm::kMostSteeredText) return "";
  return title(parameter) + ": a text of " + std::to_string(text.size()) +
         " bytes is too long, a set text has at most " + std::to_string(shm::kMostSteeredText);
}

std::string why_wrong_type(const model::Parameter& parameter, const Value& value) {
  if (!is_set(value)) return title(parameter) + ": there is no value to give it";
  const bool is_text = std::holds_alternative<std::string>(value);
  const bool is_real = std::holds_alternative<double>(value);
  const std::string shown = is_text ? "\"" + text_of(value) + "\"" : text_of(value);
  switch (parameter.kind) {
    case Kind::integer:
      if (!is_text && !is_real) return "";
      return title(parameter) + " is declared int: " + shown + " is no integer";
    case Kind::real:
      if (!is_text) return "";
      return title(parameter) + " is declared double: " + shown + " is a text, write a number";
    case Kind::text:
      if (is_text) return why_no_text(parameter, std::get<std::string>(value));
      return title(parameter) + " is declared string: " + shown + " is a number, write \"" + shown +
             "\"";
  }
  return "";
}

}  // namespace

std::string text_of(const Value& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return std::to_string(*integer);
  if (const auto* real = std::get_if<double>(&value)) return digits_of(*real);
  return std::string(as_text(value));
}

Steering::Steering(const model::Model& model, const shm::Segment& segment)
    : model_(model), segment_(segment), writer_(segment) {
  for (const model::Parameter& parameter : model.parameters) {
    parameters_.push_back({std::nullopt, parameter.value});
  }
  for (std::uint32_t i = 0; i < segment.header().client_count; ++i) live_.push_back(i);
}

void Steering::take_over() {
  const std::span<const shm::SteeringSlot> slots = segment_.steering().slots;
  for (std::uint32_t i = 0; i < parameters_.size() && i < slots.size(); ++i) {
    writer_.withdraw(i);
    if (!writer_.is_committed(i)) continue;
    parameters_[i].effective = slots[i].effective.load(std::memory_order_relaxed);
    parameters_[i].current = value_in_slot(writer_.value(i), model_.parameters[i].kind);
  }
}

std::vector<AuditEntry> Steering::committed() const {
  std::vector<AuditEntry> entries;
  for (std::uint32_t i = 0; i < parameters_.size(); ++i) {
    const Parameter& parameter = parameters_[i];
    if (parameter.effective < 0) continue;
    entries.push_back(
        {model_.parameters[i].name, "", text_of(parameter.current), parameter.effective, ""});
  }
  return entries;
}

std::string Steering::why_not(const std::string& name, const Value& value,
                              std::uint32_t* index) const {
  std::vector<std::string> names;
  for (const model::Parameter& parameter : model_.parameters) names.push_back(parameter.name);
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) {
    return "the XML declares no parameter \"" + name + "\"" + did_you_mean(name, names);
  }
  *index = static_cast<std::uint32_t>(found - names.begin());
  if (const model::Layout* layout = layout_that_uses(model_, *index)) {
    return "parameter \"" + name + "\" is used by layout \"" + layout->name +
           "\": only the simulation sets it";
  }
  if (const model::Mesh* mesh = model::mesh_that_uses(model_, *index)) {
    return "parameter \"" + name + "\" says where mesh \"" + mesh->name +
           "\" lies: only the simulation sets it";
  }
  std::string wrong_type = why_wrong_type(model_.parameters[*index], value);
  if (!wrong_type.empty() || !live_.empty()) return wrong_type;
  return "parameter \"" + name +
         "\": all ranks of this node have ended, nobody would see the value";
}

std::string Steering::set(const std::string& name, const Value& value, const std::string& who) {
  std::uint32_t index = 0;
  std::string refusal = why_not(name, value, &index);
  if (!refusal.empty()) return refusal;
  drop(index);
  parameters_[index].waiting = Request{value, who};
  ++waiting_;
  publish(index);
  return "";
}

void Steering::was_set(std::uint32_t index, const Value& value, std::int64_t iteration) {
  if (index >= parameters_.size()) return;
  Parameter& parameter = parameters_[index];
  if (iteration != parameter.own) parameter.is_own_in_a_row = iteration == parameter.own + 1;
  parameter.own = iteration;
  if (iteration >= parameter.effective) parameter.current = value;
}

void Steering::advance() {
  if (waiting_ == 0) return;
  for (std::uint32_t i = 0; i < parameters_.size(); ++i) {
    if (parameters_[i].waiting) publish(i);
  }
}

void Steering::client_gone(std::uint32_t client, std::int64_t iteration) {
  if (iteration <= kMostIterations) latest_of_gone_ = std::max(latest_of_gone_, iteration);
  live_.erase(std::remove(live_.begin(), live_.end(), client), live_.end());
  if (!live_.empty()) return;
  for (std::uint32_t i = 0; i < parameters_.size(); ++i) drop(i);
}

std::vector<AuditEntry> Steering::take_audit() { return std::exchange(audit_, {}); }

std::optional<std::uint32_t> Steering::index_of(const std::string& parameter) const {
  for (std::uint32_t i = 0; i < model_.parameters.size(); ++i)
    if (model_.parameters[i].name == parameter) return i;
  return std::nullopt;
}

std::string Steering::why_not(const std::string& parameter, const Value& value) const {
  std::uint32_t index = 0;
  return why_not(parameter, value, &index);
}

bool Steering::propose(const std::string& name, const Value& value, std::int64_t effective,
                       std::int64_t margin) {
  const std::optional<std::uint32_t> index = index_of(name);
  if (!index || !why_not(name, value).empty()) return live_.empty();
  Parameter& parameter = parameters_[*index];
  if (parameter.effective >= 0 && earliest_iteration() <= parameter.effective) return false;
  writer_.propose(*index, effective, slot_value(value, model_.parameters[*index].kind));
  parameter.is_proposed = latest_iteration() + margin < effective;
  if (!parameter.is_proposed) writer_.withdraw(*index);
  return parameter.is_proposed;
}

bool Steering::commit(const std::string& name, const Value& value, std::int64_t effective,
                      const std::string& who) {
  const std::optional<std::uint32_t> index = index_of(name);
  if (!index || live_.empty()) return true;
  const bool was_proposed = std::exchange(parameters_[*index].is_proposed, false);
  if (!was_proposed || !writer_.commit(*index)) return false;
  took_effect(*index, effective, {value, who});
  return true;
}

void Steering::withdraw(const std::string& name) {
  const std::optional<std::uint32_t> index = index_of(name);
  if (index && std::exchange(parameters_[*index].is_proposed, false)) writer_.withdraw(*index);
}

// Each live client has looked at the slot in iteration `effective` when it is in a later one.
void Steering::publish(std::uint32_t index) {
  const Parameter& parameter = parameters_[index];
  if (parameter.is_proposed) return;
  if (parameter.effective >= 0 && earliest_iteration() <= parameter.effective) return;
  const shm::SteeredValue value =
      slot_value(parameter.waiting->value, model_.parameters[index].kind);
  for (std::int64_t lead = kFirstLead; lead <= kLastLead; lead *= 2) {
    const std::int64_t effective = 1 + lead + latest_iteration();
    writer_.propose(index, effective, value);
    if (latest_iteration() < effective && writer_.commit(index)) {
      --waiting_;
      return took_effect(index, effective,
                         *std::exchange(parameters_[index].waiting, std::nullopt));
    }
    writer_.withdraw(index);
  }
}

void Steering::took_effect(std::uint32_t index, std::int64_t effective, const Request& request) {
  Parameter& parameter = parameters_[index];
  parameter.effective = effective;
  const Value old = std::exchange(parameter.current, request.value);
  audit_.push_back({model_.parameters[index].name, text_of(old), text_of(request.value), effective,
                    request.who, parameter.is_own_in_a_row && parameter.own >= ended_});
}

void Steering::drop(std::uint32_t index) {
  Parameter& parameter = parameters_[index];
  if (!parameter.waiting) return;
  Request request = *std::exchange(parameter.waiting, std::nullopt);
  --waiting_;
  audit_.push_back({model_.parameters[index].name, text_of(parameter.current),
                    text_of(request.value), AuditEntry::kNever, std::move(request.who)});
}

// Numbers that make no sense are those of a client whose memory is corrupt; it has no say.
std::int64_t Steering::latest_iteration() const noexcept {
  std::int64_t latest = latest_of_gone_;
  for (const std::uint32_t client : live_) {
    const std::int64_t at = segment_.client(client).client->iteration.load();
    if (at <= kMostIterations) latest = std::max(latest, at);
  }
  return latest;
}

std::int64_t Steering::earliest_iteration() const noexcept {
  std::int64_t earliest = std::numeric_limits<std::int64_t>::max();
  for (const std::uint32_t client : live_) {
    const std::int64_t at = segment_.client(client).client->iteration.load();
    if (at >= 0 && at <= kMostIterations) earliest = std::min(earliest, at);
  }
  return earliest;
}

}  // namespace leat::server
