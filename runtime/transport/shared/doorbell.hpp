// SPDX-License-Identifier: BSD-3-Clause
// How a rank that sleeps in the kernel is woken by another one of its node. The sleeper says so at
// its desk; who sends to it looks there after each record and, seldom, rings. Owns the sockets and
// the argument why no ring is lost.
//
// The sleeper writes "asleep" and then looks at the rings; a sender writes a record and then looks
// for "asleep". One of the two must see the other's word, which takes a fence on both sides. Since
// a sender does this for every message, it is the sleeper that makes the senders' processors fence
// (membarrier, global expedited), for which each sender's process registers once, while that is
// cheap, in use_remote_fences(). A process that could not register fences after each record.
//
// Who sleeps with no collective under way is rung for records alone. Flags of collectives are records
// in this: the word that asks for them, too, is followed by the fence and a look at them, whatever it
// was before.
#pragma once

#include <atomic>
#include <cstdint>

#include "transport/shared/node_segment.hpp"

namespace tutti::transport {

// Once for the process, best before it has a second thread (later it takes 12 ms).
void use_remote_fences();

class Doorbell {
 public:
  // `sleepers` counts the ranks of the node whose doorbell is armed for flags. `fence_due`: the others
  // have to fence before this one sleeps, though it is armed; taken away when they have.
  Doorbell(Desk& mine, std::atomic<uint32_t>& sleepers, bool& fence_due)
      : mine_(mine), sleepers_(sleepers), fence_due_(fence_due) {}
  ~Doorbell();
  Doorbell(const Doorbell&) = delete;

  // A socket, readable when somebody has rung; -1 before the first arm().
  int descriptor() const { return socket_; }

  // From here on senders ring, once, and, with `by_flags`, so does whoever raises a flag. The
  // caller looks at the rings, and at the flags, again before it sleeps. False: there is no socket
  // to be had, nobody could ring.
  bool arm(bool by_flags);
  // I am awake.
  void disarm() {
    if (armed_) [[unlikely]] {
      armed_ = false;
      // Ringing takes the word away: only then is there something to read, now or in a moment.
      if (mine_.asleep.exchange(Desk::awake, std::memory_order_relaxed) == Desk::awake) ++rings_;
      count(false);
    }
  }

  // To be called after a record that `desk`'s owner should see has been written.
  static void ring_if_asleep(Desk& desk) {
    if (fences_) __sync_synchronize();
    std::atomic_signal_fence(std::memory_order_seq_cst);
    if (desk.asleep.load(std::memory_order_relaxed)) [[unlikely]]
      ring(desk);
  }
  // The same after a flag was raised, and the caller has fenced.
  static void ring_for_flag(Desk& desk) {
    if (desk.asleep.load(std::memory_order_relaxed) == Desk::for_flags) ring(desk);
  }
  // This process must fence between what it writes and its look at who is asleep.
  static bool fences() { return fences_; }

 private:
  friend void use_remote_fences();
  static void ring(Desk& desk);
  bool open();
  void count(bool by_flags) {
    if (by_flags == counted_) return;
    counted_ = by_flags;
    sleepers_.fetch_add(by_flags ? 1 : ~uint32_t{0}, std::memory_order_relaxed);
  }

  static bool fences_;  // this process has not registered

  Desk& mine_;
  std::atomic<uint32_t>& sleepers_;
  bool& fence_due_;
  int socket_ = -1;
  bool armed_ = false;
  bool counted_ = false;  // among the sleepers
  int rings_ = 0;         // rung and not read from the socket
};

}  // namespace tutti::transport
