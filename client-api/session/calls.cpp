// SPDX-License-Identifier: Apache-2.0
#include "client-api/session/calls.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "client-api/session/several.hpp"
#include "lib/base/text.hpp"
#include "lib/os/clock.hpp"

namespace leat::client {
namespace {

using os::WaitBudget;
using shm::EventKind;

const char* kind_name(std::uint32_t kind) {
  return kind == kInteger ? "int" : kind == kReal ? "double" : "string";
}

}  // namespace

ParameterCalls::ParameterCalls(std::uint32_t client, Channel& channel, VariableTable& variables,
                               Failures& failures)
    : channel_(channel),
      variables_(variables),
      failures_(failures),
      parameters_(shm::Catalogue(channel.segment()), variables.config()),
      steering_(channel.segment(), client) {}

bool ParameterCalls::find(const Call& call, const char* name, std::uint32_t* index,
                          Status* status) {
  if (!name) {
    *status =
        failures_.complain(call, {Status::ERROR_ARGUMENT, "the parameter's name is NULL"}, "");
    return false;
  }
  const std::int64_t found = parameters_.find(name);
  *index = static_cast<std::uint32_t>(found);
  if (found < 0) *status = failures_.complain(call, parameters_.unknown(name), name);
  return found >= 0;
}

Status ParameterCalls::wrong_kind(const Call& call, std::uint32_t parameter, const char* verb) {
  const std::string& name = parameters_.name(parameter);
  const std::string declared = kind_name(parameters_.kind(parameter));
  return failures_.complain(
      call,
      {Status::ERROR_TYPE, "parameter \"" + name + "\" is declared " + declared + " in " +
                               variables_.config() + ": use leat_" + verb + "_" + declared},
      name);
}

bool ParameterCalls::find_to_set(const Call& call, const char* name, std::uint32_t kind,
                                 std::uint32_t* index, Status* status) {
  if (!find(call, name, index, status)) return false;
  if (parameters_.kind(*index) == kind) return true;
  *status = wrong_kind(call, *index, "set");
  return false;
}

bool ParameterCalls::find_to_get(const Call& call, const char* name, const void* value,
                                 std::uint32_t kind, std::uint32_t* index, Status* status) {
  if (!find(call, name, index, status)) return false;
  const std::uint32_t declared = parameters_.kind(*index);
  if (declared != kind && !(declared == kInteger && kind == kReal)) {
    *status = wrong_kind(call, *index, "get");
    return false;
  }
  if (!value) {
    *status =
        failures_.complain(call, {Status::ERROR_ARGUMENT, "the pointer to fill is NULL"}, name);
    return false;
  }
  if (is_set(parameters_.value(*index))) return true;
  *status = failures_.complain(
      call,
      {Status::ERROR_STATE, "parameter \"" + std::string(name) +
                                "\" has no value yet: give it one in " + variables_.config() +
                                ", or call leat_set_" + kind_name(declared) + " first"},
      name);
  return false;
}

Status ParameterCalls::push(const Call& call, EventKind kind, std::uint32_t parameter,
                            std::uint64_t bits) {
  shm::Event event = channel_.event_of(kind);
  event.subject = parameter;
  event.token = bits;
  WaitBudget budget = channel_.budget();
  return not_taken_yet(call, channel_.tell(call.lock, budget, event));
}

// It is known here, and the server learns it in its turn.
Status ParameterCalls::not_taken_yet(const Call& call, Status status) {
  if (status == Status::OK) return status;
  const bool is_gone = status == Status::ERROR_SERVER;
  return failures_.complain(
      call,
      {status, is_gone ? channel_.server().why_gone()
                       : "the server has not taken events for too long; the value holds, and is "
                         "sent as soon as it does"},
      "");
}

Status ParameterCalls::set_integer(const Call& call, const char* name, std::int64_t value) {
  std::uint32_t parameter = 0;
  Status status = Status::OK;
  if (!find_to_set(call, name, kInteger, &parameter, &status)) return status;
  const Result<void> allowed = variables_.set_integer(parameter, value);
  if (!allowed) return failures_.complain(call, allowed.error(), name);
  parameters_.set(parameter, value);
  return push(call, EventKind::set_integer, parameter, static_cast<std::uint64_t>(value));
}

template <class Values, class Set>
Status ParameterCalls::set_each(const Call& call, const char* names, const Values& values,
                                Set set) {
  const auto refuse = [&](std::string why) {
    return failures_.complain(call, {Status::ERROR_ARGUMENT, std::move(why)}, names ? names : "");
  };
  if (!names || !values.numbers)
    return refuse(!names ? "the parameters' names are NULL" : "the values are NULL");
  const std::vector<std::string> all = names_in(names);
  const std::size_t given = values.count < 0 ? all.size() : static_cast<std::size_t>(values.count);
  const std::string refused = why_not_each(names, all, "parameter", given, "value");
  if (!refused.empty()) return refuse(refused);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Status status = (this->*set)(call, all[i].c_str(), values.numbers[i]);
    if (status != Status::OK) return status;
  }
  return Status::OK;
}

Status ParameterCalls::set_integers(const Call& call, const char* names, const NumberList& values) {
  return set_each(call, names, values, &ParameterCalls::set_integer);
}

Status ParameterCalls::set_reals(const Call& call, const char* names, const RealList& values) {
  return set_each(call, names, values, &ParameterCalls::set_real);
}

Status ParameterCalls::set_real(const Call& call, const char* name, double value) {
  std::uint32_t parameter = 0;
  Status status = Status::OK;
  if (!find_to_set(call, name, kReal, &parameter, &status)) return status;
  parameters_.set(parameter, value);
  return push(call, EventKind::set_real, parameter, std::bit_cast<std::uint64_t>(value));
}

Status ParameterCalls::set_text(const Call& call, const char* name, const std::string& value) {
  std::uint32_t parameter = 0;
  Status status = Status::OK;
  if (!find_to_set(call, name, kText, &parameter, &status)) return status;
  parameters_.set(parameter, value);
  WaitBudget budget = channel_.budget();
  std::uint64_t offset = 0;
  status = channel_.reserve(call.lock, budget, value.size(), kNoIteration, &offset);
  if (status == Status::DROPPED) {  // the value stays: memory of the iteration has come back now
    status = channel_.reserve(call.lock, budget, value.size(), kNoIteration, &offset);
  }
  if (status == Status::DROPPED) status = Status::ERROR_FULL;
  if (status != Status::OK) {
    return failures_.complain(call, {status, "no room in the segment for the value"}, name);
  }
  std::memcpy(channel_.segment().at<char>(offset + sizeof(shm::BlockHeader)), value.data(),
              value.size());
  shm::Event event = channel_.event_of(EventKind::set_text);
  event.subject = parameter;
  event.offset = offset;
  event.bytes = sizeof(shm::BlockHeader) + value.size();
  return not_taken_yet(call, channel_.tell(call.lock, budget, event));
}

Status ParameterCalls::restore(const Call& call, const std::string& name,
                               const ParameterValue& value) {
  const std::int64_t found = parameters_.find(name);
  if (found < 0) return Status::OK;
  const auto parameter = static_cast<std::uint32_t>(found);
  if (parameters_.kind(parameter) != value.index() || is_set(parameters_.value(parameter)))
    return Status::OK;
  switch (parameters_.kind(parameter)) {
    case kInteger:
      return set_integer(call, name.c_str(), as_integer(value));
    case kReal:
      return set_real(call, name.c_str(), as_real(value));
    default:
      return set_text(call, name.c_str(), std::string(as_text(value)));
  }
}

void ParameterCalls::enter(std::int64_t iteration) {
  steering_.enter(iteration, [this](std::uint32_t parameter, const shm::SteeredValue& value) {
    parameters_.set_steered(parameter, value);
    if (tell_steered_) tell_steered_(parameters_.name(parameter), parameters_.value(parameter));
  });
}

Status ParameterCalls::get_integer(const Call& call, const char* name, std::int64_t* value) {
  std::uint32_t parameter = 0;
  Status status = Status::OK;
  if (!find_to_get(call, name, value, kInteger, &parameter, &status)) return status;
  *value = as_integer(parameters_.value(parameter));
  return Status::OK;
}

Status ParameterCalls::get_real(const Call& call, const char* name, double* value) {
  std::uint32_t parameter = 0;
  Status status = Status::OK;
  if (!find_to_get(call, name, value, kReal, &parameter, &status)) return status;
  *value = as_real(parameters_.value(parameter));
  return Status::OK;
}

Status ParameterCalls::get_text(const Call& call, const char* name, char* text, std::uint64_t size,
                                std::uint64_t* needed) {
  std::uint32_t parameter = 0;
  Status status = Status::OK;
  const bool only_asks = size == 0 && needed;
  const void* place = only_asks ? static_cast<const void*>(needed) : text;
  if (!find_to_get(call, name, place, kText, &parameter, &status)) return status;
  const std::string_view value = as_text(parameters_.value(parameter));
  const std::uint64_t bytes = value.size() + 1;
  if (needed) *needed = bytes;
  if (only_asks) return Status::OK;
  if (size >= bytes) {
    std::memcpy(text, value.data(), bytes);  // with the 0 behind it
    return Status::OK;
  }
  return failures_.complain(
      call,
      {Status::ERROR_ARGUMENT,
       "the value of \"" + std::string(name) + "\" needs " + std::to_string(bytes) +
           " bytes with its ending zero, the text given has " + std::to_string(size)},
      name);
}

namespace {

Error refused(std::string message) { return {Status::ERROR_ARGUMENT, std::move(message)}; }

}  // namespace

MeshCalls::MeshCalls(const shm::Catalogue& catalogue, VariableTable& variables, Failures& failures)
    : catalogue_(catalogue), variables_(variables), failures_(failures) {
  const auto records = catalogue_.variables();
  for (const shm::MeshRecord& mesh : catalogue_.meshes()) {
    if (mesh.is_amr == 0) continue;
    meshes_.push_back(
        {catalogue_.text(mesh.name), catalogue_.text(mesh.where), mesh.dims, mesh.levels, {}});
    for (std::uint32_t i = 0; i < records.size(); ++i) {
      if (catalogue_.amr_mesh_of(records[i]) == &mesh) meshes_.back().variables.push_back(i);
    }
  }
}

const MeshCalls::AmrMesh* MeshCalls::find(std::string_view name) const noexcept {
  const auto found = std::find_if(meshes_.begin(), meshes_.end(),
                                  [name](const AmrMesh& mesh) { return mesh.name == name; });
  return found == meshes_.end() ? nullptr : &*found;
}

Error MeshCalls::not_found(std::string_view name) const {
  std::vector<std::string> names;
  for (const shm::MeshRecord& mesh : catalogue_.meshes()) {
    names.emplace_back(catalogue_.text(mesh.name));
    if (names.back() == name)
      return refused("mesh \"" + names.back() + "\" (" + std::string(catalogue_.text(mesh.where)) +
                     ") has no levels: those of type=\"amr\" have");
  }
  return {Status::ERROR_UNKNOWN_NAME, variables_.config() + " declares no mesh \"" +
                                          std::string(name) + "\"" + did_you_mean(name, names)};
}

Error MeshCalls::refuses(const AmrMesh& mesh, std::uint32_t block, std::int32_t level,
                         const NumberList& position) const {
  const std::string title =
      "mesh \"" + std::string(mesh.name) + "\" (" + std::string(mesh.where) + ")";
  if (block > kMostBlock)
    return refused("block " + std::to_string(block) + ": numbers of blocks end at " +
                   std::to_string(kMostBlock));
  const std::int32_t most = mesh.levels > 0 ? mesh.levels : kMaxLevels;
  if (level < 0 || level >= most)
    return refused(title + " has no level " + std::to_string(level) + ": levels count from 0 to " +
                   std::to_string(most - 1) +
                   (mesh.levels > 0 ? ", as levels=\"" + std::to_string(most) + "\" says" : ""));
  if (position.count != NumberList::kAsMany && position.count != mesh.dims)
    return refused(title + " has " + std::to_string(mesh.dims) +
                   (mesh.dims == 1 ? " dimension" : " dimensions") + ", and the position has " +
                   std::to_string(position.count));
  if (!position.numbers) return refused("the numbers are NULL");
  const auto is_far = [](std::int64_t at) { return at < -shm::kFurthest || at > shm::kFurthest; };
  if (std::any_of(position.numbers, position.numbers + mesh.dims, is_far))
    return refused(title + ": the position has a number beyond 2^62");
  return {Status::OK, ""};
}

Status MeshCalls::set_level(const Call& call, const char* name, std::uint32_t block,
                            std::int32_t level, const NumberList& position) {
  if (!name) return failures_.complain(call, refused("the mesh's name is NULL"), "");
  const AmrMesh* const mesh = find(name);
  if (!mesh) return failures_.complain(call, not_found(name), name);
  const Error why = refuses(*mesh, block, level, position);
  if (why.status != Status::OK) return failures_.complain(call, why, name);
  std::array<std::int64_t, kMaxDims> at{};
  std::copy_n(position.numbers, mesh->dims, at.begin());
  if (position.column_major) std::reverse(at.begin(), at.begin() + mesh->dims);
  for (const std::uint32_t variable : mesh->variables)
    variables_.set_level(variable, block, level, at);
  return Status::OK;
}

SignalCalls::SignalCalls(Channel& channel, const std::string& config, Failures& failures)
    : channel_(channel), config_(config), failures_(failures) {
  const shm::Catalogue catalogue(channel.segment());
  for (const shm::SignalRecord& each : catalogue.signals())
    events_.emplace(catalogue.text(each.name), static_cast<std::uint32_t>(events_.size()));
}

Error SignalCalls::unknown(std::string_view name) const {
  std::vector<std::string> names;
  for (const auto& [known, number] : events_) names.emplace_back(known);
  return {Status::ERROR_UNKNOWN_NAME,
          config_ + " declares no event \"" + std::string(name) + "\"" + did_you_mean(name, names) +
              (names.empty() ? ": <actions><event name=\"...\"/></actions> does" : "")};
}

Status SignalCalls::not_taken(const Call& call, Status status, const std::string& name) {
  if (status == Status::OK) return status;
  if (status == Status::ERROR_SERVER)
    return failures_.complain(call, {status, channel_.server().why_gone()}, "");
  return failures_.complain(
      call,
      {Status::ERROR_TIMEOUT, "the server has not taken events for too long; \"" + name +
                                  "\" was not signalled, and nothing of it is known to it"},
      name);
}

Status SignalCalls::signal(const Call& call, const char* event) {
  if (!event)
    return failures_.complain(call, {Status::ERROR_ARGUMENT, "the event's name is NULL"}, "");
  const auto found = events_.find(event);
  if (found == events_.end()) return failures_.complain(call, unknown(event), event);
  shm::Event said = channel_.event_of(shm::EventKind::signal);
  said.subject = found->second;
  os::WaitBudget budget = channel_.budget();
  const Status status = channel_.push(call.lock, budget, said);
  if (status == Status::OK) any_since_end_ = true;
  return not_taken(call, status, event);
}

void Collectives::passed(std::int64_t ranks) noexcept {
  if (ranks != 0 && ranks != ranks_) return;
  lane_.collective_ns.store(os::now_ns(), std::memory_order_relaxed);
  // Against one that looks and then sleeps: either it sees the number, or we see that it waits.
  lane_.collectives.store(lane_.collectives.load(std::memory_order_relaxed) + 1,
                          std::memory_order_seq_cst);
  if (server_.coordinated.load(std::memory_order_seq_cst) > 0)
    os::futex_wake_all(lane_.collectives);
}

void Collectives::iteration_ends(std::int64_t iteration) noexcept {
  const std::uint32_t count = lane_.collectives.load(std::memory_order_relaxed);
  if (count == 0) return;
  shm::EndRecord& record = lane_.ended[static_cast<std::uint64_t>(iteration) % shm::kEndRecords];
  record.iteration.store(0, std::memory_order_seq_cst);
  record.collectives.store(count, std::memory_order_seq_cst);
  record.iteration.store(iteration + 1, std::memory_order_seq_cst);
}

namespace {

// Others take a core within microseconds, and what they leave behind in the caches is gone again in
// some hundred.
constexpr std::int64_t kWorthNs = 1'000'000;

// The one writer of the word.
void add(std::atomic<std::uint64_t>* word, std::uint64_t more) noexcept {
  word->store(word->load(std::memory_order_relaxed) + more, std::memory_order_relaxed);
}

}  // namespace

bool IdlePhases::Site::is_worth_it() const noexcept {
  return phases > 0 && ns >= kWorthNs * static_cast<std::int64_t>(phases);
}

// By its hash alone: two sites that share one are as good as one site.
IdlePhases::Site& IdlePhases::site_of(std::string_view name) noexcept {
  const std::uint64_t hash = std::hash<std::string_view>()(name) | 1;
  for (std::size_t i = 0; i < kSites - 1; ++i) {
    Site& site = sites_[(hash + i) % (kSites - 1)];
    if (site.name == hash) return site;
    if (site.name != 0) continue;
    site.name = hash;
    return site;
  }
  return sites_[kSites - 1];
}

void IdlePhases::begin(std::string_view site) noexcept {
  if (depth_++ > 0) return;
  current_ = &site_of(site);
  begun_ns_ = os::now_ns();
  is_told_ = current_->is_worth_it();
  if (!is_told_) return;
  // Against one that looks and then sleeps: either it sees the phase, or we see that it has work.
  lane_.idle_phase.store(lane_.idle_phase.load(std::memory_order_relaxed) + 1,
                         std::memory_order_seq_cst);
  if (server_.harvesters.load(std::memory_order_seq_cst) > 0) os::futex_wake_all(lane_.idle_phase);
}

void IdlePhases::end() noexcept {
  if (depth_ == 0 || --depth_ > 0) return;
  if (is_told_)
    lane_.idle_phase.store(lane_.idle_phase.load(std::memory_order_relaxed) + 1,
                           std::memory_order_release);
  const std::int64_t ended_ns = os::now_ns(), ns = ended_ns - begun_ns_;
  channel_.tell_span(shm::SpanKind::idle, channel_.iteration(), begun_ns_, ended_ns);
  const bool was_known = current_->phases > 0;
  ++current_->phases;
  current_->ns += ns;
  add(&lane_.idle_ns, static_cast<std::uint64_t>(ns));
  add(&lane_.idle_phases, 1);
  if (!is_told_) add(&lane_.left_alone, 1);
  if (was_known && is_told_ != (ns >= kWorthNs)) add(&lane_.mispredicted, 1);
}

}  // namespace leat::client
