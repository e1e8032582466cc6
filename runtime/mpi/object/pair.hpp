// SPDX-License-Identifier: BSD-3-Clause
// The C structs behind the predefined pair types (the standard, 6.9.4), and the 128-bit floating
// type. Shared by the table of datatypes and the kernels.
#pragma once

#include <cstdint>

namespace tutti::mpi {

template <class Value, class Index = int>
struct Pair {
  using value_type = Value;
  Value value;
  Index index;
};
using FloatInt = Pair<float>;
using DoubleInt = Pair<double>;
using LongInt = Pair<long>;
using TwoInt = Pair<int>;
using ShortInt = Pair<short>;
using LongDoubleInt = Pair<long double>;
using TwoFloat = Pair<float, float>;
using TwoDouble = Pair<double, double>;

#ifdef __SIZEOF_FLOAT128__
using Quad = __float128;
#else
using Quad = long double;  // has 128 bits where the compiler has no other such type
static_assert(sizeof(Quad) == 16);
#endif

// Half precision. GCC 12 has this name in C++ on x86-64 alone; on aarch64 numbers of that format compute as float.
#ifdef __FLT16_MANT_DIG__
#if defined(__aarch64__) && defined(__GNUC__) && !defined(__clang__) && __GNUC__ < 13
using Half = __fp16;
#else
using Half = _Float16;
#endif
#endif

}  // namespace tutti::mpi
