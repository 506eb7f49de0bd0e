// SPDX-License-Identifier: Apache-2.0
// Every struct that lives in the segment. Offsets count from the start of the segment; nothing holds a pointer.
//
// Who writes what (each word has one writing process; "server" is leatd, "client" one rank):
//   SegmentHeader, catalogue, run text  server, before the first client attaches
//   ServerState, DropWords, StoreWords  server
//   LeaseRecords                      server
//   per client: ServerLane            server
//               ClientLane            client
//               event slots           client
//               offers                server; OfferSlot::decision both (leases.hpp says why)
//               release slots         server
//   SteeringHeader, SteeringSlots     server; SteeringSlot::decision all of them (steering.hpp says why)
//   data                              the client to which the region is leased
//
// A change of any struct here needs a new kLayoutVersion; tests/abi repeats the offsets by hand.
// docs/design/segment.md draws the bytes.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "lib/base/expression.hpp"
#include "lib/base/scalar.hpp"

namespace leat::shm {

inline constexpr std::uint64_t kMagic = 0x314745535441454cULL;  // "LEATSEG1" in memory
inline constexpr std::uint32_t kLayoutVersion = 19;
inline constexpr std::size_t kCacheLine = 64;

/// What becomes of a write for which there is no room.
enum class OverflowPolicy : std::uint32_t {
  wait = 0,        ///< it waits, until the timeout
  drop_iteration,  ///< iterations are left out, whole, on all ranks of the node
  spill,           ///< iterations that wait go to a disk
  error            ///< it fails at once
};

/// What becomes of an array under a name that the XML does not declare.
enum class UndeclaredArrays : std::uint32_t {
  warn = 0,  ///< it is not stored, and that is said once for each name
  ignore,    ///< it is not stored, and counted
  accept     ///< it is published as a product of its rank
};

/// Whether the end of an iteration waits for what wants it.
enum class Synchronous : std::uint32_t {
  no = 0,
  yes,
  unless_overlaps  ///< as ServerState::overlaps says, which may change at any time
};

struct SegmentHeader {
  std::uint64_t magic;
  std::uint32_t version;
  std::uint32_t client_count;
  std::uint64_t segment_bytes;
  std::uint64_t catalogue_offset;
  std::uint64_t catalogue_bytes;
  std::uint64_t lanes_offset;  ///< of client 0's block of lanes and rings
  std::uint64_t lanes_stride;  ///< from one client's to the next
  std::uint64_t data_offset;
  std::uint64_t data_bytes;
  std::uint64_t unit_bytes;    ///< regions start and end at multiples of this power of two
  std::uint64_t region_bytes;  ///< of a common region, from which small blocks are cut
  std::uint64_t timeout_ns;    ///< the longest that one client call may wait
  std::uint32_t event_slots;   ///< a power of two
  std::uint32_t release_slots; ///< a power of two
  std::int64_t server_pid;
  std::uint64_t steering_offset;  ///< of the SteeringHeader
  std::uint64_t leases_offset;    ///< of the LeaseRecords, one per unit of data
  std::uint64_t stores_offset;    ///< of the StoreWords, one per <store>
  std::uint32_t store_count;
  std::uint32_t checksums;    ///< 1: clients put a CRC-32C of their data into each BlockHeader
  std::uint32_t overflow_policy;    ///< OverflowPolicy
  std::uint32_t synchronous;  ///< Synchronous: whether the end of an iteration waits for stores, or for all
  std::uint64_t config_hash;  ///< of the XML's text: a server that takes over must have the same
  std::uint64_t run_offset;   ///< of the text that catalogue.hpp reads
  std::uint64_t run_bytes;
  std::uint32_t traced;       ///< 1: clients say how long writes took, and send spans
  std::uint32_t undeclared;   ///< UndeclaredArrays
};

/// Written by the server only.
struct ServerState {
  alignas(kCacheLine) std::atomic<std::uint32_t> sleeps;  ///< odd while it sleeps; each sleep has its own number
  std::atomic<std::uint32_t> naps;  ///< 1: it sleeps, and looks at the rings again by itself in a moment
  alignas(kCacheLine) std::atomic<std::uint64_t> progress;  ///< grows with all the server gets done
  std::atomic<std::uint64_t> last_lease;  ///< LeaseRecord::id that was given out last
  std::atomic<std::uint32_t> failovers;   ///< servers that have died in this session
  std::atomic<std::uint32_t> fruitless;   ///< of them, since the last that got an iteration done
  /// All iterations up to here have been through all stores. -1: none.
  alignas(kCacheLine) std::atomic<std::int64_t> done_iteration;
  std::atomic<std::int64_t> scripts_pending;  ///< 1 + the oldest that scripts have yet to do; 0: none
  /// When `synchronous`: what is waited for has all iterations up to here. -1: none.
  std::atomic<std::int64_t> settled_iteration;
  std::atomic<std::uint32_t> harvesters;  ///< plugins that have work for ClientLane::idle_phase
  std::atomic<std::uint32_t> coordinated;  ///< plugins that have work for ClientLane::collectives
  std::atomic<std::uint32_t> overlaps;  ///< 1: with Synchronous::unless_overlaps nothing is waited for now
  /// 1: nothing more of any client is taken, by order of whom `drained_by` says; for good.
  alignas(kCacheLine) std::atomic<std::uint32_t> is_drained;
  char drained_by[60];  ///< ends with a 0; not written any more once `is_drained` is 1
};

inline constexpr std::uint32_t kDropWords = 64;

/// Which iterations are left out, as when-full="drop-iteration" says. Written by the server, before
/// the memory of such an iteration is used for anything else. A client that finds the number of its
/// iteration here writes nothing of it. Word `number % kDropWords`: a later iteration takes the
/// place of an earlier one that all clients have ended; while they have not, the later one is not
/// said, and what clients write of it is let go when it comes.
struct DropWords {
  alignas(kCacheLine) std::atomic<std::int64_t> number[kDropWords];  ///< -1: none

  bool has(std::int64_t iteration) const noexcept {
    const auto word = static_cast<std::uint64_t>(iteration) % kDropWords;
    return number[word].load(std::memory_order_relaxed) == iteration;  // alone: orders nothing
  }
};

/// So many iterations that a store has left out are in the segment; before another one takes the
/// place of the oldest, that one is in the ledger.
inline constexpr std::size_t kSkippedKept = 13;

/// What a server that takes over must know of one <store>. Written by the server.
struct StoreWords {
  alignas(kCacheLine) std::atomic<std::int64_t> done;  ///< the last iteration it has, or has failed; -1: none
  std::atomic<std::int64_t> begun;   ///< the last that it was given
  std::atomic<std::uint32_t> tries;  ///< how often it was given that one
  std::atomic<std::uint32_t> crashes;  ///< how often the server crashed in it, with that one
  std::atomic<std::int64_t> skipped[kSkippedKept];  ///< the latest that it has left out, by turns: 1 + number
};

/// What a server that takes over must know of one client: where in its events it is. Written by the
/// server, into the one of two that ServerLane::record does not name.
struct ClientRecord {
  std::uint64_t events;    ///< taken since the start
  std::int64_t iteration;  ///< that it was in then
  std::uint32_t phase;     ///< ClientPhase
  std::int32_t rank;       ///< in the simulation
  std::uint64_t failed;    ///< of the writes that failed at the client, those that it has told of
};

enum class ClientPhase : std::uint32_t {
  absent = 0,
  attached,
  finalized,
  dead,
  cut_off  ///< by an order to drain: it may live, and nothing more of it is taken
};

/// At the first unit of each leased region. Written by the server.
struct LeaseRecord {
  std::atomic<std::uint64_t> id;  ///< never used twice in a session; 0: no region begins here
  std::uint64_t bytes;
  std::uint32_t client;
  std::uint32_t flags;  ///< LeaseFlags
  std::uint64_t reserved;
};

/// What a client had done when it ended an iteration.
struct EndRecord {
  std::atomic<std::int64_t> iteration;  ///< 1 + its number; 0: being written, or none
  std::atomic<std::uint32_t> collectives;
  std::uint32_t reserved;
};

inline constexpr std::uint32_t kEndRecords = 32;

/// Written by one client.
struct ClientLane {
  alignas(kCacheLine) std::atomic<std::uint64_t> event_tail;    ///< events pushed since the start
  alignas(kCacheLine) std::atomic<std::uint64_t> release_head;  ///< releases taken since the start
  std::atomic<std::uint32_t> waiting;  ///< 1: sleeps on ServerLane::wake, or is about to
  /// The iteration that the client is in. On a line of its own: the server reads it only when a
  /// value is steered, so that writing it costs the client no transfer of the line.
  alignas(kCacheLine) std::atomic<std::int64_t> iteration;
  /// Writes that failed since the start, those included of which no event has said so yet: when the
  /// client dies before that, the server knows how many there were.
  std::atomic<std::uint64_t> failed;
  /// A futex: odd while the client's cores have nothing to do, for long enough as far as it knows; each
  /// such phase has its own number.
  alignas(kCacheLine) std::atomic<std::uint32_t> idle_phase;
  std::uint32_t reserved;
  std::atomic<std::uint64_t> idle_ns;       ///< of all phases since the start, short ones too
  std::atomic<std::uint64_t> idle_phases;   ///< how many these were
  std::atomic<std::uint64_t> left_alone;    ///< of them, those in which idle_phase stayed even
  std::atomic<std::uint64_t> mispredicted;  ///< and those that were longer, or shorter, than expected
  /// A futex: collectives of all ranks of the run that the client has come out of. All ranks count alike.
  alignas(kCacheLine) std::atomic<std::uint32_t> collectives;
  std::uint32_t reserved_too;
  std::atomic<std::int64_t> collective_ns;  ///< when it came out of the last one, monotonic
  alignas(kCacheLine) EndRecord ended[kEndRecords];  ///< in `number % kEndRecords`; none before the first collective
};

/// Written by the server, for one client.
struct ServerLane {
  alignas(kCacheLine) std::atomic<std::uint64_t> event_head;    ///< events whose slots may be used again
  std::atomic<std::uint32_t> record;                            ///< which of `records` holds, 0 or 1
  alignas(kCacheLine) std::atomic<std::uint64_t> release_tail;  ///< releases pushed since the start
  std::atomic<std::uint32_t> wake;  ///< futex: changes with each push while the client waits
  alignas(kCacheLine) ClientRecord records[2];
};

enum class EventKind : std::uint32_t {
  // `iteration` of an event is the truth: a block is of that one, and its end is the end of all up to it. A client
  // sends them in order.
  block = 1,      ///< subject: variable; offset, bytes: its BlockHeader, header included
  end_iteration,  ///< of all up to `iteration`
  lease_request,  ///< bytes wanted; token names the answer; flags: LeaseFlags
  seal,           ///< offset: region; bytes: number of blocks cut from it, all that there will ever be; token: its lease's id
  set_integer,    ///< subject: parameter; token: the value
  set_real,       ///< subject: parameter; token: the bits of the value
  set_text,       ///< subject: parameter; offset, bytes: characters in a block of their own
  lost,           ///< writes that failed; subject: variable, kNoVariable, kUntoldVariable; block: how many; bytes: of them, 0 for unknown; token: the leat_status
  finalize,       ///< the last event of a client
  drop,           ///< the client has waited for memory in vain: its iteration is to be left out
  forgo,          ///< offset, bytes: a block that was cut from a region and will never be handed over
  signal,         ///< subject: event of the XML
  products,       ///< what somebody has published; subject: bytes of its head, which says what, in front of the data; offset, bytes as of a block
  span,           ///< of SegmentHeader::traced; subject: SpanKind; block: spans that found no room before it
  start_at        ///< the client is in `iteration` from now on: it has nothing in those between; its first one, where nothing came before
};

/// Of a write whose variable the XML does not have.
constexpr std::uint32_t kNoVariable = UINT32_MAX;
/// Of writes of which only the number is known.
constexpr std::uint32_t kUntoldVariable = UINT32_MAX - 1;
/// Of a BlockHeader in front of products, whose `block` is Event::subject then.
constexpr std::uint32_t kProducts = UINT32_MAX - 2;
/// Numbers of iterations are below this: what comes after one is a number too.
constexpr std::int64_t kMostIterations = std::int64_t{1} << 62;

/// What a client was at from `at_ns - inside_ns` to `at_ns`.
enum class SpanKind : std::uint32_t {
  buffer = 1,     ///< waited for space in the buffer
  ring,           ///< waited for room in its event ring
  settled,        ///< waited until its iteration was stored
  end_iteration,  ///< was in the call that ended `iteration`
  idle            ///< had nothing to do, by its own word
};

enum LeaseFlags : std::uint32_t {
  kLeaseCommon = 0,
  kLeaseOwn = 1,      ///< a region for one block only: free when that block is
  kLeaseAhead = 2     ///< nobody waits for it
};

struct Event {
  std::uint32_t kind;
  std::uint32_t flags;
  std::uint32_t subject;
  std::uint32_t block;
  std::int64_t iteration;
  std::uint64_t offset;
  std::uint64_t bytes;
  std::uint64_t token;
  // Of end_iteration; of span, and of block where SegmentHeader::traced, when it ended and how long it took:
  std::int64_t at_ns;       ///< when, on the monotonic clock; 0: not said
  std::uint64_t inside_ns;  ///< how long its calls took since the end before; short copies are not counted
};

enum class ReleaseKind : std::uint32_t {
  lease = 1,  ///< the region at offset, of `bytes`, is the client's now
  refused,    ///< the request `token` is not met; flags: RefusalReason; bytes: what is in use
  dropped     ///< nor is this one, since the iteration `offset` is left out
};

/// Why there is no memory; `offset` of the Release says of which iteration.
enum class RefusalReason : std::uint32_t {
  hopeless = 0,  ///< its own iteration holds all: nothing can ever free memory for it
  stores,        ///< stores have it
  scripts,       ///< scripts have it
  ranks          ///< another rank has not ended it
};

struct Release {
  std::uint32_t kind;
  std::uint32_t flags;
  std::uint64_t token;
  std::uint64_t offset;
  std::uint64_t bytes;
};

// ---- memory that the server gives before it is asked for; see leases.hpp ----

enum class OfferState : std::uint32_t { none = 0, offered, claimed, withdrawn };  // the last two are for good
inline constexpr std::uint32_t kOffers = 128;  ///< per client

struct OfferSlot {
  std::atomic<std::uint64_t> decision;  ///< offer's sequence * 4 + OfferState
  std::atomic<std::uint64_t> offset;    ///< of the region
  std::atomic<std::uint64_t> bytes;
  std::atomic<std::uint64_t> flags;  ///< LeaseFlags
};

inline constexpr std::int64_t kNoIteration = -1;  ///< of what is no array of an iteration

/// Among which cells a block has its position.
enum class Place : std::uint16_t {
  none = 0,
  in_global,  ///< of the global array of its layout
  in_level    ///< of a level of its amr mesh
};
/// No position is further from 0 than this: sums with extents are numbers too.
inline constexpr std::int64_t kFurthest = std::int64_t{1} << 62;

/// In front of each block's data, in the same region.
struct BlockHeader {
  std::uint32_t variable;
  std::uint32_t block;
  std::uint32_t dims;
  std::uint16_t place;  ///< Place
  std::uint16_t level;  ///< of Place::in_level
  std::uint64_t data_bytes;
  std::int64_t extent[kMaxDims];
  std::int64_t position[kMaxDims];
  std::int64_t iteration;      ///< or kNoIteration
  std::uint32_t checksum;      ///< CRC-32C of the data
  std::uint32_t has_checksum;
  std::uint64_t event;         ///< 1 + the number of the event that hands it over; 0: it is not written yet
  std::uint64_t lease;         ///< LeaseRecord::id of its region: written last, says that the rest holds
  std::uint64_t reserved;
};

// ---- steering: values that the server gives to parameters during the run; see steering.hpp ----

enum class SteeringState : std::uint32_t {
  none = 0,   ///< nothing yet, or fields that are being written
  proposed,   ///< effective from its iteration on if nobody is there yet
  committed,  ///< effective from its iteration on; for good
  withdrawn   ///< somebody was there already: never effective
};

inline constexpr std::uint32_t kMostSteeredText = 255;  ///< bytes; longer texts cannot be steered

/// One per parameter of the catalogue, in its order.
struct SteeringSlot {
  alignas(kCacheLine) std::atomic<std::uint64_t> decision;  ///< value's sequence * 4 + SteeringState
  std::atomic<std::int64_t> effective;    ///< the first iteration with this value
  std::atomic<std::uint32_t> text_bytes;  ///< 0 for numbers
  std::uint32_t reserved;
  std::atomic<std::uint64_t> value[32];  ///< [0]: the integer, or the bits of the real; or the text
};

struct SteeringHeader {
  alignas(kCacheLine) std::atomic<std::uint32_t> version;  ///< changes after each proposal
  std::uint32_t slot_count;
};

// ---- the catalogue: what the client must know of the XML ----

struct TextRef {
  std::uint32_t offset;  ///< into the catalogue's text
  std::uint32_t bytes;
};

struct ProgramRef {
  std::uint32_t first;  ///< of the catalogue's ops
  std::uint32_t count;
  TextRef text;  ///< as written in the XML
};

struct ParameterRecord {
  TextRef name;
  TextRef text;
  std::uint32_t kind;  ///< 1 integer, 2 real, 3 text
  std::uint32_t has_value;
  std::int64_t integer;
  double real;
};

struct DimensionRecord {
  TextRef name;
  ProgramRef extent;  ///< no ops of "?"
  ProgramRef global;  ///< no ops when the layout has no global shape
  ProgramRef position;  ///< of a rank's first block in the global array; no ops: calls say it
  std::int64_t ghost_low;
  std::int64_t ghost_high;
  std::uint32_t varying;
  std::uint32_t reserved;
};

struct LayoutRecord {
  TextRef name;
  TextRef where;  ///< "heat.xml:12"
  std::uint32_t type;  ///< ScalarType
  std::uint32_t first_dimension;
  std::uint32_t dims;
  std::uint32_t has_global;
};

enum VariableFlags : std::uint32_t {
  kShapeMayChange = 1,  ///< parameters that shape its layout may be set after a write, too
  kMadeByServer = 2,    ///< of others: no rank writes it
  kConstant = 4         ///< time-varying="false"
};

struct VariableRecord {
  TextRef name;
  TextRef where;
  std::uint32_t layout;
  std::uint32_t wanted_every;  ///< 0: nobody takes it; n: iterations that n divides are wanted
  std::uint32_t mesh;          ///< or kNoMesh
  std::uint32_t flags;         ///< VariableFlags
};
inline constexpr std::uint32_t kNoMesh = UINT32_MAX;

struct MeshRecord {
  TextRef name;
  TextRef where;
  std::uint32_t is_amr;
  std::uint32_t dims;
  std::int32_t levels;  ///< amr: how many there may be; 0: not known
  std::uint32_t reserved;
};

struct SignalRecord {
  TextRef name;  ///< of an <event>
};

/// From which checkpoint the run goes on: decided once, by its server.
struct RestartRecord {
  TextRef store;   ///< of type checkpoint; "": there is none
  TextRef folder;  ///< absolute
  TextRef copy;    ///< the second place, absolute, or ""
  TextRef why_none;
  std::int64_t iteration;  ///< -1: from none, as `why_none` says
  std::int64_t generation;
};

struct CatalogueHeader {
  std::uint32_t parameter_count, layout_count, dimension_count, variable_count;
  std::uint32_t op_count, text_bytes, mesh_count, signal_count;
  /// Offsets in the segment.
  std::uint64_t parameters, layouts, dimensions, variables, ops, text, meshes, signals, restart;
};

template <class T>
inline constexpr bool kSharable = std::is_standard_layout_v<T> && std::is_trivially_destructible_v<T>;

static_assert(std::atomic<std::uint32_t>::is_always_lock_free);
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);
static_assert(std::atomic<std::int64_t>::is_always_lock_free);
static_assert(kSharable<SegmentHeader> && sizeof(SegmentHeader) == 184);
static_assert(kSharable<ServerState> && sizeof(ServerState) == 256);
static_assert(kSharable<DropWords> && sizeof(DropWords) == 512);
static_assert(kSharable<StoreWords> && sizeof(StoreWords) == 128);
static_assert(kSharable<ClientRecord> && sizeof(ClientRecord) == 32);
static_assert(kSharable<LeaseRecord> && sizeof(LeaseRecord) == 32);
static_assert(kSharable<ClientLane> && sizeof(ClientLane) == 832);
static_assert(kSharable<ServerLane> && sizeof(ServerLane) == 192);
static_assert(kSharable<Event> && sizeof(Event) == 64, "one event, one cache line");
static_assert(kSharable<Release> && sizeof(Release) == 32);
static_assert(kSharable<OfferSlot> && sizeof(OfferSlot) == 32);
static_assert(kSharable<BlockHeader> && sizeof(BlockHeader) == 192);
static_assert(sizeof(BlockHeader) % kCacheLine == 0, "data behind the header stay aligned");
static_assert(kSharable<SteeringHeader> && sizeof(SteeringHeader) == 64);
static_assert(kSharable<SteeringSlot> && sizeof(SteeringSlot) == 320);
static_assert(kMostSteeredText < sizeof(SteeringSlot::value));
static_assert(kSharable<RestartRecord> && sizeof(RestartRecord) == 48);
static_assert(kSharable<CatalogueHeader> && sizeof(CatalogueHeader) == 104);

}  // namespace leat::shm
