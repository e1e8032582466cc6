// SPDX-License-Identifier: BSD-3-Clause
// Reductions: which operation is defined on which type, what it computes, and how a user's
// function is called.
#include "mpi/type/op.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <climits>
#include <complex>
#include <cstring>
#include <functional>
#include <limits>
#include <random>
#include <set>
#include <vector>

#include "base/cpu.hpp"
#include "memory/element.hpp"
#include "memory/kernels.hpp"
#include "mpi/type/api_op.hpp"

namespace tutti::mpi {
namespace {

Datatype& type_of(MPI_Datatype handle) {
  return *resolve<Datatype>(handle);
}
Op& op_of(MPI_Op handle) {
  return *resolve<Op>(handle);
}

std::vector<MPI_Datatype> all_types() {
  std::vector<MPI_Datatype> all;
  for (uintptr_t value = 0x200; value < 0x300; value++)
    if (resolve<Datatype>(reinterpret_cast<MPI_Datatype>(value))) all.push_back(reinterpret_cast<MPI_Datatype>(value));
  return all;
}

using Types = std::set<MPI_Datatype>;

Types operator|(Types a, const Types& b) {
  a.insert(b.begin(), b.end());
  return a;
}

// The tables of the standard, 6.9.2, by the names of the types.
const Types kCInteger = {MPI_INT,
                         MPI_LONG,
                         MPI_SHORT,
                         MPI_UNSIGNED_SHORT,
                         MPI_UNSIGNED,
                         MPI_UNSIGNED_LONG,
                         MPI_LONG_LONG_INT,
                         MPI_LONG_LONG,
                         MPI_UNSIGNED_LONG_LONG,
                         MPI_SIGNED_CHAR,
                         MPI_UNSIGNED_CHAR,
                         MPI_INT8_T,
                         MPI_INT16_T,
                         MPI_INT32_T,
                         MPI_INT64_T,
                         MPI_UINT8_T,
                         MPI_UINT16_T,
                         MPI_UINT32_T,
                         MPI_UINT64_T};
const Types kFortranInteger = {MPI_INTEGER, MPI_INTEGER1, MPI_INTEGER2, MPI_INTEGER4, MPI_INTEGER8, MPI_INTEGER16};
const Types kFloating = {MPI_FLOAT, MPI_DOUBLE, MPI_REAL,  MPI_DOUBLE_PRECISION, MPI_LONG_DOUBLE, MPI_REAL2,
                         MPI_REAL4, MPI_REAL8,  MPI_REAL16};
const Types kLogical = {MPI_LOGICAL,  MPI_C_BOOL,   MPI_CXX_BOOL, MPI_LOGICAL1,
                        MPI_LOGICAL2, MPI_LOGICAL4, MPI_LOGICAL8, MPI_LOGICAL16};
const Types kComplex = {MPI_COMPLEX,
                        MPI_C_COMPLEX,
                        MPI_C_FLOAT_COMPLEX,
                        MPI_C_DOUBLE_COMPLEX,
                        MPI_C_LONG_DOUBLE_COMPLEX,
                        MPI_CXX_FLOAT_COMPLEX,
                        MPI_CXX_DOUBLE_COMPLEX,
                        MPI_CXX_LONG_DOUBLE_COMPLEX,
                        MPI_DOUBLE_COMPLEX,
                        MPI_COMPLEX4,
                        MPI_COMPLEX8,
                        MPI_COMPLEX16,
                        MPI_COMPLEX32};
const Types kByte = {MPI_BYTE};
const Types kCharacter = {MPI_CHAR, MPI_CHARACTER};
const Types kMultiLanguage = {MPI_AINT, MPI_OFFSET, MPI_COUNT};
const Types kPair = {MPI_FLOAT_INT,       MPI_DOUBLE_INT, MPI_LONG_INT,          MPI_2INT,    MPI_SHORT_INT,
                     MPI_LONG_DOUBLE_INT, MPI_2REAL,      MPI_2DOUBLE_PRECISION, MPI_2INTEGER};

// And on characters, and logical operations on addresses and their kin, which the standard leaves undefined
// and other MPIs compute.
TEST(Op, IsComputedWhereTheStandardSaysSoAndOnLittleMore) {
  const Types ordered = kCInteger | kFortranInteger | kFloating | kMultiLanguage | kCharacter;
  const Types bits = kCInteger | kFortranInteger | kByte | kMultiLanguage | kCharacter;
  const Types truths = kCInteger | kLogical | kMultiLanguage | kCharacter;
  const std::vector<std::pair<MPI_Op, Types>> rules = {{MPI_MAX, ordered},
                                                       {MPI_MIN, ordered},
                                                       {MPI_SUM, ordered | kComplex},
                                                       {MPI_PROD, ordered | kComplex},
                                                       {MPI_LAND, truths},
                                                       {MPI_LOR, truths},
                                                       {MPI_LXOR, truths},
                                                       {MPI_BAND, bits},
                                                       {MPI_BOR, bits},
                                                       {MPI_BXOR, bits},
                                                       {MPI_MAXLOC, kPair},
                                                       {MPI_MINLOC, kPair},
                                                       {MPI_REPLACE, {}},
                                                       {MPI_NO_OP, {}}};
  EXPECT_EQ(all_types().size(), 70u);
  for (const auto& [op, allowed] : rules)
    for (MPI_Datatype type : all_types()) {
      SCOPED_TRACE(op_of(op).name + " on " + type_of(type).name);
      const auto bound = bind(op_of(op), 1, type_of(type));
      EXPECT_EQ(static_cast<bool>(bound), allowed.contains(type));
      if (!bound) {
        EXPECT_EQ(bound.error().mpi_class(), MPI_ERR_OP);
      }
    }
}

TEST(Op, SaysWhatIsNotDefined) {
  EXPECT_EQ(bind(op_of(MPI_BAND), 1, type_of(MPI_DOUBLE)).error().message(),
            "MPI_BAND is not defined on MPI_DOUBLE (the standard, 6.9.2)");
  Datatype derived(Layout::dense(8), true);
  EXPECT_NE(bind(op_of(MPI_SUM), 1, derived).error().message().find("MPI_Op_create"), std::string::npos);
}

// Applies to many random values and compares with `expected` bit by bit; the number is odd so that
// vectors have a tail.
template <class T>
void check(MPI_Datatype type, MPI_Op op, std::function<T(T, T)> expected, std::function<T(std::mt19937&)> random) {
  SCOPED_TRACE(op_of(op).name + " on " + type_of(type).name);
  ASSERT_EQ(type_of(type).layout->extent(), static_cast<int64_t>(sizeof(T)));
  constexpr int count = 1003;
  std::mt19937 generator(7);
  static T in[count], inout[count], wanted[count];
  for (int i = 0; i < count; i++) {
    in[i] = random(generator);
    inout[i] = random(generator);
    wanted[i] = expected(in[i], inout[i]);
  }
  ASSERT_FALSE(reduce_local(in, inout, count, type_of(type), op_of(op)));
  for (int i = 0; i < count; i++) ASSERT_TRUE(inout[i] == wanted[i]) << i;
}

template <class T>
T any_integer(std::mt19937& generator) {
  const uint64_t high = generator(), low = generator();
  T value = static_cast<T>(high << 32 | low);
  return generator() % 4 == 0 ? T{0} : value;
}

// Reference arithmetic in 128 bits, cut off: what wrapping means.
template <class T>
void check_integer(MPI_Datatype type) {
  using W = unsigned __int128;
  const auto r = any_integer<T>;
  check<T>(type, MPI_SUM, [](T a, T b) { return static_cast<T>(W(a) + W(b)); }, r);
  check<T>(type, MPI_PROD, [](T a, T b) { return static_cast<T>(W(a) * W(b)); }, r);
  check<T>(type, MPI_MIN, [](T a, T b) { return std::min(a, b); }, r);
  check<T>(type, MPI_MAX, [](T a, T b) { return std::max(a, b); }, r);
  check<T>(type, MPI_BAND, [](T a, T b) { return static_cast<T>(a & b); }, r);
  check<T>(type, MPI_BOR, [](T a, T b) { return static_cast<T>(a | b); }, r);
  check<T>(type, MPI_BXOR, [](T a, T b) { return static_cast<T>(a ^ b); }, r);
}

template <class T>
void check_truth(MPI_Datatype type) {
  const auto r = any_integer<T>;
  check<T>(type, MPI_LAND, [](T a, T b) -> T { return a && b; }, r);
  check<T>(type, MPI_LOR, [](T a, T b) -> T { return a || b; }, r);
  check<T>(type, MPI_LXOR, [](T a, T b) -> T { return !a != !b; }, r);
}

TEST(Op, ComputesOnIntegers) {
  check_integer<int>(MPI_INT), check_truth<int>(MPI_INT);
  check_integer<long>(MPI_LONG), check_truth<long>(MPI_LONG);
  check_integer<short>(MPI_SHORT), check_truth<short>(MPI_SHORT);
  check_integer<signed char>(MPI_SIGNED_CHAR), check_truth<signed char>(MPI_SIGNED_CHAR);
  check_integer<unsigned char>(MPI_UNSIGNED_CHAR), check_truth<unsigned char>(MPI_UNSIGNED_CHAR);
  check_integer<unsigned short>(MPI_UNSIGNED_SHORT);
  check_integer<unsigned>(MPI_UNSIGNED), check_truth<unsigned>(MPI_UNSIGNED);
  check_integer<unsigned long>(MPI_UNSIGNED_LONG);
  check_integer<long long>(MPI_LONG_LONG);
  check_integer<unsigned long long>(MPI_UNSIGNED_LONG_LONG);
  check_integer<int8_t>(MPI_INT8_T), check_integer<uint8_t>(MPI_UINT8_T);
  check_integer<int16_t>(MPI_INT16_T), check_integer<uint16_t>(MPI_UINT16_T);
  check_integer<int32_t>(MPI_INT32_T), check_integer<uint32_t>(MPI_UINT32_T);
  check_integer<int64_t>(MPI_INT64_T), check_integer<uint64_t>(MPI_UINT64_T);
  check_integer<MPI_Aint>(MPI_AINT), check_integer<MPI_Count>(MPI_COUNT);
  check_integer<MPI_Offset>(MPI_OFFSET);
  check_integer<int>(MPI_INTEGER), check_integer<int8_t>(MPI_INTEGER1);
  check_integer<int16_t>(MPI_INTEGER2), check_integer<int64_t>(MPI_INTEGER8);
  check_integer<__int128>(MPI_INTEGER16);
}

TEST(Op, ComputesOnTruthValues) {
  check_truth<int>(MPI_LOGICAL), check_truth<int8_t>(MPI_LOGICAL1);
  check_truth<int16_t>(MPI_LOGICAL2), check_truth<int32_t>(MPI_LOGICAL4);
  check_truth<int64_t>(MPI_LOGICAL8), check_truth<__int128>(MPI_LOGICAL16);
  check_truth<bool>(MPI_C_BOOL), check_truth<bool>(MPI_CXX_BOOL);
  const auto r = any_integer<uint8_t>;
  using B = uint8_t;
  check<B>(MPI_BYTE, MPI_BAND, [](B a, B b) -> B { return a & b; }, r);
  check<B>(MPI_BYTE, MPI_BOR, [](B a, B b) -> B { return a | b; }, r);
  check<B>(MPI_BYTE, MPI_BXOR, [](B a, B b) -> B { return a ^ b; }, r);
}

template <class T>
T any_real(std::mt19937& generator) {
  return static_cast<T>(static_cast<int>(generator() % 4001) - 2000) / static_cast<T>(64);
}

template <class T>
void check_real(MPI_Datatype type) {
  const auto r = any_real<T>;
  check<T>(type, MPI_SUM, [](T a, T b) -> T { return a + b; }, r);
  check<T>(type, MPI_PROD, [](T a, T b) -> T { return a * b; }, r);
  check<T>(type, MPI_MIN, [](T a, T b) { return a < b ? a : b; }, r);
  check<T>(type, MPI_MAX, [](T a, T b) { return a > b ? a : b; }, r);
}

template <class T>
struct Z {
  T re, im;
  bool operator==(const Z& other) const { return re == other.re && im == other.im; }
};
template <class T>
void check_complex(MPI_Datatype type) {
  using C = Z<T>;
  auto r = [](std::mt19937& g) { return C{any_real<T>(g), any_real<T>(g)}; };
  check<C>(type, MPI_SUM, [](C a, C b) { return C{T(a.re + b.re), T(a.im + b.im)}; }, r);
  check<C>(type, MPI_PROD, [](C a, C b) { return C{T(a.re * b.re - a.im * b.im), T(a.re * b.im + a.im * b.re)}; }, r);
}

TEST(Op, ComputesOnFloatingPointNumbers) {
  check_real<float>(MPI_FLOAT), check_real<float>(MPI_REAL), check_real<float>(MPI_REAL4);
  check_real<double>(MPI_DOUBLE), check_real<double>(MPI_DOUBLE_PRECISION);
  check_real<double>(MPI_REAL8), check_real<long double>(MPI_LONG_DOUBLE);
  check_real<memory::Quad>(MPI_REAL16);
  check_complex<float>(MPI_C_FLOAT_COMPLEX), check_complex<float>(MPI_CXX_FLOAT_COMPLEX);
  check_complex<double>(MPI_C_DOUBLE_COMPLEX), check_complex<double>(MPI_DOUBLE_COMPLEX);
  check_complex<long double>(MPI_C_LONG_DOUBLE_COMPLEX), check_complex<float>(MPI_COMPLEX);
  check_complex<memory::Quad>(MPI_COMPLEX32), check_complex<double>(MPI_COMPLEX16);
#ifdef __FLT16_MANT_DIG__
  check_real<memory::Half>(MPI_REAL2);
  check_complex<memory::Half>(MPI_COMPLEX4);
#endif
}

template <class V, class I = int>
void check_pair(MPI_Datatype type) {
  struct P {
    V value;
    I index;
    bool operator==(const P&) const = default;
  };
  auto r = [](std::mt19937& g) {  // few different values, so that many are equal
    return P{static_cast<V>(static_cast<int>(g() % 5) - 2), static_cast<I>(g() % 100)};
  };
  auto least = [](P a, P b) {
    return a.value == b.value ? P{a.value, std::min(a.index, b.index)} : a.value < b.value ? a : b;
  };
  auto most = [](P a, P b) {
    return a.value == b.value ? P{a.value, std::min(a.index, b.index)} : a.value > b.value ? a : b;
  };
  check<P>(type, MPI_MINLOC, least, r);
  check<P>(type, MPI_MAXLOC, most, r);
}

TEST(Op, PairsKeepTheSmallerIndexOfEqualValues) {
  check_pair<float>(MPI_FLOAT_INT), check_pair<double>(MPI_DOUBLE_INT);
  check_pair<long>(MPI_LONG_INT), check_pair<int>(MPI_2INT), check_pair<short>(MPI_SHORT_INT);
  check_pair<long double>(MPI_LONG_DOUBLE_INT), check_pair<int>(MPI_2INTEGER);
  check_pair<float, float>(MPI_2REAL), check_pair<double, double>(MPI_2DOUBLE_PRECISION);
}

TEST(Op, VariantsForProcessorsGiveTheSameBits) {
#if defined(__x86_64__)
  if (!cpu::has_avx2()) GTEST_SKIP() << "this processor has no AVX2";
  std::mt19937 generator(3);
  constexpr int count = 517;
  alignas(64) uint16_t in[count * 16], start[count * 16], base[count * 16], avx2[count * 16], right[count * 16],
      apart[count * 16];
  for (int op = 0; op < memory::kOpCodes; op++)
    for (int element = 0; element < static_cast<int>(Element::count); element++) {
      const memory::Kernel one = memory::kBaseKernels.at[op][element], other = memory::kAvx2Kernels.at[op][element];
      ASSERT_EQ(one == nullptr, other == nullptr);
      if (!one) continue;
      if (std::set{Element::float80, Element::complex_float80, Element::long_double_int}.contains(
              static_cast<Element>(element)))
        continue;  // has padding, and no vectors
      // Whatever they are read as, these bytes are no NaN, whose bits the compiler may choose.
      for (int i = 0; i < count * 16; i++) {
        in[i] = static_cast<uint16_t>(0x3c00 + generator() % 0x400);
        start[i] = static_cast<uint16_t>(0x3c00 + generator() % 0x400);
      }
      std::memcpy(base, start, sizeof start);
      std::memcpy(avx2, start, sizeof start);
      one({}, in, base, base, count);
      other({}, in, avx2, avx2, count);
      EXPECT_EQ(std::memcmp(base, avx2, sizeof base), 0) << op << " " << element;
      // And with the result apart from the right operand, which stays; padding is not written.
      for (const memory::Kernel kernel : {one, other}) {
        std::memcpy(right, start, sizeof start);
        std::memcpy(apart, start, sizeof start);
        kernel({}, in, right, apart, count);
        EXPECT_EQ(std::memcmp(base, apart, sizeof base), 0) << op << " " << element;
        EXPECT_EQ(std::memcmp(right, start, sizeof start), 0) << op << " " << element;
      }
    }
#endif
}

// --- a user's operations

std::vector<int> lengths;
MPI_Datatype seen_type;
void left_minus_right(void* in, void* inout, int* length, MPI_Datatype* datatype) {
  lengths.push_back(*length);
  seen_type = *datatype;
  if (*length > 1000) return;
  for (int i = 0; i < *length; i++)
    static_cast<int*>(inout)[i] = static_cast<int*>(in)[i] - static_cast<int*>(inout)[i];
  *length = -1;  // must not confuse the caller
}
MPI_Count large_length;
void count_only(void*, void*, MPI_Count* length, MPI_Datatype*) {
  large_length = *length;
}

TEST(Op, UserFunctionGetsOperandsAndHandle) {
  MPI_Op handle = MPI_OP_NULL;
  ASSERT_FALSE(op_create(left_minus_right, 0, &handle));
  int commute = -1;
  ASSERT_FALSE(op_commutative(op_of(handle), &commute));
  EXPECT_EQ(commute, 0);
  const int in[] = {10, 20, 30};
  int inout[] = {1, 2, 3};
  lengths.clear();
  ASSERT_FALSE(reduce_local(in, inout, 3, type_of(MPI_INT), op_of(handle)));
  EXPECT_EQ((std::vector<int>{inout, inout + 3}), (std::vector<int>{9, 18, 27}));
  EXPECT_EQ(lengths, std::vector<int>{3});
  EXPECT_EQ(seen_type, MPI_INT);
  ASSERT_FALSE(reduce_local(in, inout, 0, type_of(MPI_INT), op_of(handle)));
  EXPECT_EQ(lengths.size(), 1u);

  auto* derived = new Datatype(Layout::repeat(Layout::dense(4, 4), 3, 4), true);
  ASSERT_FALSE(reduce_local(in, inout, 1, *derived, op_of(handle)));
  EXPECT_EQ(seen_type, derived->handle);
  EXPECT_EQ(resolve<Datatype>(seen_type), derived);
  derived->release();
  ASSERT_FALSE(op_free(&handle));
  EXPECT_EQ(handle, MPI_OP_NULL);
}

TEST(Op, SmallFunctionIsCalledInChunksItCanCount) {
  MPI_Op small = MPI_OP_NULL, large = MPI_OP_NULL;
  ASSERT_FALSE(op_create(left_minus_right, 1, &small));
  ASSERT_FALSE(op_create(count_only, 1, &large));
  // An empty element: so many of them need no memory.
  auto* empty = new Datatype(Layout::repeat(Layout::dense(4), 0, 4), true);
  const int64_t count = int64_t{INT_MAX} * 2 + 5;
  int in[8] = {}, inout[8] = {};
  lengths.clear();
  ASSERT_FALSE(reduce_local(in, inout, count, *empty, op_of(small)));
  EXPECT_EQ(lengths, (std::vector<int>{INT_MAX, INT_MAX, 5}));
  ASSERT_FALSE(reduce_local(in, inout, count, *empty, op_of(large)));
  EXPECT_EQ(large_length, count);
  empty->release();
  ASSERT_FALSE(op_free(&small));
  ASSERT_FALSE(op_free(&large));
}

TEST(Op, MisuseIsRefused) {
  MPI_Op sum = MPI_SUM, none = MPI_OP_NULL;
  EXPECT_EQ(op_free(&sum).mpi_class(), MPI_ERR_OP);
  EXPECT_EQ(sum, MPI_SUM);
  EXPECT_EQ(op_create(static_cast<MPI_User_function*>(nullptr), 1, &none).mpi_class(), MPI_ERR_ARG);
  EXPECT_EQ(resolve<Op>(MPI_OP_NULL), nullptr);
  int value = 1;
  EXPECT_EQ(reduce_local(&value, &value, 1, type_of(MPI_INT), op_of(MPI_SUM)).mpi_class(), MPI_ERR_BUFFER);
}

}  // namespace
}  // namespace tutti::mpi
