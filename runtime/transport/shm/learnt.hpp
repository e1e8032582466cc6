// SPDX-License-Identifier: BSD-3-Clause
// What a process learns of a peer by the messages between them, and by what they took: whether the
// peer is far, which way messages of middle length from it come sooner, and whether it lets this
// one wait when it is asked to send. The tables of ways.hpp ask for it. Used by one thread at a
// time; knows nothing of rings.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "transport/shm/copy_choice.hpp"
#include "transport/shm/distance.hpp"
#include "transport/shm/ways.hpp"

namespace tutti::transport {

// When a sender began to put a message into a ring and when it had all but done so, by the time
// stamp counter; zeros if it had to wait for room.
struct PutTimes {
  uint64_t begun = 0, ended = 0;
};

class Learnt {
 public:
  // `slow_copy`: ticks a byte from which on the peer is far; `new_memory`: so many bytes touch a
  // ring's memory for the first time.
  Learnt(double slow_copy, int64_t new_memory) : distance_(slow_copy), new_memory_(new_memory) {}

  // ---- of what goes to the peer

  // So many bytes were copied into the ring.
  void copied(uint64_t ticks, int64_t bytes) { distance_.learn(ticks, bytes); }
  // For one message that may be copied or not: at times no, to learn from.
  bool is_far() { return distance_.rules_out_a_copy(); }

  // ---- of what comes from it

  // Its receiver chooses of such a message whether it shall come through the ring or be read.
  static bool has_choice(int64_t bytes) { return bytes > kLongestEager && bytes <= kLongestMiddling; }
  // Which of the wishes is for a message that has a choice, a bit.
  static uint32_t wish_for(int64_t bytes) { return uint32_t{1} << choice_for(bytes); }

  // A message that has a choice, and began to come at `begun`, is here: all of it was read.
  void was_read(uint64_t begun, uint64_t now, int64_t bytes) {
    choices_[choice_for(bytes)].learn(CopyChoice::reading, since(begun, now), bytes);
  }
  // The same of one that came through the ring.
  void came_through_ring(uint64_t begun, uint64_t now, const PutTimes& put, int64_t bytes) {
    through_ring_ += bytes;
    if (through_ring_ <= new_memory_) return;
    // What the sender has done before, or at other times: where messages go both ways it is a part
    // of what I do myself. (The counters of two cores may differ.)
    int64_t ticks = since(begun, now);
    const int64_t putting = since(put.begun, put.ended);
    const auto meanwhile = static_cast<int64_t>(put.ended - begun);
    ticks += putting - std::clamp<int64_t>(meanwhile, 0, std::min(putting, ticks));
    choices_[choice_for(bytes)].learn(CopyChoice::ring, ticks, bytes);
  }
  // One came through the ring before its receive was there, and has to be copied once more.
  void came_early(int64_t bytes) { choices_[choice_for(bytes)].came_early(); }

  // What the peer had better send through the ring, a bit each. True: that has changed since it was
  // asked last.
  bool has_new_wishes(uint32_t& wishes) {
    wishes = 0;
    for (int i = 0; i < 2; ++i) wishes |= static_cast<uint32_t>(choices_[i].way() == CopyChoice::ring) << i;
    return wishes != std::exchange(wishes_, wishes);
  }

  // It was asked to send, and let me wait: some messages are read before it is asked again.
  void let_me_wait() { reads_ = kReadsAfterStall; }
  bool is_prompt() const { return reads_ == 0; }
  // The same for a message: if not, this one is read.
  bool is_prompt_for_one() { return reads_ == 0 || (--reads_, false); }

 private:
  static constexpr int kReadsAfterStall = 64;

  static int choice_for(int64_t bytes) { return bytes > 2 * kLongestEager; }
  static int64_t since(uint64_t before, uint64_t now) {
    return std::max<int64_t>(static_cast<int64_t>(now - before), 0);
  }

  Distance distance_;
  CopyChoice choices_[2];  // by choice_for()
  uint32_t wishes_ = 0;    // that the peer has been told of
  int64_t new_memory_;
  int64_t through_ring_ = 0;  // bytes of messages of middle length
  int reads_ = 0;
};

}  // namespace tutti::transport
