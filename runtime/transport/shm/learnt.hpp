// SPDX-License-Identifier: BSD-3-Clause
// What a process learns of a peer by the messages between them, and by what they took: which way announced messages
// come sooner from it, and whether it lets this one wait when it is asked to send. The tables of ways.hpp ask for it.
// Used by one thread at a time; knows nothing of rings.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "transport/shm/copy_choice.hpp"
#include "transport/shm/ways.hpp"

namespace tutti::transport {

// What else is on its way while a long message comes, of which it depends what each way takes.
enum class Company : uint8_t { none, others, both_ways };

// Where long messages go both ways each way is fast only if both sides go it: so one of the two decides, and tells the
// other one when it announces a message. None: it knows nothing yet.
enum class Hint : uint8_t { none, read, stream };

class Learnt {
 public:
  // `new_memory`: so many bytes touch a ring's memory for the first time.
  explicit Learnt(int64_t new_memory) : new_memory_(new_memory) {
    // Until more is known: while some are copied out of the ring, the sender can put in the next ones.
    for (CopyChoice& each : choices_[static_cast<int>(Company::others)]) each = CopyChoice(CopyChoice::ring);
  }

  // Whether the next long message of this kind, of so many bytes, had better come through a ring, or is to be tried so.
  bool streams(Company company, int64_t bytes) const { return choice(company, bytes).way() == CopyChoice::ring; }
  // The same as a hint to the peer, for what goes to it while as much comes from it.
  Hint hint(int64_t bytes) const {
    if (!is_prompt()) return Hint::read;
    const CopyChoice& both = choice(Company::both_ways, bytes);
    return both.is_new() ? Hint::none : both.way() == CopyChoice::ring ? Hint::stream : Hint::read;
  }
  // A message is here that was fetched at `begun`. What it took is the time since then, or since the one before it was
  // here; or `reading` ticks, of one that I have read in turns with others.
  void came(CopyChoice::Way way, Company company, uint64_t begun, uint64_t now, uint64_t reading, int64_t bytes) {
    const uint64_t from = std::max(begun, std::exchange(last_here_, now));
    if (way == CopyChoice::ring) {
      reads_after_stall_ = std::max(reads_after_stall_ / 2, kLeastReads);
      if (through_ring_ <= new_memory_) {
        through_ring_ += bytes;
        return;
      }
    }
    choice(company, bytes).learn(way, static_cast<int64_t>(reading > 0 ? reading : now - std::min(from, now)), bytes);
  }

  // It was asked to send, and let me wait: some messages are read before it is asked again. They are few, since it may
  // have lost its core for once, or have touched new memory; of one that does so again and again they are ever more.
  void let_me_wait() {
    reads_ = reads_after_stall_;
    if (through_ring_ > new_memory_) reads_after_stall_ = std::min(2 * reads_after_stall_, kMostReads);
  }
  // It says that it is to be asked again.
  void is_back() { reads_ = 0; }
  bool is_prompt() const { return reads_ == 0; }
  // The same for a message: if not, this one is read.
  bool is_prompt_for_one() { return reads_ == 0 || (--reads_, false); }

 private:
  static constexpr int kLeastReads = 8, kMostReads = 1024;

  static constexpr int64_t kLengths[] = {kLongestEager, kLongestMiddling, 4 * kLongestMiddling, 16 * kLongestMiddling};
  CopyChoice& choice(Company company, int64_t bytes) {
    return choices_[static_cast<int>(company)]
                   [std::ranges::count_if(kLengths, [&](int64_t each) { return bytes > each; })];
  }
  const CopyChoice& choice(Company company, int64_t bytes) const {
    return const_cast<Learnt*>(this)->choice(company, bytes);
  }

  CopyChoice choices_[3][std::size(kLengths) + 1];  // by company and length
  uint64_t last_here_ = 0;                          // when the latest of them was here, by the time stamp counter
  int64_t new_memory_;
  int64_t through_ring_ = 0;  // bytes, until none of them touches new memory
  int reads_ = 0, reads_after_stall_ = kLeastReads;
};

}  // namespace tutti::transport
