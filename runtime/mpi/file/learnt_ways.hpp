// SPDX-License-Identifier: BSD-3-Clause
// What a file's collective accesses took, in two phases and with each rank moving its own data: for
// pieces of middling size, where neither is sure to win. Rank 0 measures blocking accesses and says
// with its share which way it wants for each size; all ranks hear that before they decide. Small
// pieces go in two phases and large ones do not, whatever was measured: there a try would cost more
// than it could teach. One that holds the file's mutex at a time.
#pragma once

#include <algorithm>
#include <cstdint>

namespace tutti::mpi {

class LearntWays {
 public:
  // bytes: what is as well moved by whoever has it, as long as nothing else is known.
  static constexpr int64_t kLargePiece = 64 << 10;
  static constexpr int kSizes = 5;  // from 16 KiB on, each twice the one before

  // Of pieces of so many bytes; -1: there is no choice.
  static int size_of(int64_t piece) {
    for (int size = 0; size < kSizes; ++size)
      if (piece >= kSmallest << size && piece < kSmallest << (size + 1)) return size;
    return -1;
  }
  static bool goes_alone(uint32_t wishes, int64_t piece) {
    const int size = size_of(piece);
    return size < 0 ? piece >= kLargePiece : (wishes >> size & 1) != 0;
  }

  // For which sizes the next access had better go alone, a bit each. `tries`: it will be learnt from,
  // and so may go the other way.
  uint32_t wishes(bool writes, bool tries = true) const {
    uint32_t wishes = 0;
    for (int size = 0; size < kSizes; ++size)
      wishes |= static_cast<uint32_t>(known_[writes][size].next_alone(size, tries)) << size;
    return wishes;
  }
  void learn(bool writes, int64_t piece, bool alone, double seconds, int64_t bytes) {
    const int size = size_of(piece);
    if (size < 0 || bytes <= 0) return;
    known_[writes][size].learn(alone, seconds / static_cast<double>(bytes));
  }

 private:
  static constexpr int64_t kSmallest = 16 << 10;
  static constexpr int kTries = 4;  // of each way; the first one, with new memory, does not count
  static constexpr int kTriedAgain = 64;   // every so many accesses the other way is tried once
  static constexpr double kClear = 0.9;    // a way is left for one that takes no more of its time
  static constexpr double kOutlier = 4.0;  // an access that was held up counts as so many

  struct Known {
    double cost[2] = {};  // seconds a byte: in two phases, alone
    int calls[2] = {};

    bool next_alone(int size, bool tries) const {
      const bool usual = kSmallest << size >= kLargePiece;
      if (calls[usual] < kTries) return usual;
      if (calls[!usual] < kTries) return tries ? !usual : usual;
      const bool better = cost[!usual] < kClear * cost[usual] ? !usual : usual;
      return tries && (calls[0] + calls[1]) % kTriedAgain == 0 ? !better : better;
    }
    void learn(bool alone, double now) {
      if (++calls[alone] <= 2) {
        cost[alone] = now;
        return;
      }
      cost[alone] += (std::min(now, kOutlier * cost[alone]) - cost[alone]) / 4;
    }
  };
  Known known_[2][kSizes];  // of reads, of writes
};

}  // namespace tutti::mpi
