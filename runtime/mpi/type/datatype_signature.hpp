// SPDX-License-Identifier: BSD-3-Clause
// Type signatures (the standard, 5.1): the sequence of basic types of a datatype, without the
// displacements, as a hash. Equal for every way to divide the same sequence into counts and types:
// 10 elements of {2 ints} have the signature of 20 ints.
#pragma once

#include <cstdint>

namespace tutti::mpi {

// What a signature is made of, in the 16 bits that a message has for it: the shortest sequence of
// basic types that, repeated, makes the signature, as a hash. It is the same for every count and every
// factoring, so that each datatype has one, and a message whose pattern is the receive's fits it if it
// is no longer. 0: there is nothing to compare (MPI_BYTE, MPI_PACKED, no basic types at all, or too
// many to look through).
using Pattern = uint16_t;

// A plain value. Types of one representation count as one basic type (MPI_INT, MPI_INT32_T and
// MPI_INTEGER): a program that mixes them gets what it wants, and shall not be accused.
class Signature {
 public:
  Signature() = default;  // the empty sequence
  // One basic type. MPI_BYTE and MPI_PACKED may stand for others: with them nothing is `exact`.
  static Signature of(unsigned basic_type, bool exact);

  uint64_t length() const { return length_; }  // basic types, modulo 2^64
  // The sequence can be compared with another one. Otherwise only its number of bytes can.
  bool exact() const { return exact_; }
  // For comparison across processes: 0 if not exact. Different for different sequences but for
  // chance (about one in 2^61); the empty sequence has a digest of its own.
  uint64_t digest() const;
  bool operator==(const Signature& other) const { return digest() == other.digest(); }
  // One basic type alone, or none.
  bool is_uniform() const { return only_ || length_ == 0; }
  // Of a sequence that is no repetition of a shorter one; different ones have the same one by chance
  // (one in 65535).
  Pattern as_pattern() const {
    const uint64_t value = length_ == 0 ? 0 : digest();
    return value ? static_cast<Pattern>(value % 0xffff + 1) : 0;
  }

  // Of `count` times the sequence, for words that travel: cheaper than times(count).digest(), and
  // different from it. 0 if not exact.
  uint64_t brief(uint64_t count) const {
    const uint64_t length = length_ * count;
    if (length == 0) return 1;
    if (!exact_) return 0;
    if (only_) [[likely]]
      return ((only_ ^ (length * 0xa0761d6478bd642fu)) * 0xe7037ed1a0b428dbu) | 1;
    return times(count).digest();
  }

  Signature then(const Signature& next) const;  // one sequence behind the other
  Signature times(uint64_t count) const;        // itself so many times, O(log count)

 private:
  Signature expanded() const;

  uint64_t length_ = 0;
  uint64_t only_ = 0;   // nonzero: this basic type, length_ times; the hash is not computed yet
  uint64_t hash_ = 0;   // sum over i of basic_type[i] * base^(length - 1 - i), modulo 2^61 - 1
  uint64_t power_ = 1;  // base^length
  bool exact_ = true;
};

}  // namespace tutti::mpi
