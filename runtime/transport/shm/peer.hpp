// SPDX-License-Identifier: BSD-3-Clause
// What the shared-memory transport keeps of a rank that it talks to: what goes there, what comes
// from there, and what has been learnt of it. Data alone; the ring's ends, which it holds, own
// their memory's contents.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>

#include "base/fifo.hpp"
#include "memory/peer_memory.hpp"
#include "memory/shared_copy.hpp"
#include "transport/shared/doorbell.hpp"
#include "transport/shm/learnt.hpp"
#include "transport/shm/records.hpp"
#include "transport/shm/ring.hpp"
#include "transport/shm/ways.hpp"

namespace tutti::transport {

struct Peer;

// A long or middling message on its way in.
struct Incoming {
  Peer* peer = nullptr;
  int64_t bytes = 0, arrived = 0;
  uint64_t outgoing = 0;  // the sender's name for it; 0: it comes by itself
  uint64_t address = 0;   // where it lies at the sender's; 0: not to be read
  Fetch* fetch = nullptr;
  std::unique_ptr<std::byte[]> kept;  // what came before fetch()
  bool dropped = false;
  bool among_others = false;  // of long ones from the same sender
  bool streams = false;       // through the ring
  Hint hint = Hint::none;     // the sender's, how it had better come
  bool undecided = false;     // how it comes: it has been fetched by a call that does not wait
  // Could come by either way, so that what it takes is to be learnt from; and what is to be known for that.
  bool has_choice = false;
  CopyChoice::Way way = CopyChoice::reading;
  Company company = Company::none;
  bool joins = false;    // both copy: read by Joint's rules when its turn comes
  int64_t asked = 0;     // the sender has been asked for what comes before
  uint64_t begun = 0;    // when it was fetched, by the time stamp counter
  uint64_t reading = 0;  // ticks that its reading has taken so far
  int lost = 0;          // its sender has failed before all of it was here: the class of the error
  int idle = 0;          // passes since a fragment came, or for the last piece
  // Among those that stream from its peer; among those that nobody uses, `next` alone.
  Incoming *next = nullptr, *previous = nullptr;
};

// What did not fit into the ring yet.
struct Held {
  Outgoing* outgoing = nullptr;  // nullptr: a control record
  int64_t offset = 0;            // bytes of a message that are written
  RecordWord word;
  uint64_t body[3] = {};
  Held* next = nullptr;
};

// The part of a long message that its receiver has asked for.
struct Stream {
  Outgoing* outgoing;
  uint64_t incoming;
  int64_t offset, end;
  bool large;  // through the large ring
};

// A large ring that I have borrowed for what comes from a peer.
struct RingLoan {
  int index = -1;  // -1: none
  RingReader in;
  int64_t due = 0;     // bytes that I have asked for and that have not come
  bool known = false;  // to the peer
};

// A message that this side sends and helps to copy.
struct Helping {
  uint64_t message = 0;  // Joint's number of it; 0: none
  const std::byte* from = nullptr;
};

// What goes to a peer.
struct Sending {
  RingWriter ring;
  Limits limits;        // of what fits into it
  KeptHead kept, last;  // the head that the other side keeps for messages without one; that of the
                        // last short message
  uint64_t told = 0;    // what the last head that was sent says of the ring in the other direction
  int announced = 0;    // long messages whose bytes have not all moved
  // The first and last of what is kept back.
  Held* held = nullptr;
  Held* last_held = nullptr;
  Fifo<Stream> streams;
  bool gave_way = false;    // their sender has stopped for another thread, though there may be room
  RingWriter large;         // that the peer has borrowed for what I stream to it
  memory::SharedCopy copy;  // of what is streamed
  Helping helping;
  // Where peers may fail: those announced whose receiver has still to have the bytes, or to do without.
  std::set<Outgoing*> awaited;
};

// What comes from it.
struct Receiving {
  RingReader ring;
  bool in_hand = false;          // its first record is being handed over, and still in the ring
  uint32_t next_order = 0;       // of the messages
  Arrival same;                  // a message without a head, as the last head says that was to be kept
  Incoming* middling = nullptr;  // the one whose fragments follow
  int announced = 0;             // long messages whose bytes have not all moved
  Incoming* joint = nullptr;     // the one that both copy at this moment
  uint64_t joints = 0;           // how many have been copied so
  int64_t asked = 0;             // bytes that the peer has been asked to stream while both copy, and that are not here
  // The first and last of those that stream, in the order of asking: so those of which something
  // has been asked come first.
  Incoming* streaming = nullptr;
  Incoming* last_streaming = nullptr;
  RingLoan loan;
  std::set<Incoming*> open;  // where peers may fail: all that are announced and not over
};

struct Peer {
  Peer(int its_process, int its_index, Desk& its_desk, bool reads_it, const Learnt& nothing)
      : process(its_process), index(its_index), desk(&its_desk), memory(its_desk.known, reads_it), learnt(nothing) {}
  int process, index;  // the index is the one in the segment
  bool connected = false;
  bool lost = false;  // it has failed: nothing goes there any more
  Desk* desk;
  Sending out;
  Receiving in;
  memory::PeerMemory memory;
  Learnt learnt;
};

// Of what lists by `next`.
template <class T>
void delete_list(T* first) {
  while (T* item = first) {
    first = item->next;
    delete item;
  }
}

// With what it says of the ring in the other direction, and of messages to come.
[[gnu::always_inline]] inline size_t read_head(Peer& from, const std::byte* record, uint8_t flags, Header& header) {
  if (flags & kSame) {
    header.context = from.in.same.header.context;
    header.source = from.in.same.header.source;
    header.tag = from.in.same.header.tag;
    return kHeadOfSame;
  }
  uint64_t read;
  const size_t length = read_head(record, flags, header, read);
  from.out.ring.reader_is_at(read);
  if (flags & kKept)
    from.in.same.header = {
        .context = header.context, .source = header.source, .tag = header.tag, .process = from.process};
  return length;
}
inline uint8_t write_head(std::byte* record, const Header& header, uint64_t ticket, Peer& to) {
  to.out.told = to.in.ring.position();
  return write_head(record, header, ticket, to.out.told);
}

}  // namespace tutti::transport
