// SPDX-License-Identifier: BSD-3-Clause
// How an element of a predefined datatype lies in memory: one name for each representation, whatever the names of the
// types that have it; the C structs behind the predefined pair types (the standard, 6.9.4), and floating types that C++
// has no name for. Shared by the table of datatypes and the kernels.
#pragma once

#include <cstdint>

namespace tutti::memory {

enum class Element : uint8_t {
  none,  // derived types
  // clang-format off
  int8, int16, int32, int64, int128, uint8, uint16, uint32, uint64,
  float16, float32, float64, float80, float128,
  complex_float16, complex_float32, complex_float64, complex_float80, complex_float128,
  logical8, logical16, logical32, logical64, logical128, boolean, byte,
  float_int, double_int, long_int, two_int, short_int, long_double_int, two_float, two_double,
  count,
};
// clang-format on

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

}  // namespace tutti::memory
