// SPDX-License-Identifier: Apache-2.0
#include "lib/shm/segment.hpp"

#include <algorithm>
#include <boost/interprocess/shared_memory_object.hpp>
#include <cerrno>
#include <cstring>
#include <new>

#include "lib/base/text.hpp"
#include "lib/os/memory.hpp"
#include "lib/os/process.hpp"

namespace leat::shm {
namespace {

namespace bip = boost::interprocess;

constexpr std::uint64_t kPage = 4096;
constexpr std::uint64_t kUnit = 64 << 10;
// Taken in one call, in which no other thread of the process can map or unmap anything.
constexpr std::uint64_t kAtOnce = 512 << 10;
constexpr std::uint64_t kMostCommonRegion = 512 << 10;
// A sweep that looks whether the segment is in use holds its lock for a moment.
constexpr std::int64_t kLockLimitNs = 5'000'000'000;

// Order in a client's area: its lane, the server's lane, event slots, offers, release slots.
std::uint64_t area_bytes(std::uint32_t events, std::uint32_t releases) {
  return round_up(sizeof(ClientLane) + sizeof(ServerLane) + events * sizeof(Event) +
                      kOffers * sizeof(OfferSlot) + releases * sizeof(Release),
                  kPage);
}

std::uint64_t steering_bytes(std::uint32_t parameters) {
  return round_up(sizeof(SteeringHeader) + parameters * sizeof(SteeringSlot), kPage);
}

// A sixteenth of each rank's share, so that the regions which ranks hold but do not fill are a
// small part of the whole.
std::uint64_t common_region(std::uint64_t data_bytes, std::uint32_t clients) {
  const std::uint64_t share = data_bytes / (16ull * clients) / kUnit * kUnit;
  return std::clamp(share, kUnit, kMostCommonRegion);
}

SegmentHeader lay_out(const SegmentPlan& plan) {
  SegmentHeader header{};
  header.magic = kMagic;
  header.version = kLayoutVersion;
  header.client_count = plan.clients;
  header.catalogue_offset = kPage;
  header.catalogue_bytes = plan.catalogue_bytes;
  header.run_offset = kPage + round_up(plan.catalogue_bytes, kPage);
  header.run_bytes = plan.run_text.size();
  header.steering_offset = header.run_offset + round_up(header.run_bytes, kPage);
  header.stores_offset = header.steering_offset + steering_bytes(plan.parameters);
  header.store_count = plan.stores;
  header.leases_offset = header.stores_offset + round_up(plan.stores * sizeof(StoreWords), kPage);
  header.lanes_offset =
      header.leases_offset +
      round_up(round_up(plan.data_bytes, kUnit) / kUnit * sizeof(LeaseRecord), kPage);
  header.lanes_stride = area_bytes(plan.event_slots, plan.release_slots);
  header.data_offset = round_up(header.lanes_offset + plan.clients * header.lanes_stride, kUnit);
  header.data_bytes = round_up(plan.data_bytes, kUnit);
  header.segment_bytes = header.data_offset + header.data_bytes;
  header.unit_bytes = kUnit;
  header.region_bytes = common_region(header.data_bytes, plan.clients);
  header.timeout_ns = plan.timeout_ns;
  header.event_slots = plan.event_slots;
  header.release_slots = plan.release_slots;
  header.checksums = plan.checksums;
  header.traced = plan.traced;
  header.overflow_policy = static_cast<std::uint32_t>(plan.overflow_policy);
  header.undeclared = static_cast<std::uint32_t>(plan.undeclared);
  header.synchronous = static_cast<std::uint32_t>(plan.synchronous);
  header.config_hash = plan.config_hash;
  return header;
}

Error system_error(const std::string& what, const bip::interprocess_exception& e) {
  const int code = e.get_native_error();
  return Error{Status::ERROR_SYSTEM, what + ": " + (code != 0 ? os::errno_text(code) : e.what())};
}

Error gone(const std::string& name) {
  return {Status::ERROR_SERVER, "the shared segment " + name + " is gone"};
}

}  // namespace

Result<Segment> Segment::create(const std::string& name, const SegmentPlan& plan,
                                void (*before_touch)(void*, std::size_t, void*), void* context) {
  const SegmentHeader header = lay_out(plan);
  Result<os::UniqueFd> lock = os::make_locked_file(path_of(name));
  if (!lock) return lock.error();
  if (!os::lock_byte(*lock, node::kServerByte)) {
    remove(name);
    return Error{Status::ERROR_SYSTEM, "cannot lock the segment " + name};
  }
  try {
    bip::shared_memory_object object(bip::open_only, name.c_str(), bip::read_write);
    object.truncate(static_cast<bip::offset_t>(header.segment_bytes));
    bip::mapped_region region(object, bip::read_write);
    if (before_touch) before_touch(region.get_address(), region.get_size(), context);
    const Result<void> reserved = os::reserve_shared_memory(
        object.get_mapping_handle().handle, header.segment_bytes, header.data_offset);
    if (!reserved) {
      remove(name);
      return reserved.error();
    }
    os::prefer_huge_pages(region.get_address(), region.get_size());
    os::populate(region.get_address(), header.data_offset);
    Segment segment(name, std::move(region));
    segment.lock_ = std::move(*lock);
    if (!os::share_lock(segment.lock_, kLockLimitNs)) {
      remove(name);
      return Error{Status::ERROR_SYSTEM, "cannot share the lock of the segment " + name};
    }
    // New pages are zero: counters start at 0, which is what the constructors of the atomics make
    // of them.
    auto* const state = new (segment.at<ServerState>(kServerStateOffset)) ServerState{};
    state->done_iteration = state->settled_iteration = -1;
    for (auto& word : (new (segment.at<DropWords>(kDropWordsOffset)) DropWords{})->number)
      word = -1;
    new (segment.at<SteeringHeader>(header.steering_offset)) SteeringHeader{};
    segment.at<SteeringHeader>(header.steering_offset)->slot_count = plan.parameters;
    plan.run_text.copy(segment.at<char>(header.run_offset), plan.run_text.size());
    *segment.at<SegmentHeader>(0) = header;
    for (StoreWords& store : segment.stores()) store.done = store.begun = -1;
    return segment;
  } catch (const bip::interprocess_exception& e) {
    remove(name);
    return system_error("cannot make the shared segment " + name, e);
  }
}

Result<void> Segment::check(const SegmentHeader& header, std::uint64_t mapped) {
  if (mapped < kPage || header.magic != kMagic) {
    return Error{Status::ERROR_VERSION, "the shared segment is not one of Leat's"};
  }
  if (header.version != kLayoutVersion) {
    return Error{
        Status::ERROR_VERSION,
        "the server's segment has layout version " + std::to_string(header.version) +
            ", this library has version " + std::to_string(kLayoutVersion) +
            ": use libleat and leatd of one Leat (LEAT_SERVER says which leatd is started)"};
  }
  if (header.segment_bytes > mapped) {
    return Error{Status::ERROR_VERSION, "the shared segment is shorter than its header says"};
  }
  return {};
}

Result<Segment> Segment::attach(const std::string& name) {
  return attach(name, os::shared_lock(path_of(name), kLockLimitNs));
}

Result<Segment> Segment::attach(const std::string& name, os::UniqueFd lock) {
  if (!lock) return gone(name);
  try {
    bip::shared_memory_object object(bip::open_only, name.c_str(), bip::read_write);
    bip::mapped_region region(object, bip::read_write);
    Segment segment(name, std::move(region));
    segment.lock_ = std::move(lock);
    const Result<void> ours = check(segment.header(), segment.region_->get_size());
    if (!ours) return ours.error();
    os::prefer_huge_pages(segment.base(), segment.region_->get_size());
    os::populate(segment.base(), segment.header().data_offset);
    return segment;
  } catch (const bip::interprocess_exception& e) {
    if (e.get_error_code() == bip::not_found_error) return gone(name);
    return system_error("cannot attach the shared segment " + name, e);
  }
}

Result<Segment> Segment::look(const std::string& name) {
  try {
    bip::shared_memory_object object(bip::open_only, name.c_str(), bip::read_only);
    bip::offset_t bytes = 0;
    if (!object.get_size(bytes) || bytes < static_cast<bip::offset_t>(kPage))
      return Error{Status::ERROR_STATE, "the shared segment " + name + " is just being made"};
    Segment segment(name, bip::mapped_region(object, bip::read_only));
    const Result<void> ours = check(segment.header(), segment.region_->get_size());
    if (!ours) return ours.error();
    return segment;
  } catch (const bip::interprocess_exception& e) {
    if (e.get_error_code() == bip::not_found_error) return gone(name);
    return system_error("cannot look into the shared segment " + name, e);
  }
}

bool Segment::is_finished(const std::string& name) noexcept {
  try {
    bip::shared_memory_object object(bip::open_only, name.c_str(), bip::read_only);
    bip::offset_t bytes = 0;
    if (!object.get_size(bytes) || bytes < static_cast<bip::offset_t>(kPage)) return false;
    const bip::mapped_region region(object, bip::read_only, 0, kPage);
    return static_cast<const SegmentHeader*>(region.get_address())->magic == kMagic;
  } catch (const bip::interprocess_exception&) {
    return false;
  }
}

int Segment::take(std::uint64_t offset, std::uint64_t bytes) const noexcept {
  for (std::uint64_t done = 0; done < bytes; done += kAtOnce) {
    const std::uint64_t step = std::min(kAtOnce, bytes - done);
    if (os::populate(base() + offset + done, step)) continue;
    const int code = os::take_shared_memory(lock_.get(), offset + done, step);
    if (code != 0) return code;
  }
  return 0;
}

void Segment::remove(const std::string& name) noexcept {
  bip::shared_memory_object::remove(name.c_str());
}

std::string_view Segment::run_text() const noexcept {
  const SegmentHeader& h = header();
  const bool inside =
      h.run_offset <= h.segment_bytes && h.run_bytes <= h.segment_bytes - h.run_offset;
  return inside ? std::string_view(at<char>(h.run_offset), h.run_bytes) : std::string_view();
}

SteeringArea Segment::steering() const noexcept {
  const std::uint64_t start = header().steering_offset, slots = start + sizeof(SteeringHeader);
  SteeringHeader* const head = at<SteeringHeader>(start);
  const std::uint64_t room = (header().stores_offset - slots) / sizeof(SteeringSlot);
  const std::size_t count = std::min<std::uint64_t>(head->slot_count, room);
  return {head, {at<SteeringSlot>(slots), count}};
}

std::span<StoreWords> Segment::stores() const noexcept {
  return {at<StoreWords>(header().stores_offset), header().store_count};
}

std::span<LeaseRecord> Segment::leases() const noexcept {
  return {at<LeaseRecord>(header().leases_offset), header().data_bytes / header().unit_bytes};
}

ClientArea Segment::client(std::uint32_t index) const noexcept {
  const SegmentHeader& h = header();
  const std::uint64_t start = h.lanes_offset + index * h.lanes_stride;
  const std::uint64_t events = start + sizeof(ClientLane) + sizeof(ServerLane);
  const std::uint64_t offers = events + h.event_slots * sizeof(Event);
  return ClientArea{at<ClientLane>(start), at<ServerLane>(start + sizeof(ClientLane)),
                    at<Event>(events),
                    std::span<OfferSlot, kOffers>(at<OfferSlot>(offers), kOffers),
                    at<Release>(offers + kOffers * sizeof(OfferSlot))};
}

Result<void> protect_from_client(const Segment& segment, std::uint32_t index) {
  const SegmentHeader& header = segment.header();
  const ClientArea own = segment.client(index);
  const auto protect = [&](std::uint64_t begin, char* end) {
    return os::make_read_only(segment.at<char>(begin), end);
  };
  const bool done = protect(0, segment.at<char>(header.steering_offset)) &&
                    protect(header.stores_offset, reinterpret_cast<char*>(own.client)) &&
                    os::make_read_only(reinterpret_cast<char*>(own.releases),
                                       segment.at<char>(header.data_offset));
  if (done) return {};
  return Error{Status::ERROR_SYSTEM, std::string("cannot make the shared segment read-only where "
                                                 "only its server writes: ") +
                                         std::strerror(errno)};
}

}  // namespace leat::shm
