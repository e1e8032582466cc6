// SPDX-License-Identifier: BSD-3-Clause
// Which way the bytes of a message come sooner: through a ring, which both sides copy at the same time, or out of the
// sender's memory, which the kernel copies once. Of data that the sender has just written the second takes up to twice
// as long, since they lie in its own cache; of data that both have seen already, half as long; and by how much depends
// on the processor. The receiver finds out by the time that they take.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

namespace tutti::transport {

// Of messages of one sender that have about the same length. Used by one thread at a time.
class CopyChoice {
 public:
  enum Way : uint8_t { reading, ring };
  // `usual`: until something is known. `reading_factor`: what a read costs beyond what it takes.
  CopyChoice(Way usual, double reading_factor) : reading_factor_(reading_factor), usual_(usual) {}
  // Of so many messages some in a row go the other way, to learn from; the first ones early. In a
  // row, since where messages go both ways at the same time each way is fast only if both go it.
  static constexpr unsigned kTryAnew = 256, kFirstTry = 8, kTries = 4;

  // For the next message.
  Way way() const { return messages_ % kTryAnew - kFirstTry < kTries ? other(usual_) : usual_; }

  // What a message took that came this way.
  void learn(Way way, int64_t ticks, int64_t bytes) {
    if (way == ring) is_early_ = false;
    Cost& cost = costs_[way];
    cost.last[cost.messages++ % kTries] = static_cast<double>(ticks) / static_cast<double>(bytes);
    ++messages_;
    if (costs_[other(usual_)].messages < kTries) return;
    if (total(other(usual_)) < total(usual_) * kLeastGain) usual_ = other(usual_);
  }
  // Of the next message nothing can be learnt.
  void pass() { ++messages_; }
  // A message came through the ring before its receive was there, and had to be copied once more:
  // it had better have stayed where it was. After a second one so does all until the next tries.
  void came_early() {
    ++messages_;
    usual_ = reading;
    if (std::exchange(is_early_, true)) costs_[ring].messages = 0;
  }

 private:
  static constexpr double kLeastGain = 0.95;
  // Of the last few messages, in ticks of the time stamp counter a byte. The second least of them
  // counts: in some a core has been away, and at the first of a row the two directions go different
  // ways.
  struct Cost {
    double last[kTries] = {};
    unsigned messages = 0;
  };
  double total(Way way) const {
    double last[kTries];
    std::ranges::copy(costs_[way].last, last);
    std::nth_element(last, last + 1, last + kTries);
    return last[1] * (way == reading ? reading_factor_ : 1);
  }
  static Way other(Way way) { return way == reading ? ring : reading; }

  double reading_factor_;
  Way usual_;
  unsigned messages_ = 0;
  bool is_early_ = false;  // the last one through the ring
  Cost costs_[2];
};

}  // namespace tutti::transport
