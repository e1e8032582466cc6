// SPDX-License-Identifier: BSD-3-Clause
// What the records in the rings between ranks of a node say (shared_memory.hpp). The header of a
// short message takes half a line; what the ring itself tells (the sender, the order) is left out,
// and what few messages need is there only for them. It also says how far its sender has read the
// ring in the other direction, whose writer need not look for it then.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "transport/shm/learnt.hpp"
#include "transport/shm/ring.hpp"
#include "transport/transport.hpp"

namespace tutti::transport {

enum class RecordType : uint8_t {
  // value, of the first three: Header::pattern
  message,       // head, payload
  middling,      // head, Announcement, first piece; the fragments with incoming 0 belong to it
  announcement,  // head, Announcement
  notification,  // value: HeaderKind; body: ticket
  go,            // value: Asked; body: the sender's name of the message, the receiver's, first byte
                 // wanted
  done,          // body: the sender's name of the message: it has been fetched, or dropped
  join,          // body: the sender's name of the message, which message of the ring's Joint it is, where
                 // it lies at the sender's
  fragment,      // body: the receiver's name of the message or 0, offset; at kFragmentHead the bytes
};

// How what a receiver asks for shall come: by the pair's own ring or a large one that it has
// borrowed.
struct Asked {
  int chunks = 0;  // kStreamChunk; 0: all the rest
  int large_ring = -1;
  bool is_new = false;  // of the large ring: nothing has come through it so far

  uint16_t packed() const { return static_cast<uint16_t>(chunks | (large_ring + 1) << 8 | (is_new ? 1 << 15 : 0)); }
  static Asked of(uint16_t packed) { return {packed & 0xff, (packed >> 8 & 0x7f) - 1, (packed >> 15) != 0}; }
};

inline constexpr size_t kControlLength = 4 * sizeof(uint64_t);  // the word and a body of three
inline constexpr size_t kFragmentHead = kLine;                  // keeps the bytes aligned

inline RecordWord record_word(RecordType type, size_t length, uint8_t flags, uint16_t value = 0) {
  return {.length = static_cast<uint32_t>(length), .type = static_cast<uint8_t>(type), .flags = flags, .value = value};
}

// Flags of a head.
inline constexpr uint8_t kAnswers = 1;       // Header::answer
inline constexpr uint8_t kOfCollective = 2;  // a CollectiveHead follows
inline constexpr uint8_t kNamed = 4;         // Header::ticket follows, behind that
inline constexpr uint8_t kKept = 8;          // of a message: its head is that of those to come with kSame
inline constexpr uint8_t kSame = 16;         // no head but the word: as the last one with kKept
inline constexpr int kHintShift = 5;         // of an announcement: two bits, a Hint

struct MessageHead {
  uint64_t word;  // the ring's
  uint64_t read;  // RingReader::position() of the ring in the other direction
  uint64_t context;
  int32_t source;
  int32_t tag;
};
// What a head that others may leave out says.
struct KeptHead {
  uint64_t context = 0;
  int32_t source = -1;  // no rank's
  int32_t tag = 0;

  static KeptHead of(const Header& header) { return {header.context, header.source, header.tag}; }
  bool is_of(const Header& header) const {
    return ((context ^ header.context) | static_cast<uint32_t>(source ^ header.source) |
            static_cast<uint32_t>(tag ^ header.tag)) == 0;
  }
};
inline constexpr size_t kHeadOfSame = sizeof(uint64_t);
inline constexpr size_t kMostOfSame = kLine / 2 - kHeadOfSame;  // two at least share a line
struct CollectiveHead {
  uint64_t signature;
  uint64_t serial;
};
static_assert(sizeof(MessageHead) == 32 && sizeof(CollectiveHead) == 16);

struct Announcement {
  int64_t bytes = 0;
  uint64_t outgoing = 0;  // the sender's name for the message; 0: middling
  uint64_t address = 0;   // where the sender keeps it in one run; 0: it has gaps. Middling: ticket
};

inline bool is_of_collective(const Header& header) {
  return header.serial | header.signature;
}
// Its head says nothing but what a KeptHead does.
inline bool is_plain(const Header& header, uint64_t ticket) {
  return (header.serial | header.signature | ticket | header.answer) == 0;
}

inline size_t length_of_head(const Header& header, uint64_t ticket) {
  return sizeof(MessageHead) + (is_of_collective(header) ? sizeof(CollectiveHead) : 0) + (ticket ? sizeof ticket : 0);
}

template <class T>
void put_at(std::byte* record, size_t offset, T value) {
  std::memcpy(record + offset, &value, sizeof value);
}

// Everything but the word; returns the flags. Field by field: what was written a moment ago is read
// as it was written, or the processor waits until it has left the core. For that reason, too, the
// ticket is given apart: in most headers it is one of several zeros that were stored together.
inline uint8_t write_head(std::byte* record, const Header& header, uint64_t ticket, uint64_t read) {
  put_at(record, offsetof(MessageHead, read), read);
  put_at(record, offsetof(MessageHead, context), header.context);
  put_at(record, offsetof(MessageHead, source), header.source);
  put_at(record, offsetof(MessageHead, tag), header.tag);
  uint8_t flags = header.answer ? kAnswers : 0;
  size_t length = sizeof(MessageHead);
  if (is_of_collective(header)) {
    put_at(record, length + offsetof(CollectiveHead, signature), header.signature);
    put_at(record, length + offsetof(CollectiveHead, serial), uint64_t{header.serial});
    length += sizeof(CollectiveHead);
    flags |= kOfCollective;
  }
  if (ticket) {
    put_at(record, length, ticket);
    flags |= kNamed;
  }
  return flags;
}

// Returns the head's length. Leaves what the ring tells to the caller.
inline size_t read_head(const std::byte* record, uint8_t flags, Header& header, uint64_t& read) {
  MessageHead head;
  std::memcpy(&head.read, record + sizeof head.word, sizeof head - sizeof head.word);
  read = head.read;
  header.context = head.context;
  header.source = head.source;
  header.tag = head.tag;
  header.answer = flags & kAnswers;
  size_t length = sizeof head;
  if (flags & kOfCollective) {
    CollectiveHead more;
    std::memcpy(&more, record + length, sizeof more);
    header.signature = more.signature;
    header.serial = static_cast<uint32_t>(more.serial);
    length += sizeof more;
  }
  if (flags & kNamed) {
    std::memcpy(&header.ticket, record + length, sizeof header.ticket);
    length += sizeof header.ticket;
  }
  return length;
}

}  // namespace tutti::transport
