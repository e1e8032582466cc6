// SPDX-License-Identifier: BSD-3-Clause
// What a process learns of a peer by the messages between them, and by what they took: whether the
// peer is far, which way messages of middle length and long ones that follow each other come sooner from it, and
// whether it lets this one wait when it is asked to send. The tables of ways.hpp ask for it. Used by one thread at a
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

  // Of long messages that follow each other: whether the next one of so many bytes had better come through a ring.
  bool streams(int64_t bytes) const { return runs_[run_of(bytes)].way() == CopyChoice::ring; }
  // One of them was read, which took so long.
  void run_was_read(uint64_t ticks, int64_t bytes) {
    runs_[run_of(bytes)].learn(CopyChoice::reading, static_cast<int64_t>(ticks), bytes);
  }
  // One is here that has streamed, and was fetched at `begun`. What it took is the time since the one before it was
  // here: unless it was fetched later, and nothing is known.
  void run_was_streamed(uint64_t begun, uint64_t now, int64_t bytes) {
    const uint64_t before = std::exchange(last_streamed_, now);
    CopyChoice& run = runs_[run_of(bytes)];
    begun <= before ? run.learn(CopyChoice::ring, since(before, now), bytes) : run.pass();
  }

  // It was asked to send, and let me wait: some messages are read before it is asked again.
  void let_me_wait() { reads_ = kReadsAfterStall; }
  bool is_prompt() const { return reads_ == 0; }
  // The same for a message: if not, this one is read.
  bool is_prompt_for_one() { return reads_ == 0 || (--reads_, false); }

 private:
  static constexpr int kReadsAfterStall = 64;

  // What comes later, too: what one core has read out of the other's reach costs the next who
  // writes it. 64 KiB that two ranks have just written, exchange and read took as long to be read
  // as through the ring, and with what comes before and after 12.6 and 7.2 us. (A read takes 0.5
  // times as long where buffers are sent over and over, 1.4 times one way, 0.8 to 1.0 in an
  // exchange.)
  static constexpr double kReadCostsLater = 1.6;
  static int choice_for(int64_t bytes) { return bytes > 2 * kLongestEager; }
  static int run_of(int64_t bytes) { return bytes <= kLongestMiddling ? 0 : bytes <= 4 * kLongestMiddling ? 1 : 2; }
  static int64_t since(uint64_t before, uint64_t now) {
    return std::max<int64_t>(static_cast<int64_t>(now - before), 0);
  }

  Distance distance_;
  CopyChoice choices_[2] = {{CopyChoice::reading, kReadCostsLater}, {CopyChoice::reading, kReadCostsLater}};
  // By run_of(). Where messages follow each other both ways are timed with what comes later.
  CopyChoice runs_[3] = {{CopyChoice::ring, 1}, {CopyChoice::ring, 1}, {CopyChoice::ring, 1}};
  uint64_t last_streamed_ = 0;  // when the latest of a run was here, by the time stamp counter
  uint32_t wishes_ = 0;         // that the peer has been told of
  int64_t new_memory_;
  int64_t through_ring_ = 0;  // bytes of messages of middle length
  int reads_ = 0;
};

}  // namespace tutti::transport
