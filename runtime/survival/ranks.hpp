// SPDX-License-Identifier: BSD-3-Clause
// A set of ranks of one communicator, as a row of bits that travels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tutti::survival {

class Ranks {
 public:
  Ranks() = default;
  // Of a communicator of so many; nobody is in it.
  explicit Ranks(int size) : size_(size), words_((static_cast<size_t>(size) + 63) / 64) {}
  static Ranks all(int size) {
    Ranks out(size);
    for (int rank = 0; rank < size; ++rank) out.add(rank);
    return out;
  }

  int size() const { return size_; }  // of the communicator
  bool has(int rank) const { return (words_[word_of(rank)] & bit_of(rank)) != 0; }
  void add(int rank) { words_[word_of(rank)] |= bit_of(rank); }
  void remove(int rank) { words_[word_of(rank)] &= ~bit_of(rank); }
  bool has_all_of(const Ranks& others) const {
    for (size_t i = 0; i < words_.size(); ++i)
      if (others.words_[i] & ~words_[i]) return false;
    return true;
  }
  Ranks& operator|=(const Ranks& other) {
    for (size_t i = 0; i < words_.size(); ++i) words_[i] |= other.words_[i];
    return *this;
  }
  Ranks& operator&=(const Ranks& other) {
    for (size_t i = 0; i < words_.size(); ++i) words_[i] &= other.words_[i];
    return *this;
  }
  // Everybody else of the communicator.
  Ranks others() const {
    Ranks out(size_);
    for (int rank = 0; rank < size_; ++rank)
      if (!has(rank)) out.add(rank);
    return out;
  }
  // The lowest; -1: there is none.
  int first() const {
    for (int rank = 0; rank < size_; ++rank)
      if (has(rank)) return rank;
    return -1;
  }
  bool operator==(const Ranks&) const = default;

  std::span<const uint64_t> words() const { return words_; }
  std::span<uint64_t> words() { return words_; }

 private:
  static size_t word_of(int rank) { return static_cast<size_t>(rank) / 64; }
  static uint64_t bit_of(int rank) { return uint64_t{1} << (static_cast<unsigned>(rank) % 64); }

  int size_ = 0;
  std::vector<uint64_t> words_;
};

}  // namespace tutti::survival
