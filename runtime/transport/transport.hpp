// SPDX-License-Identifier: BSD-3-Clause
// The transport contract: how bytes get from one process to another. Implemented by shared memory
// (transport/shm/shared_memory.hpp), by UCX (transport/ucx/ucx.hpp), by the choice among those that a
// process has (transport/router.hpp, over the list of transport/transport_list.hpp) and, for tests, by a
// loopback between threads (transport/testing/loopback.hpp).
//
// A message is a Header and a payload. A short message arrives with its bytes; a long one is
// announced and its bytes are fetched into the buffer that the matcher chose (rendezvous).
// Messages between two processes may arrive in any order; the engine restores it by
// Header::order. Callbacks come from progress() or from within the call that started the operation.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/engine_owned.hpp"
#include "base/layout.hpp"
#include "base/result.hpp"
#include "memory/region.hpp"

namespace tutti::transport {

enum class HeaderKind : uint8_t {
  message,
  matched,    // the receiver has matched the message `ticket`
  cancel,     // the sender asks to withdraw message `ticket`; answered by one of the others
  cancelled,  // it was still unmatched and is gone
};

// Travels in front of every message, as it stands in memory (all ranks share one architecture).
struct Header {
  uint64_t context = 0;
  int32_t source = 0;  // rank in the communicator
  int32_t tag = 0;
  uint32_t serial = 0;  // of the collective call; 0 on users' channels
  uint32_t order = 0;   // counts the messages from this process to that one
  int32_t process = 0;  // process id of the sender
  HeaderKind kind = HeaderKind::message;
  uint8_t answer = 0;      // 1: the receiver answers with HeaderKind::matched when it has matched
  uint16_t pattern = 0;    // on users' channels: of the types that are sent; 0: not to be compared
  uint64_t ticket = 0;     // names the sender's operation
  uint64_t signature = 0;  // of the collective call: operation, form, root, op, type signature
  int64_t bytes = 0;       // length of the packed payload
};
static_assert(sizeof(Header) == 56);

// A message on its way out. The caller keeps it, and the payload's memory, until `sent`.
struct Outgoing {
  Header header;
  Payload payload;
  // The payload's memory may be reused. For a rendezvous: the receiver has fetched it, or
  // discarded it.
  void (*sent)(Outgoing&, Error) = nullptr;
  void* owner = nullptr;
};

// Bytes on their way in, by rendezvous.
struct Fetch {
  Payload into;
  void (*fetched)(Fetch&, Error) = nullptr;
  void* owner = nullptr;
};

// How a message that arrived is handed over.
struct Arrival {
  Header header;
  const std::byte* data = nullptr;  // short message: valid only during the call
  void* rendezvous = nullptr;       // long message: pass to fetch() or discard(), once, at any time
};

class Receiver {
 public:
  virtual void arrived(const Arrival& arrival) TUTTI_ENGINE_OWNED = 0;
  // So many more messages that send_now() has taken wait for progress(), or, negative, fewer.
  virtual void unsent(int more) TUTTI_ENGINE_OWNED = 0;
  // Another thread waits for its turn, or has done so lately: what takes long is to go on in the next
  // progress().
  virtual bool takes_turns() TUTTI_ENGINE_OWNED { return false; }
  // For whom it goes on at the moment: a thread of the program waits in a call, and will make passes until what it waits
  // for is here; or one is in a call that does not wait; or the progress thread sees to it.
  enum class Driver : uint8_t { waits, calls, helper };
  virtual Driver driver() TUTTI_ENGINE_OWNED { return Driver::waits; }

 protected:
  ~Receiver() = default;
};

class Transport {
 public:
  virtual ~Transport() = default;

  virtual void set_receiver(Receiver& receiver) = 0;
  // Starts to send to process `peer`; connects first if need be. Reports through outgoing.sent,
  // perhaps before it returns.
  virtual void send(int peer, Outgoing& outgoing) TUTTI_ENGINE_OWNED = 0;
  // Sends a message whose header.bytes lie in one run at `data`, if that takes nothing but a copy;
  // nothing is reported, but what stays behind is counted (Receiver::unsent). `ticket` goes in place
  // of the header's. False: send() it.
  virtual bool send_now(int peer, const Header& header, uint64_t ticket, const std::byte* data) TUTTI_ENGINE_OWNED {
    return (void)peer, (void)header, (void)ticket, (void)data, false;
  }
  // For a receiver that waits for one short message and nothing else: looks up to so many times,
  // and takes the one that comes next from `peer`, if it has the context, source, tag and serial of
  // `wanted`. Copies its bytes to `into`, where there is room for `room`, and fills in the rest of
  // `wanted` but process and order. other: what comes next is for progress() to hand over, or
  // nothing can be told here.
  enum class Taken : uint8_t { nothing, message, other };
  virtual Taken take_now(int peer, Header& wanted, std::byte* into, int64_t room, int looks) TUTTI_ENGINE_OWNED {
    return (void)peer, (void)wanted, (void)into, (void)room, (void)looks, Taken::other;
  }
  // A header alone; fire and forget.
  virtual void notify(int peer, const Header& header) TUTTI_ENGINE_OWNED = 0;
  // `fetch.into` holds at least the message's bytes.
  virtual void fetch(void* rendezvous, Fetch& fetch) TUTTI_ENGINE_OWNED = 0;
  virtual void discard(void* rendezvous) TUTTI_ENGINE_OWNED = 0;

  // For what may be lost: is there a way to `peer`? It is asked before the message gets its Header::order, which has no
  // gaps. closed: there is none, and where `connects` is set none could be made, for which nobody is to blame; or so
  // many have been made for this alone that the next one could be what the program lacks. later: it is to be made, but
  // not within a callback of progress().
  enum class Way : uint8_t { open, later, closed };
  virtual Way way_to(int peer, bool connects) TUTTI_ENGINE_OWNED { return (void)peer, (void)connects, Way::open; }

  // How this process comes to memory of `peer`, which may be itself. Takes nothing for it, but may try whether the kernel
  // allows it. Asked again it may answer less than before, when a copy has been refused meanwhile: nobody is told, the
  // copy fails, and what is left goes by messages.
  virtual memory::Reach reach(int peer, memory::Region region) TUTTI_ENGINE_OWNED {
    return (void)peer, region == memory::Region::mapped ? memory::Reach::load_store : memory::Reach::messages;
  }

  // For a list of transports, of which the first one that can is to serve `peer`: whether it might, which is never true
  // later if it was not before; and takes what it needs for that, unless it has it. On an error it cannot.
  virtual bool serves(int peer) const { return (void)peer, true; }
  virtual Error open_way(int peer) { return (void)peer, Error(); }
  // While it has no news and others have, it may be left out of so many passes of progress() in a row; 1: of none, since
  // to ask it costs next to nothing.
  virtual int longest_patience() const { return 1; }
  virtual const char* name() const { return "another transport"; }  // in sentences for users

  // Drives everything once; true if anything happened.
  virtual bool progress() TUTTI_ENGINE_OWNED = 0;
  // The same for who waits for nothing but shared memory: what is dear to ask is mostly left out. So
  // many calls have come to it since it was called last.
  virtual bool progress_here(int calls) TUTTI_ENGINE_OWNED { return (void)calls, progress(); }
  // Now and then by a thread that yields because ranks share cores: it may be moved to another one.
  virtual void spread() TUTTI_ENGINE_OWNED {}

  // For sleeping: a descriptor that becomes readable when progress() has something to do, after
  // arm() has returned true. arm() returning false means: call progress() first, then try again.
  // `by_flags`: or when a flag in shared memory was raised (Bells), which is not asked for here.
  virtual int descriptor() const = 0;
  virtual bool arm(bool by_flags) TUTTI_ENGINE_OWNED = 0;
  // The caller polls and need not be told: spares senders the telling. Until then it stays armed,
  // whatever progress() does, or has been told already.
  virtual void disarm() TUTTI_ENGINE_OWNED {}

  // True when nothing that was reported as sent still needs this process to progress.
  virtual bool flushed() TUTTI_ENGINE_OWNED = 0;
};

}  // namespace tutti::transport
