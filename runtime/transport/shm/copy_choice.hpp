// SPDX-License-Identifier: BSD-3-Clause
// Which way the bytes of a message of middle length come sooner: through the ring, which both sides
// copy at the same time, or out of the sender's memory, which the kernel copies once. Of data that
// the sender has just written the second takes up to twice as long, since they lie in its own
// cache; of data that both have seen already, half as long. The receiver finds out by the time that
// they take.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

namespace tutti::transport {

// Of messages of one sender that have about the same length. Used by one thread at a time.
class CopyChoice {
 public:
  enum Way : uint8_t { reading, ring };
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
  // A message came through the ring before its receive was there, and had to be copied once more:
  // it had better have stayed where it was. After a second one so does all until the next tries.
  void came_early() {
    ++messages_;
    usual_ = reading;
    if (std::exchange(is_early_, true)) costs_[ring].messages = 0;
  }

 private:
  static constexpr double kLeastGain = 0.95;
  // What comes later, too: what one core has read out of the other's reach costs the next who
  // writes it. 64 KiB that two ranks have just written, exchange and read took as long to be read
  // as through the ring, and with what comes before and after 12.6 and 7.2 us. (A read takes 0.5
  // times as long where buffers are sent over and over, 1.4 times one way, 0.8 to 1.0 in an
  // exchange.)
  static constexpr double kReadCostsLater = 1.6;
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
    return last[1] * (way == reading ? kReadCostsLater : 1);
  }
  static Way other(Way way) { return way == reading ? ring : reading; }

  Way usual_ = reading;
  unsigned messages_ = 0;
  bool is_early_ = false;  // the last one through the ring
  Cost costs_[2];
};

}  // namespace tutti::transport
