// SPDX-License-Identifier: BSD-3-Clause
// Which way the bytes of a message come sooner: the kernel copies them once, out of the sender's memory, or they go
// through a ring, which both sides copy at the same time. Of data that the sender has just written the first takes up
// to six times as long, since each line is fetched from the sender's cache; of data that both have seen already, half
// as long; and by how much depends on the processor, and on how far its cores are from each other at the moment. So
// the receiver finds out by the time that the program's own messages take.
#pragma once

#include <algorithm>
#include <cstdint>

namespace tutti::transport {

// Of messages of one sender that are of one kind and about one length. The first kRun of them go the usual way, the next
// kRun the other one; then the better of the two is kept, and the other one is tried again for kRun messages after
// pauses that grow, and are longer where the other way is slower. Used by one thread at a time.
class CopyChoice {
 public:
  enum Way : uint8_t { reading, ring };
  // In a row, since where messages go both ways at the same time each way is fast only if both sides go it.
  static constexpr int kRun = 4;
  static constexpr int kFirstPause = 16, kLongestPause = 256;

  constexpr explicit CopyChoice(Way usual = reading) : best_(usual), now_(usual) {}

  // For the next message.
  Way way() const { return now_; }
  // Nothing has been learnt yet.
  bool is_new() const { return costs_[best_].messages == 0; }

  // What a message took that came this way, be it the one of way() or not.
  void learn(Way way, int64_t ticks, int64_t bytes) {
    Cost& cost = costs_[way];
    cost.last[cost.messages++ % kRun] = static_cast<float>(ticks) / static_cast<float>(bytes);
    if (way == now_ && (--left_ == 0 || has_become_slow())) end_run();
  }

 private:
  // To change one's mind.
  static constexpr float kLeastGain = 0.9F;

  // Of the last few messages, in ticks of the time stamp counter a byte. The least of them counts: while others came a core
  // may have been away, and at the first of a run the two directions go different ways.
  struct Cost {
    float last[kRun] = {};
    unsigned messages = 0;

    float least() const { return *std::ranges::min_element(last); }
  };

  // The usual way, as where the program computes meanwhile from now on: the other one is tried at once. Asked once for
  // as many messages as count.
  bool has_become_slow() const {
    const Cost &usual = costs_[best_], &other = costs_[best_ == reading ? ring : reading];
    return now_ == best_ && usual.messages % kRun == 0 && other.messages >= kRun &&
           other.least() < kLeastGain * usual.least();
  }

  void end_run() {
    if (now_ == best_) {
      now_ = best_ == reading ? ring : reading;
      left_ = kRun;
      return;
    }
    const float known = costs_[best_].least(), tried = costs_[now_].least();
    if (tried < kLeastGain * known) best_ = now_;
    now_ = best_;
    left_ =
        static_cast<int>(static_cast<float>(pause_) * std::min(std::max(known, tried) / std::min(known, tried), 16.0F));
    pause_ = std::min(4 * pause_, kLongestPause);
  }

  Way best_, now_;
  int left_ = kRun;  // messages until the run, or the pause between two tries, is over
  int pause_ = kFirstPause;
  Cost costs_[2];
};

}  // namespace tutti::transport
