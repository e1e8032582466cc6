// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/type/datatype_signature.hpp"

namespace tutti::mpi {

namespace {

constexpr uint64_t kPrime = (uint64_t{1} << 61) - 1;
constexpr uint64_t kBase = 0x0b1d'5a7e'93c4'f62b;

uint64_t multiply(uint64_t a, uint64_t b) {
  const auto product = static_cast<unsigned __int128>(a) * b;
  const uint64_t sum = static_cast<uint64_t>(product & kPrime) + static_cast<uint64_t>(product >> 61);
  return sum >= kPrime ? sum - kPrime : sum;
}

uint64_t add(uint64_t a, uint64_t b) {
  const uint64_t sum = a + b;
  return sum >= kPrime ? sum - kPrime : sum;
}

// Spreads small numbers over all bits (the finisher of the SplitMix64 generator).
uint64_t scramble(uint64_t value) {
  value += 0x9e3779b97f4a7c15;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
  value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
  return value ^ (value >> 31);
}

}  // namespace

Signature Signature::of(unsigned basic_type, bool exact) {
  Signature one;
  one.length_ = 1;
  one.only_ = scramble(basic_type) % (kPrime - 1) + 1;
  one.exact_ = exact;
  return one;
}

uint64_t Signature::digest() const {
  if (!exact_) return 0;
  const uint64_t value = scramble((only_ ? only_ : ~hash_) ^ scramble(length_));
  return value ? value : 1;
}

// The same with its hash computed.
Signature Signature::expanded() const {
  if (!only_) return *this;
  Signature result, step;
  result.exact_ = step.exact_ = exact_;
  step.length_ = 1;
  step.hash_ = only_;
  step.power_ = kBase;
  for (uint64_t left = length_; left > 0; left >>= 1) {
    if (left & 1) result = result.then(step);
    step = step.then(step);
  }
  return result;
}

Signature Signature::then(const Signature& next) const {
  if (length_ == 0) return next;
  if (next.length_ == 0) return *this;
  Signature both;
  if (only_ && only_ == next.only_) {
    both.only_ = only_;
  } else {
    const Signature left = expanded(), right = next.expanded();
    both.hash_ = add(multiply(left.hash_, right.power_), right.hash_);
    both.power_ = multiply(left.power_, right.power_);
  }
  both.length_ = length_ + next.length_;
  both.exact_ = exact_ && next.exact_;
  return both;
}

Signature Signature::times(uint64_t count) const {
  if (count == 0) return {};
  Signature result = *this;
  if (only_ || length_ == 0) {
    result.length_ *= count;
    return result;
  }
  Signature step = *this;
  for (uint64_t left = count - 1; left > 0; left >>= 1) {
    if (left & 1) result = result.then(step);
    step = step.then(step);
  }
  return result;
}

}  // namespace tutti::mpi
