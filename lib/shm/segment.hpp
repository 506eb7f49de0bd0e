// SPDX-License-Identifier: Apache-2.0
// The mapped segment: made and owned by the server, attached by clients.
#pragma once

#include <boost/interprocess/mapped_region.hpp>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/status.hpp"
#include "lib/node/runtime_folder.hpp"
#include "lib/os/descriptor.hpp"
#include "lib/os/file_lock.hpp"
#include "lib/shm/layout.hpp"

namespace leat::shm {

// The mapped segment: made and owned by the server, attached by clients.

/// What a new segment is to hold.
struct SegmentPlan {
  std::uint32_t clients = 1;
  std::uint64_t data_bytes = 0;
  std::uint64_t timeout_ns = 0;
  std::uint64_t catalogue_bytes = 0;
  std::string run_text{};        ///< encode(RunText)
  std::uint32_t parameters = 0;  ///< each can be steered
  std::uint32_t stores = 0;
  bool checksums = false;
  bool traced = false;
  OverflowPolicy overflow_policy = OverflowPolicy::wait;
  UndeclaredArrays undeclared = UndeclaredArrays::warn;
  Synchronous synchronous = Synchronous::no;
  std::uint64_t config_hash = 0;
  std::uint32_t event_slots = 4096;
  std::uint32_t release_slots = 1024;
};

/// The lanes and rings of one client.
struct ClientArea {
  ClientLane* client;
  ServerLane* server;
  Event* events;
  std::span<OfferSlot, kOffers> offers;
  Release* releases;
};

/// What the server steers; one slot per parameter.
struct SteeringArea {
  SteeringHeader* header;
  std::span<SteeringSlot> slots;
};

class Segment {
 public:
  /// Makes, sizes and maps a new segment, and shares its lock as long as it has it mapped: by that
  /// others see that it is in use. `before_touch`, when given, is called with the mapping before
  /// any page is taken: the place to bind it to a memory node. ERROR_MEMORY when the machine has
  /// too little shared memory. The memory of its data is yet to be taken: see take().
  static Result<Segment> create(const std::string& name, const SegmentPlan& plan,
                                void (*before_touch)(void* address, std::size_t bytes,
                                                     void* context) = nullptr,
                                void* context = nullptr);
  /// Maps an existing segment, and shares its lock: it counts as in use as long as anybody has it
  /// mapped. ERROR_VERSION names both versions when they differ.
  static Result<Segment> attach(const std::string& name);
  /// The same with its lock, which the caller has for itself alone: nobody else has it mapped.
  static Result<Segment> attach(const std::string& name, os::UniqueFd lock);
  /// Maps an existing segment for reading: nobody notices, no lock is taken, and it does not count
  /// as in use. What is read changes meanwhile, and nothing may be written.
  static Result<Segment> look(const std::string& name);
  /// The same mapping once more, for a client in the process of its server; it holds no lock.
  Segment share() const { return Segment(*this, {}); }
  /// Whether its server lives, in whatever container: it holds a lock of its own on the file from
  /// the segment's first moment.
  bool has_server() const noexcept { return os::byte_is_locked(lock_, node::kServerByte); }
  /// One of any version, the making of which was not cut short.
  static bool is_finished(const std::string& name) noexcept;
  /// Lets others see, by client_is_there, that this process lives, until it ends.
  /// A child that it forks does not count.
  bool be_client(std::uint32_t index) const noexcept {
    return os::lock_byte_for_process(lock_, index);
  }
  /// The same of a process that stands for several clients, with a mapping for each: a child that it forks counts, too, until
  /// it has another program.
  bool be_one_of_several(std::uint32_t index) const noexcept { return os::lock_byte(lock_, index); }
  /// In a child that was forked: what we hold of the segment is the parent's to hold.
  void close_in_child() noexcept { lock_.reset(); }
  bool client_is_there(std::uint32_t index) const noexcept {
    return os::byte_is_locked(lock_, index);
  }
  /// Takes the memory of a range of data for good: before that, a use of it is killed by SIGBUS
  /// when there is none. Changes nothing that is there already. 0, or the errno that says why not.
  /// From any thread.
  int take(std::uint64_t offset, std::uint64_t bytes) const noexcept;
  /// Takes the name away; mappings stay. No error when it is not there.
  static void remove(const std::string& name) noexcept;

  const SegmentHeader& header() const noexcept { return *at<SegmentHeader>(0); }
  ServerState& server_state() const noexcept { return *at<ServerState>(kServerStateOffset); }
  DropWords& drop_words() const noexcept { return *at<DropWords>(kDropWordsOffset); }
  ClientArea client(std::uint32_t index) const noexcept;
  SteeringArea steering() const noexcept;
  std::span<StoreWords> stores() const noexcept;
  /// One per unit of data.
  std::span<LeaseRecord> leases() const noexcept;
  /// As it was given to create().
  std::string_view run_text() const noexcept;
  const std::string& name() const noexcept { return name_; }
  /// Of the file that it is, for those who map it in their own way.
  std::string path() const { return path_of(name_); }

  /// The object at an offset; the caller has checked it against segment_bytes.
  template <class T>
  T* at(std::uint64_t offset) const noexcept {
    return reinterpret_cast<T*>(base() + offset);
  }
  std::uint64_t offset_of(const void* address) const noexcept {
    return static_cast<std::uint64_t>(static_cast<const char*>(address) - at<const char>(0));
  }

 private:
  static constexpr std::uint64_t kServerStateOffset = 192;
  static constexpr std::uint64_t kDropWordsOffset = 512;

  using Region = boost::interprocess::mapped_region;
  Segment(std::string name, Region region)
      : name_(std::move(name)),
        region_(std::make_shared<const Region>(std::move(region))),
        base_(static_cast<char*>(region_->get_address())) {}
  Segment(const Segment& other, os::UniqueFd lock)
      : name_(other.name_), region_(other.region_), base_(other.base_), lock_(std::move(lock)) {}
  static std::string path_of(const std::string& name) { return "/dev/shm/" + name; }
  char* base() const noexcept { return base_; }
  static Result<void> check(const SegmentHeader& header, std::uint64_t mapped);

  std::string name_;
  std::shared_ptr<const Region> region_;
  char* base_;
  os::UniqueFd lock_;  // shared with all that have it mapped
};

// What a client may write of the segment that it has attached. A wild pointer of its own code that
// hits anything else ends this client, at the line that wrote, instead of all that share the
// segment.

/// Takes from this process the right to write what the server or other clients write, by whole
/// pages: after it only this client's lane and events, the steering area and the data are left. Not
/// for the server.
Result<void> protect_from_client(const Segment& segment, std::uint32_t index);

}  // namespace leat::shm
