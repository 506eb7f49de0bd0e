// SPDX-License-Identifier: Apache-2.0
// The bytes of the segment, written down by hand. When one of these fails, two builds of Leat no
// longer understand each other: give kLayoutVersion a new number, then change the numbers here and
// in docs/design/segment.md.
#include <gtest/gtest.h>

#include <cstddef>

#include "lib/os/cores.hpp"
#include "lib/shm/handshake.hpp"
#include "lib/shm/layout.hpp"

namespace leat::shm {
namespace {

#define EXPECT_AT(type, member, offset) EXPECT_EQ(offsetof(type, member), std::size_t{offset})

TEST(SegmentLayout, HasAVersion) {
  EXPECT_EQ(kLayoutVersion, 19u);
  EXPECT_EQ(kMagic, 0x314745535441454cULL);
}

TEST(SegmentLayout, HeaderIsWhereEveryVersionLooksForMagicAndVersion) {
  EXPECT_AT(SegmentHeader, magic, 0);
  EXPECT_AT(SegmentHeader, version, 8);
  EXPECT_AT(SegmentHeader, client_count, 12);
  EXPECT_AT(SegmentHeader, segment_bytes, 16);
  EXPECT_AT(SegmentHeader, catalogue_offset, 24);
  EXPECT_AT(SegmentHeader, catalogue_bytes, 32);
  EXPECT_AT(SegmentHeader, lanes_offset, 40);
  EXPECT_AT(SegmentHeader, lanes_stride, 48);
  EXPECT_AT(SegmentHeader, data_offset, 56);
  EXPECT_AT(SegmentHeader, data_bytes, 64);
  EXPECT_AT(SegmentHeader, unit_bytes, 72);
  EXPECT_AT(SegmentHeader, region_bytes, 80);
  EXPECT_AT(SegmentHeader, timeout_ns, 88);
  EXPECT_AT(SegmentHeader, event_slots, 96);
  EXPECT_AT(SegmentHeader, release_slots, 100);
  EXPECT_AT(SegmentHeader, server_pid, 104);
  EXPECT_AT(SegmentHeader, steering_offset, 112);
  EXPECT_AT(SegmentHeader, leases_offset, 120);
  EXPECT_AT(SegmentHeader, stores_offset, 128);
  EXPECT_AT(SegmentHeader, store_count, 136);
  EXPECT_AT(SegmentHeader, checksums, 140);
  EXPECT_AT(SegmentHeader, overflow_policy, 144);
  EXPECT_AT(SegmentHeader, synchronous, 148);
  EXPECT_AT(SegmentHeader, config_hash, 152);
  EXPECT_AT(SegmentHeader, run_offset, 160);
  EXPECT_AT(SegmentHeader, run_bytes, 168);
  EXPECT_AT(SegmentHeader, traced, 176);
  EXPECT_AT(SegmentHeader, undeclared, 180);
  EXPECT_EQ(sizeof(SegmentHeader), 184u);
}

TEST(SegmentLayout, WordsOfDifferentWritersShareNoCacheLine) {
  EXPECT_AT(ServerState, sleeps, 0);
  EXPECT_AT(ServerState, naps, 4);
  EXPECT_AT(ServerState, progress, 64);
  EXPECT_AT(ServerState, last_lease, 72);
  EXPECT_AT(ServerState, failovers, 80);
  EXPECT_AT(ServerState, fruitless, 84);
  EXPECT_AT(ServerState, done_iteration, 128);
  EXPECT_AT(ServerState, scripts_pending, 136);
  EXPECT_AT(ServerState, settled_iteration, 144);
  EXPECT_AT(ServerState, harvesters, 152);
  EXPECT_AT(ServerState, coordinated, 156);
  EXPECT_AT(ServerState, overlaps, 160);
  EXPECT_AT(ServerState, is_drained, 192);
  EXPECT_AT(ServerState, drained_by, 196);
  EXPECT_EQ(sizeof(ServerState::drained_by), 60u);
  EXPECT_EQ(sizeof(ServerState), 256u);
  EXPECT_AT(ClientLane, event_tail, 0);
  EXPECT_AT(ClientLane, release_head, 64);
  EXPECT_AT(ClientLane, waiting, 72);
  EXPECT_AT(ClientLane, iteration, 128);
  EXPECT_AT(ClientLane, failed, 136);
  EXPECT_AT(ClientLane, idle_phase, 192);
  EXPECT_AT(ClientLane, idle_ns, 200);
  EXPECT_AT(ClientLane, idle_phases, 208);
  EXPECT_AT(ClientLane, left_alone, 216);
  EXPECT_AT(ClientLane, mispredicted, 224);
  EXPECT_AT(ClientLane, collectives, 256);
  EXPECT_AT(ClientLane, collective_ns, 264);
  EXPECT_AT(ClientLane, ended, 320);
  EXPECT_AT(EndRecord, iteration, 0);
  EXPECT_AT(EndRecord, collectives, 8);
  EXPECT_EQ(sizeof(EndRecord), 16u);
  EXPECT_EQ(sizeof(ClientLane), 832u);
  EXPECT_AT(ServerLane, event_head, 0);
  EXPECT_AT(ServerLane, release_tail, 64);
  EXPECT_AT(ServerLane, record, 8);
  EXPECT_AT(ServerLane, wake, 72);
  EXPECT_AT(ServerLane, records, 128);
  EXPECT_EQ(sizeof(ServerLane), 192u);
}

TEST(SegmentLayout, OffersHaveADecisionAndAnExtent) {
  EXPECT_AT(OfferSlot, decision, 0);
  EXPECT_AT(OfferSlot, offset, 8);
  EXPECT_AT(OfferSlot, bytes, 16);
  EXPECT_AT(OfferSlot, flags, 24);
  EXPECT_EQ(sizeof(OfferSlot), 32u);
  EXPECT_EQ(kOffers, 128u);
  EXPECT_EQ(static_cast<int>(OfferState::none), 0);
  EXPECT_EQ(static_cast<int>(OfferState::offered), 1);
  EXPECT_EQ(static_cast<int>(OfferState::claimed), 2);
  EXPECT_EQ(static_cast<int>(OfferState::withdrawn), 3);
}

TEST(SegmentLayout, DroppedIterationsHaveAWordEach) {
  EXPECT_AT(DropWords, number, 0);
  EXPECT_EQ(kDropWords, 64u);
  EXPECT_EQ(sizeof(DropWords), 512u);
  EXPECT_EQ(static_cast<int>(OverflowPolicy::wait), 0);
  EXPECT_EQ(static_cast<int>(OverflowPolicy::drop_iteration), 1);
  EXPECT_EQ(static_cast<int>(OverflowPolicy::spill), 2);
  EXPECT_EQ(static_cast<int>(OverflowPolicy::error), 3);
}

TEST(SegmentLayout, SteeringHasAVersionAndOneSlotPerParameter) {
  EXPECT_AT(SteeringHeader, version, 0);
  EXPECT_AT(SteeringHeader, slot_count, 4);
  EXPECT_EQ(sizeof(SteeringHeader), 64u);
  EXPECT_AT(SteeringSlot, decision, 0);
  EXPECT_AT(SteeringSlot, effective, 8);
  EXPECT_AT(SteeringSlot, text_bytes, 16);
  EXPECT_AT(SteeringSlot, reserved, 20);
  EXPECT_AT(SteeringSlot, value, 24);
  EXPECT_EQ(sizeof(SteeringSlot), 320u);
  EXPECT_EQ(kMostSteeredText, 255u);
  EXPECT_EQ(static_cast<int>(SteeringState::none), 0);
  EXPECT_EQ(static_cast<int>(SteeringState::proposed), 1);
  EXPECT_EQ(static_cast<int>(SteeringState::committed), 2);
  EXPECT_EQ(static_cast<int>(SteeringState::withdrawn), 3);
}

TEST(SegmentLayout, EventIsOneCacheLine) {
  EXPECT_AT(Event, kind, 0);
  EXPECT_AT(Event, flags, 4);
  EXPECT_AT(Event, subject, 8);
  EXPECT_AT(Event, block, 12);
  EXPECT_AT(Event, iteration, 16);
  EXPECT_AT(Event, offset, 24);
  EXPECT_AT(Event, bytes, 32);
  EXPECT_AT(Event, token, 40);
  EXPECT_EQ(sizeof(Event), 64u);
  EXPECT_EQ(static_cast<int>(EventKind::block), 1);
  EXPECT_EQ(static_cast<int>(EventKind::end_iteration), 2);
  EXPECT_EQ(static_cast<int>(EventKind::lease_request), 3);
  EXPECT_EQ(static_cast<int>(EventKind::seal), 4);
  EXPECT_EQ(static_cast<int>(EventKind::set_integer), 5);
  EXPECT_EQ(static_cast<int>(EventKind::set_real), 6);
  EXPECT_EQ(static_cast<int>(EventKind::set_text), 7);
  EXPECT_EQ(static_cast<int>(EventKind::lost), 8);
  EXPECT_EQ(static_cast<int>(EventKind::finalize), 9);
  EXPECT_EQ(static_cast<int>(EventKind::drop), 10);
  EXPECT_EQ(static_cast<int>(EventKind::forgo), 11);
  EXPECT_EQ(static_cast<int>(EventKind::signal), 12);
  EXPECT_EQ(static_cast<int>(EventKind::products), 13);
  EXPECT_EQ(kNoVariable, 0xffffffffu);
  EXPECT_EQ(kUntoldVariable, 0xfffffffeu);
  EXPECT_EQ(kProducts, 0xfffffffdu);
}

TEST(SegmentLayout, ReleaseIsHalfACacheLine) {
  EXPECT_AT(Release, kind, 0);
  EXPECT_AT(Release, flags, 4);
  EXPECT_AT(Release, token, 8);
  EXPECT_AT(Release, offset, 16);
  EXPECT_AT(Release, bytes, 24);
  EXPECT_EQ(sizeof(Release), 32u);
  EXPECT_EQ(static_cast<int>(ReleaseKind::lease), 1);
  EXPECT_EQ(static_cast<int>(ReleaseKind::refused), 2);
  EXPECT_EQ(static_cast<int>(ReleaseKind::dropped), 3);
  EXPECT_EQ(static_cast<int>(RefusalReason::hopeless), 0);
  EXPECT_EQ(static_cast<int>(RefusalReason::stores), 1);
  EXPECT_EQ(static_cast<int>(RefusalReason::scripts), 2);
  EXPECT_EQ(static_cast<int>(RefusalReason::ranks), 3);
}

TEST(SegmentLayout, WhatATakeoverNeedsIsWhereASuccessorLooks) {
  EXPECT_AT(StoreWords, done, 0);
  EXPECT_AT(StoreWords, begun, 8);
  EXPECT_AT(StoreWords, tries, 16);
  EXPECT_AT(StoreWords, crashes, 20);
  EXPECT_AT(StoreWords, skipped, 24);
  EXPECT_EQ(sizeof(StoreWords), 128u);
  EXPECT_AT(ClientRecord, events, 0);
  EXPECT_AT(ClientRecord, iteration, 8);
  EXPECT_AT(ClientRecord, phase, 16);
  EXPECT_AT(ClientRecord, rank, 20);
  EXPECT_AT(ClientRecord, failed, 24);
  EXPECT_EQ(sizeof(ClientRecord), 32u);
  EXPECT_EQ(static_cast<int>(ClientPhase::attached), 1);
  EXPECT_EQ(static_cast<int>(ClientPhase::finalized), 2);
  EXPECT_EQ(static_cast<int>(ClientPhase::dead), 3);
  EXPECT_EQ(static_cast<int>(ClientPhase::cut_off), 4);
  EXPECT_AT(LeaseRecord, id, 0);
  EXPECT_AT(LeaseRecord, bytes, 8);
  EXPECT_AT(LeaseRecord, client, 16);
  EXPECT_AT(LeaseRecord, flags, 20);
  EXPECT_EQ(sizeof(LeaseRecord), 32u);
}

TEST(SegmentLayout, BlockHeaderKeepsTheDataAligned) {
  EXPECT_AT(BlockHeader, variable, 0);
  EXPECT_AT(BlockHeader, block, 4);
  EXPECT_AT(BlockHeader, dims, 8);
  EXPECT_AT(BlockHeader, place, 12);
  EXPECT_AT(BlockHeader, level, 14);
  EXPECT_AT(BlockHeader, data_bytes, 16);
  EXPECT_AT(BlockHeader, extent, 24);
  EXPECT_AT(BlockHeader, position, 88);
  EXPECT_AT(BlockHeader, iteration, 152);
  EXPECT_AT(BlockHeader, checksum, 160);
  EXPECT_AT(BlockHeader, has_checksum, 164);
  EXPECT_AT(BlockHeader, event, 168);
  EXPECT_AT(BlockHeader, lease, 176);
  EXPECT_EQ(sizeof(BlockHeader), 192u);
}

TEST(SegmentLayout, CatalogueRecordsHaveTheseSizes) {
  EXPECT_EQ(sizeof(TextRef), 8u);
  EXPECT_EQ(sizeof(ProgramRef), 16u);
  EXPECT_EQ(sizeof(ParameterRecord), 40u);
  EXPECT_EQ(sizeof(DimensionRecord), 80u);
  EXPECT_EQ(sizeof(LayoutRecord), 32u);
  EXPECT_EQ(sizeof(VariableRecord), 32u);
  EXPECT_EQ(sizeof(MeshRecord), 32u);
  EXPECT_EQ(sizeof(CatalogueHeader), 104u);
  EXPECT_EQ(sizeof(RestartRecord), 48u);
  EXPECT_EQ(sizeof(SignalRecord), 8u);
  EXPECT_EQ(sizeof(ExpressionOp), 16u);
}

TEST(Handshake, StartsWithMagicAndVersionInEveryVersion) {
  EXPECT_AT(Hello, magic, 0);
  EXPECT_AT(Hello, version, 8);
  EXPECT_AT(Hello, resumed, 160);
  EXPECT_AT(Hello, current_region, 168);
  EXPECT_AT(Hello, spare_region, 176);
  EXPECT_AT(Hello, since_ns, 184);
  EXPECT_AT(Hello, segment, 192);
  EXPECT_EQ(sizeof(Hello), 320u);
  EXPECT_AT(Welcome, magic, 0);
  EXPECT_AT(Welcome, version, 8);
  EXPECT_AT(Welcome, status, 12);
  EXPECT_AT(Welcome, server, 16);
  EXPECT_AT(Welcome, place, 20);
  EXPECT_AT(Welcome, segment, 24);
}

}  // namespace
}  // namespace leat::shm
