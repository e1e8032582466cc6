// SPDX-License-Identifier: BSD-3-Clause
// The transports of a process, in order: the first one that can serves a peer. Owns them, which one serves whom (a byte
// for each peer, until it is forgotten), how often each is polled, what they sleep on together, and whose a long message
// is. Refuses to know what they are, and what jobs are (router.hpp).
//
// One may be added at any time, also by what another one has delivered: the numbers of those before it stay.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/by_process.hpp"
#include "base/engine_owned.hpp"
#include "transport/transport.hpp"

namespace tutti::transport {

class TransportList {
 public:
  // Of a transport in the list; or, from kNone on, a word in place of one.
  using Number = uint8_t;
  static constexpr Number kNone = 0xf0;    // none of them serves the peer
  static constexpr Number kWords = kNone;  // those behind it are the user's own

  TransportList();
  ~TransportList();  // the last one first
  TransportList(const TransportList&) = delete;

  // Behind the others. `for_all`: it serves peers that are looked for; otherwise those alone that it is set() for, and no
  // such one may be followed by one for all.
  Number add(std::unique_ptr<Transport> transport, bool for_all);
  size_t size() const { return transports_.size(); }
  Transport& operator[](Number number) const { return *transports_[number]; }

  // Which one serves a peer: the first that can, which is looked for once. kNone also if there was one that might, and
  // could not.
  Number serving(int peer) {
    const Number* const known = serving_.find(peer);
    return known && *known != kUnknown ? *known : choose(peer);
  }
  static bool is_one(Number number) { return number < kNone; }  // and no word
  void set(int peer, Number number) { serving_.set(peer, number); }
  bool has_word(int peer) const {
    const Number* const known = serving_.find(peer);
    return known && *known > kNone && *known != kUnknown;
  }
  // It is looked for anew, unless there is a word. What is under way stays where it is.
  void forget(int peer) {
    if (serving_.find(peer) && !has_word(peer)) serving_.set(peer, kUnknown);
  }
  // As the first one answers that might serve it; no memory is taken for messages to it.
  memory::Reach reach(int peer, memory::Region region) TUTTI_ENGINE_OWNED;

  void set_receiver(Receiver& receiver);
  void fetch(void* rendezvous, Fetch& fetch) TUTTI_ENGINE_OWNED;
  void discard(void* rendezvous) TUTTI_ENGINE_OWNED;
  // As those of Transport.
  bool progress() TUTTI_ENGINE_OWNED;
  bool progress_here(int calls) TUTTI_ENGINE_OWNED;
  void spread() TUTTI_ENGINE_OWNED;
  int descriptor() const { return descriptor_; }
  bool arm(bool by_flags) TUTTI_ENGINE_OWNED;
  void disarm() TUTTI_ENGINE_OWNED;
  bool flushed() TUTTI_ENGINE_OWNED;

 private:
  static constexpr Number kUnknown = 0xff;
  class Marking;
  struct Entry {
    Transport* transport;
    std::unique_ptr<Marking> receiver;  // nullptr: its long messages are passed on as they are
    int longest_patience;
    int patience = 1;
    uint64_t due = 0;  // the pass in which it is polled again at the latest
    bool is_watched = false;

    // It costs something to poll, and somebody else something to tell of it.
    bool is_dear() const { return longest_patience > 1; }
  };

  [[gnu::noinline]] Number choose(int peer);
  void hear(Number number);
  bool poll_cheap() TUTTI_ENGINE_OWNED;
  bool poll_dear(bool all) TUTTI_ENGINE_OWNED;
  bool arm_dear() TUTTI_ENGINE_OWNED;
  bool watch(Entry& entry, bool watched);

  std::vector<std::unique_ptr<Transport>> transports_;
  std::vector<Entry> entries_;  // of each
  ByProcess<Number> serving_;   // of those that were asked for
  Receiver* receiver_ = nullptr;
  size_t for_all_ = 0;  // the first so many
  size_t dear_ = 0;     // so many are
  uint64_t passes_ = 0;
  uint64_t due_ = 0;      // the first pass in which one of the dear is due
  int quiet_ = 0;         // passes since one of the others had something
  const int descriptor_;  // an epoll that holds theirs
};

}  // namespace tutti::transport
