// SPDX-License-Identifier: BSD-3-Clause
// The timeline of a rank, as it lies in a file beside its page (page.hpp), where a profile goes into a file: what it did
// when, in memory that does not grow with the job's length. Three tables, each with its way to stay small:
//  - periods: the whole run in equal parts, and how long each was spent in what. When the run outgrows them, two become one;
//  - spans: the calls that lasted longest. When the table is full, its shorter half goes;
//  - messages: the two ends of a message are numbered alike at its sender and its receiver, by counting those of a sender,
//    receiver, context and tag, which MPI keeps in order. When the table is full, those stay whose name's hash is a multiple
//    of a power of two that grows, so that both ends of a message stay or go.
// Data alone: the rank writes it (recorder.hpp), its node reads it when the rank is gone. Times are those of page.hpp.
#pragma once

#include <bit>
#include <cstdint>
#include <string_view>

#include "profile/page.hpp"

namespace tutti::profile {

inline constexpr char kTimelineMagic[8] = {'t', 'u', 't', 't', 'i', 't', 'l', '1'};
inline constexpr uint32_t kPeriods = 4096, kSpans = 8192, kMessages = 8192, kFlows = 4096, kPeers = 1024;
inline constexpr uint32_t kFirstPeriodBits = 12;

// What a rank does in calls of MPI; the rest of its time it computes.
enum class Doing : uint8_t { moving, waiting, in_collectives, in_files };
inline constexpr uint32_t kDoings = 4;

struct Period {
  uint64_t ticks[kDoings] = {};
};

struct Span {
  uint64_t begun = 0, over = 0;
  uint64_t waited = 0;    // of it
  uint64_t waits_to = 0;  // when the latest thing that it waited for came; 0: it has not waited
  int32_t process = -1;   // which that was of; -1: not known
  uint16_t site = 0;      // in the page
  Wait kind = Wait::late_sender;
  uint8_t thread = 0;  // its place among those of the rank (base/flight_moment.hpp)
};

// One end of a message. With this rank, its name: the same at its other end.
struct Message {
  uint64_t context = 0;
  uint64_t at = 0;  // when it was sent, or met its receive
  int64_t bytes = 0;
  int32_t process = -1, tag = 0;
  uint32_t number = 0;  // of those of its sender, receiver, context and tag, from 1
  bool is_receive = false;
  uint8_t thread = 0;  // that sent it, or saw it meet its receive
  uint8_t unused[2] = {};
};

// How many messages there have been of one sender, receiver, context and tag.
struct Flow {
  uint64_t name = 0;  // a hash; 0: free
  uint64_t messages = 0;
};

struct Peer {
  int32_t process = -1;
  uint32_t unused = 0;
  uint64_t messages = 0, bytes = 0;  // sent to it
};

struct Timeline {
  char magic[8] = {};
  uint32_t bytes = 0;  // of this struct
  int32_t rank = -1;
  uint64_t begun = 0;
  uint32_t period_bits = 0;  // a period lasts so many bits of ticks
  uint32_t spans = 0, messages = 0;
  uint32_t every = 1;              // hashes of messages that are kept
  uint64_t least = 0;              // every call that lasted longer is kept
  uint64_t unnamed_messages = 0;   // of flows for which there was no place
  uint64_t other_peers_bytes = 0;  // sent to processes for which there was no place
  Period period[kPeriods];
  Span span[kSpans];
  Message message[kMessages];
  Peer peer[kPeers];
  Flow flow[kFlows];
};

inline uint64_t mixed(uint64_t a, uint64_t b) {
  const uint64_t product = (a ^ std::rotl(b, 32)) * 0x9e3779b97f4a7c15;
  return product ^ (product >> 29);
}
inline uint64_t flow_name(int32_t sender, int32_t receiver, uint64_t context, int32_t tag) {
  const uint64_t ranks = uint64_t{static_cast<uint32_t>(sender)} << 32 | static_cast<uint32_t>(receiver);
  return mixed(mixed(ranks, context), static_cast<uint32_t>(tag)) | 1;
}
// Of a message, alike at both ends.
inline uint64_t message_hash(uint64_t flow, uint32_t number) {
  return mixed(flow, number) >> 16;
}

inline std::string timeline_file_name(int rank) {
  return "timeline." + std::to_string(rank);
}

}  // namespace tutti::profile
