// SPDX-License-Identifier: BSD-3-Clause
// The source of the kernels, included once per instruction set. Everything is in an anonymous
// namespace and calls nothing from elsewhere: a function that two variants shared would be kept
// once by the linker, maybe with instructions that this processor lacks.
#pragma once

#include "memory/element.hpp"
#include "memory/kernels.hpp"

namespace tutti::memory {
namespace {

// Integer arithmetic wraps around; in an unsigned type that no promotion makes signed again.
template <class T>
struct WrapOf {
  using type = unsigned;
};
template <>
struct WrapOf<int64_t> {
  using type = uint64_t;
};
template <>
struct WrapOf<uint64_t> {
  using type = uint64_t;
};
template <>
struct WrapOf<__int128> {
  using type = unsigned __int128;
};
template <class T>
struct Wrapping {
  using W = typename WrapOf<T>::type;
  static T sum(T a, T b) { return static_cast<T>(static_cast<W>(a) + static_cast<W>(b)); }
  static T prod(T a, T b) { return static_cast<T>(static_cast<W>(a) * static_cast<W>(b)); }
};
template <class T>
struct Exact {
  static T sum(T a, T b) { return a + b; }
  static T prod(T a, T b) { return a * b; }
};

template <class T>
struct Complex {
  T real, imaginary;
};

template <class Rule, class T>
struct Sum {
  static T apply(T a, T b) { return Rule::sum(a, b); }
};
template <class Rule, class T>
struct Prod {
  static T apply(T a, T b) { return Rule::prod(a, b); }
};
template <class T>
struct ComplexSum {
  static T apply(T a, T b) {
    using Part = decltype(a.real);
    return {static_cast<Part>(a.real + b.real), static_cast<Part>(a.imaginary + b.imaginary)};
  }
};
template <class T>
struct ComplexProd {
  static T apply(T a, T b) {
    using Part = decltype(a.real);
    return {static_cast<Part>(a.real * b.real - a.imaginary * b.imaginary),
            static_cast<Part>(a.real * b.imaginary + a.imaginary * b.real)};
  }
};
template <class T>
struct Min {
  static T apply(T a, T b) { return a < b ? a : b; }
};
template <class T>
struct Max {
  static T apply(T a, T b) { return a > b ? a : b; }
};
template <class T>
struct And {
  static T apply(T a, T b) { return static_cast<T>((a != 0) & (b != 0)); }
};
template <class T>
struct Or {
  static T apply(T a, T b) { return static_cast<T>((a != 0) | (b != 0)); }
};
template <class T>
struct Xor {
  static T apply(T a, T b) { return static_cast<T>((a != 0) ^ (b != 0)); }
};
template <class T>
struct BitAnd {
  static T apply(T a, T b) { return static_cast<T>(a & b); }
};
template <class T>
struct BitOr {
  static T apply(T a, T b) { return static_cast<T>(a | b); }
};
template <class T>
struct BitXor {
  static T apply(T a, T b) { return static_cast<T>(a ^ b); }
};
// Of equal values the smaller index stays (6.9.4).
template <class T>
struct MinLoc {
  static T apply(T a, T b) {
    if (a.value < b.value) return a;
    if (a.value == b.value && a.index < b.index) return a;
    return b;
  }
};
template <class T>
struct MaxLoc {
  static T apply(T a, T b) {
    if (a.value > b.value) return a;
    if (a.value == b.value && a.index < b.index) return a;
    return b;
  }
};

// clang compares the addresses before such a loop instead, and warns of each that it cannot vectorize
// where it is told that it may.
#if defined(__clang__)
#define TUTTI_INDEPENDENT
#else
#define TUTTI_INDEPENDENT _Pragma("GCC ivdep")
#endif

// `right` may be `into`, element for element: no element depends on another one.
template <class F, class T>
void kernel(const Reduction&, const void* left, const void* right, void* into, int64_t count) {
  const T *const a = static_cast<const T*>(left), *const b = static_cast<const T*>(right);
  T* const to = static_cast<T*>(into);
  TUTTI_INDEPENDENT
  for (int64_t i = 0; i < count; i++) to[i] = F::apply(a[i], b[i]);
}

// Fields alone are written: the padding of a pair is not data.
template <class F, class T>
void pair_kernel(const Reduction&, const void* left, const void* right, void* into, int64_t count) {
  const T *const a = static_cast<const T*>(left), *const b = static_cast<const T*>(right);
  T* const to = static_cast<T*>(into);
  TUTTI_INDEPENDENT
  for (int64_t i = 0; i < count; i++) {
    const T result = F::apply(a[i], b[i]);
    to[i].value = result.value;
    to[i].index = result.index;
  }
}

constexpr Kernel& cell(KernelTable& table, OpCode op, Element element) {
  return table.at[static_cast<int>(op)][static_cast<int>(element)];
}

template <class Rule, class T>
constexpr void arithmetic(KernelTable& table, Element element) {
  cell(table, OpCode::sum, element) = kernel<Sum<Rule, T>, T>;
  cell(table, OpCode::prod, element) = kernel<Prod<Rule, T>, T>;
  cell(table, OpCode::min, element) = kernel<Min<T>, T>;
  cell(table, OpCode::max, element) = kernel<Max<T>, T>;
}
template <class T>
constexpr void logical(KernelTable& table, Element element) {
  cell(table, OpCode::land, element) = kernel<And<T>, T>;
  cell(table, OpCode::lor, element) = kernel<Or<T>, T>;
  cell(table, OpCode::lxor, element) = kernel<Xor<T>, T>;
}
template <class T>
constexpr void bits(KernelTable& table, Element element) {
  cell(table, OpCode::band, element) = kernel<BitAnd<T>, T>;
  cell(table, OpCode::bor, element) = kernel<BitOr<T>, T>;
  cell(table, OpCode::bxor, element) = kernel<BitXor<T>, T>;
}
template <class T>
constexpr void integer(KernelTable& table, Element element) {
  arithmetic<Wrapping<T>, T>(table, element);
  logical<T>(table, element);
  bits<T>(table, element);
}
template <class T>
constexpr void floating(KernelTable& table, Element real, Element complex) {
  arithmetic<Exact<T>, T>(table, real);
  using C = Complex<T>;
  cell(table, OpCode::sum, complex) = kernel<ComplexSum<C>, C>;
  cell(table, OpCode::prod, complex) = kernel<ComplexProd<C>, C>;
}
template <class T>
constexpr void pair(KernelTable& table, Element element) {
  cell(table, OpCode::minloc, element) = pair_kernel<MinLoc<T>, T>;
  cell(table, OpCode::maxloc, element) = pair_kernel<MaxLoc<T>, T>;
}

constexpr KernelTable make_kernels() {
  KernelTable table{};
  integer<int8_t>(table, Element::int8);
  integer<int16_t>(table, Element::int16);
  integer<int32_t>(table, Element::int32);
  integer<int64_t>(table, Element::int64);
  integer<__int128>(table, Element::int128);
  integer<uint8_t>(table, Element::uint8);
  integer<uint16_t>(table, Element::uint16);
  integer<uint32_t>(table, Element::uint32);
  integer<uint64_t>(table, Element::uint64);
#ifdef __FLT16_MANT_DIG__
  floating<Half>(table, Element::float16, Element::complex_float16);
#endif
  floating<float>(table, Element::float32, Element::complex_float32);
  floating<double>(table, Element::float64, Element::complex_float64);
  floating<long double>(table, Element::float80, Element::complex_float80);
  floating<Quad>(table, Element::float128, Element::complex_float128);
  logical<int8_t>(table, Element::logical8);
  logical<int16_t>(table, Element::logical16);
  logical<int32_t>(table, Element::logical32);
  logical<int64_t>(table, Element::logical64);
  logical<__int128>(table, Element::logical128);
  logical<uint8_t>(table, Element::boolean);
  bits<uint8_t>(table, Element::byte);
  pair<FloatInt>(table, Element::float_int);
  pair<DoubleInt>(table, Element::double_int);
  pair<LongInt>(table, Element::long_int);
  pair<TwoInt>(table, Element::two_int);
  pair<ShortInt>(table, Element::short_int);
  pair<LongDoubleInt>(table, Element::long_double_int);
  pair<TwoFloat>(table, Element::two_float);
  pair<TwoDouble>(table, Element::two_double);
  return table;
}

}  // namespace
}  // namespace tutti::memory
