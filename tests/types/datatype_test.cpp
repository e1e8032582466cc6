// SPDX-License-Identifier: BSD-3-Clause
// Datatypes through the functions behind the C API: what each constructor describes, what it
// refuses, what can be asked of it, and that types live as long as they are used.
#include "mpi/type/datatype.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cfloat>
#include <complex>
#include <cstring>
#include <numeric>
#include <utility>

#include "memory/element.hpp"
#include "mpi/object/status.hpp"
#include "mpi/type/api_datatype.hpp"
#include "types.hpp"

namespace tutti::mpi {
namespace {

constexpr int64_t kHuge = int64_t{1} << 62;

// Displacements of the data of one element, in units of int, in type-map order: packs an array in
// which each int holds its own index.
std::vector<int> ints_of(const Datatype& type) {
  std::vector<int> memory(4096), out(static_cast<size_t>(type.layout->size() / 4));
  std::iota(memory.begin(), memory.end(), 0);
  type.layout->pack(memory.data() + 100, 1, 0, out.data(), type.layout->size());
  for (int& value : out) value -= 100;
  return out;
}

using List = std::vector<int>;

// --- predefined types

TEST(Datatype, PredefinedHaveNamesSizesAndAlignment) {
  int64_t size = 0, lb = -1, extent = 0;
  char name[MPI_MAX_OBJECT_NAME];
  int length = 0;
  ASSERT_FALSE(type_get_name(&of(MPI_UNSIGNED_LONG), name, &length));
  EXPECT_STREQ(name, "MPI_UNSIGNED_LONG");
  EXPECT_EQ(length, 17);
  const std::vector<std::pair<MPI_Datatype, size_t>> sizes = {{MPI_CHAR, 1},
                                                              {MPI_SHORT, 2},
                                                              {MPI_INT, 4},
                                                              {MPI_LONG, sizeof(long)},
                                                              {MPI_LONG_LONG, 8},
                                                              {MPI_FLOAT, 4},
                                                              {MPI_DOUBLE, 8},
                                                              {MPI_LONG_DOUBLE, sizeof(long double)},
                                                              {MPI_WCHAR, sizeof(wchar_t)},
                                                              {MPI_C_BOOL, 1},
                                                              {MPI_AINT, sizeof(MPI_Aint)},
                                                              {MPI_COUNT, sizeof(MPI_Count)},
                                                              {MPI_OFFSET, sizeof(MPI_Offset)},
                                                              {MPI_PACKED, 1},
                                                              {MPI_BYTE, 1},
                                                              {MPI_C_DOUBLE_COMPLEX, 16},
                                                              {MPI_INTEGER, 4},
                                                              {MPI_REAL, 4},
                                                              {MPI_DOUBLE_PRECISION, 8},
                                                              {MPI_LOGICAL, 4},
                                                              {MPI_CHARACTER, 1},
                                                              {MPI_COMPLEX, 8},
                                                              {MPI_REAL2, 2},
                                                              {MPI_COMPLEX4, 4},
                                                              {MPI_REAL16, 16},
                                                              {MPI_COMPLEX32, 32},
                                                              {MPI_INTEGER16, 16}};
  for (const auto& [type, expected] : sizes) {
    ASSERT_FALSE(type_size(of(type), size));
    ASSERT_FALSE(type_get_extent(of(type), lb, extent));
    EXPECT_EQ(size, static_cast<int64_t>(expected)) << of(type).name;
    EXPECT_EQ(extent, size);
    EXPECT_EQ(lb, 0);
    EXPECT_TRUE(of(type).committed);
    EXPECT_TRUE(of(type).layout->is_dense());
  }
  EXPECT_EQ(resolve<Datatype>(MPI_DATATYPE_NULL), nullptr);
  EXPECT_EQ(resolve<Datatype>(reinterpret_cast<MPI_Datatype>(MPI_SUM)), nullptr);
}

template <class P>
void check_pair(MPI_Datatype type, size_t data) {
  EXPECT_EQ(of(type).layout->extent(), static_cast<int64_t>(sizeof(P))) << of(type).name;
  EXPECT_EQ(of(type).layout->size(), static_cast<int64_t>(data)) << of(type).name;
  EXPECT_EQ(of(type).basic_elements, 2);
}

TEST(Datatype, PairsLieAsTheirStructs) {
  check_pair<memory::FloatInt>(MPI_FLOAT_INT, 8);
  check_pair<memory::DoubleInt>(MPI_DOUBLE_INT, 12);
  check_pair<memory::LongInt>(MPI_LONG_INT, 12);
  check_pair<memory::TwoInt>(MPI_2INT, 8);
  check_pair<memory::ShortInt>(MPI_SHORT_INT, 6);
  check_pair<memory::LongDoubleInt>(MPI_LONG_DOUBLE_INT, 20);
  check_pair<memory::TwoFloat>(MPI_2REAL, 8);
  check_pair<memory::TwoDouble>(MPI_2DOUBLE_PRECISION, 16);
  check_pair<memory::TwoInt>(MPI_2INTEGER, 8);
  memory::ShortInt pairs[2] = {{1, 2}, {3, 4}};
  unsigned char packed[12];
  of(MPI_SHORT_INT).layout->pack(pairs, 2, 0, packed, 12);
  const unsigned char expected[12] = {1, 0, 2, 0, 0, 0, 3, 0, 4, 0, 0, 0};
  EXPECT_EQ(std::memcmp(packed, expected, 12), 0);
}

// --- constructors

TEST(Datatype, Contiguous) {
  Type type;
  ASSERT_FALSE(type_contiguous(5, of(MPI_INT), &type));
  EXPECT_FALSE(type->committed);
  ASSERT_FALSE(type_commit(&type));
  EXPECT_TRUE(type->committed);
  EXPECT_TRUE(type->layout->is_dense());
  EXPECT_EQ(ints_of(*type), (List{0, 1, 2, 3, 4}));
}

TEST(Datatype, VectorAndHvector) {
  Type type, dense, backwards, bytes;
  ASSERT_FALSE(type_vector(2, 3, 4, of(MPI_INT), &type));
  EXPECT_EQ(ints_of(*type), (List{0, 1, 2, 4, 5, 6}));
  EXPECT_EQ(type->layout->extent(), 28);
  ASSERT_FALSE(type_vector(100, 3, 3, of(MPI_INT), &dense));
  EXPECT_TRUE(dense->layout->is_dense());
  ASSERT_FALSE(type_vector(3, 1, -2, of(MPI_INT), &backwards));
  EXPECT_EQ(ints_of(*backwards), (List{0, -2, -4}));
  EXPECT_EQ(backwards->layout->lower_bound(), -16);
  EXPECT_EQ(backwards->layout->extent(), 20);
  ASSERT_FALSE(type_create_hvector(2, 1, 12, of(MPI_INT), &bytes));
  EXPECT_EQ(ints_of(*bytes), (List{0, 3}));
}

TEST(Datatype, IndexedFamily) {
  const int lengths[] = {2, 0, 1}, places[] = {5, 99, 0};
  const MPI_Aint addresses[] = {20, 396, 0};
  Type indexed, hindexed, block, hblock;
  ASSERT_FALSE(type_indexed(3, lengths, places, of(MPI_INT), &indexed));
  EXPECT_EQ(ints_of(*indexed), (List{5, 6, 0}));
  ASSERT_FALSE(type_create_hindexed(3, lengths, addresses, of(MPI_INT), &hindexed));
  EXPECT_EQ(ints_of(*hindexed), (List{5, 6, 0}));
  ASSERT_FALSE(type_create_indexed_block(3, 2, places, of(MPI_INT), &block));
  EXPECT_EQ(ints_of(*block), (List{5, 6, 99, 100, 0, 1}));
  ASSERT_FALSE(type_create_hindexed_block(3, 2, addresses, of(MPI_INT), &hblock));
  EXPECT_EQ(ints_of(*hblock), (List{5, 6, 99, 100, 0, 1}));
}

TEST(Datatype, StructOfTheStandardsExample) {
  // { double; char } twice, 26 bytes on: 5.1.2's type map {(double,0),(char,8)}.
  Type pair, all;
  const int lengths[] = {1, 1};
  const MPI_Aint places[] = {0, 8};
  const MPI_Datatype types[] = {MPI_DOUBLE, MPI_CHAR};
  ASSERT_FALSE(type_create_struct(2, lengths, places, types, &pair));
  EXPECT_EQ(pair->layout->size(), 9);
  EXPECT_EQ(pair->layout->extent(), 16);
  const int counts[] = {2, 1, 3};
  const MPI_Aint where[] = {0, 16, 26};
  const MPI_Datatype parts[] = {MPI_FLOAT, pair.handle, MPI_CHAR};
  ASSERT_FALSE(type_create_struct(3, counts, where, parts, &all));
  EXPECT_EQ(all->layout->size(), 8 + 9 + 3);
  EXPECT_EQ(all->layout->true_extent(), 29);
  EXPECT_EQ(all->layout->extent(), 32);
  EXPECT_EQ(all->basic_elements, 7);
}

TEST(Datatype, Subarray) {
  const int sizes[] = {4, 6}, subsizes[] = {2, 3}, starts[] = {1, 2};
  Type c, fortran;
  ASSERT_FALSE(type_create_subarray(2, sizes, subsizes, starts, MPI_ORDER_C, of(MPI_INT), &c));
  EXPECT_EQ(ints_of(*c), (List{8, 9, 10, 14, 15, 16}));
  EXPECT_EQ(c->layout->extent(), 4 * 6 * 4);
  EXPECT_EQ(c->layout->lower_bound(), 0);
  ASSERT_FALSE(type_create_subarray(2, sizes, subsizes, starts, MPI_ORDER_FORTRAN, of(MPI_INT), &fortran));
  EXPECT_EQ(ints_of(*fortran), (List{9, 10, 13, 14, 17, 18}));
}

// The indices that a process owns in one dimension, by dealing them out one by one.
List dealt(int gsize, int distribution, int argument, int psize, int coordinate) {
  int block = argument;
  if (distribution == MPI_DISTRIBUTE_NONE) block = gsize;
  if (argument == MPI_DISTRIBUTE_DFLT_DARG)
    block = distribution == MPI_DISTRIBUTE_BLOCK ? (gsize + psize - 1) / psize : 1;
  if (distribution == MPI_DISTRIBUTE_NONE) block = gsize;
  List mine;
  for (int i = 0; i < gsize; i++)
    if (i / block % psize == coordinate) mine.push_back(i);
  return mine;
}

TEST(Datatype, DarrayDealsEveryElementOnce) {
  struct Case {
    std::array<int, 3> gsizes, distribs, dargs, psizes;
  };
  const int none = MPI_DISTRIBUTE_NONE, block = MPI_DISTRIBUTE_BLOCK, cyclic = MPI_DISTRIBUTE_CYCLIC;
  const int dflt = MPI_DISTRIBUTE_DFLT_DARG;
  const Case cases[] = {
      {{5, 7, 3}, {block, cyclic, none}, {dflt, dflt, dflt}, {2, 3, 1}},
      {{9, 8, 5}, {cyclic, block, cyclic}, {2, 5, 3}, {2, 2, 1}},
      {{4, 4, 9}, {cyclic, cyclic, cyclic}, {3, 1, 2}, {3, 1, 2}},
      {{2, 3, 4}, {block, block, block}, {dflt, dflt, 4}, {4, 2, 2}},  // some get nothing
  };
  for (const Case& c : cases)
    for (const int order : {MPI_ORDER_C, MPI_ORDER_FORTRAN}) {
      const int size = c.psizes[0] * c.psizes[1] * c.psizes[2];
      for (int rank = 0; rank < size; rank++) {
        Type type;
        ASSERT_FALSE(type_create_darray(size, rank, 3, c.gsizes.data(), c.distribs.data(), c.dargs.data(),
                                        c.psizes.data(), order, of(MPI_INT), &type));
        List mine[3], expected;
        const int coordinates[] = {rank / (c.psizes[1] * c.psizes[2]), rank / c.psizes[2] % c.psizes[1],
                                   rank % c.psizes[2]};
        for (int d = 0; d < 3; d++)
          mine[d] = dealt(c.gsizes[d], c.distribs[d], c.dargs[d], c.psizes[d], coordinates[d]);
        const int slow = order == MPI_ORDER_C ? 0 : 2, fast = 2 - slow;
        for (int i : mine[slow])
          for (int j : mine[1])
            for (int k : mine[fast]) expected.push_back((i * c.gsizes[1] + j) * c.gsizes[fast] + k);
        EXPECT_EQ(ints_of(*type), expected);
        EXPECT_EQ(type->basic_elements, static_cast<int64_t>(expected.size()));
        EXPECT_EQ(type->layout->extent(), 4 * c.gsizes[0] * c.gsizes[1] * c.gsizes[2]);
      }
    }
}

TEST(Datatype, ResizedKeepsTheTrueBounds) {
  Type type;
  ASSERT_FALSE(type_create_resized(of(MPI_INT), -4, 16, &type));
  int64_t lb = 0, extent = 0;
  ASSERT_FALSE(type_get_extent(*type, lb, extent));
  EXPECT_EQ(lb, -4);
  EXPECT_EQ(extent, 16);
  ASSERT_FALSE(type_get_true_extent(*type, lb, extent));
  EXPECT_EQ(lb, 0);
  EXPECT_EQ(extent, 4);
}

TEST(Datatype, EmptyTypesAreTypes) {
  Type none, structure;
  ASSERT_FALSE(type_contiguous(0, of(MPI_DOUBLE), &none));
  ASSERT_FALSE(type_create_struct(0, static_cast<const int*>(nullptr), static_cast<const MPI_Aint*>(nullptr), nullptr,
                                  &structure));
  for (const Datatype* type : {&*none, &*structure}) {
    EXPECT_EQ(type->layout->size(), 0);
    EXPECT_EQ(type->layout->extent(), 0);
    EXPECT_EQ(type->basic_elements, 0);
  }
  Type huge;
  ASSERT_FALSE(type_vector_c(kHuge, 8, 1, *none, &huge));
  EXPECT_EQ(huge->layout->size(), 0);
}

TEST(Datatype, BadArgumentsAreRefused) {
  Type type;
  const int negative[] = {1, -1}, places[] = {0, 1}, two[] = {2, 2}, three[] = {3, 3};
  const MPI_Aint addresses[] = {0, 8};
  const MPI_Datatype bad[] = {MPI_INT, MPI_DATATYPE_NULL};
  const Ints null;
  auto& integer = of(MPI_INT);
  EXPECT_EQ(type_indexed(2, negative, places, integer, &type).message(),
            "array_of_blocklengths[1] is -1: it may not be negative");
  EXPECT_EQ(type_indexed(2, null, places, integer, &type).mpi_class(), MPI_ERR_ARG);
  EXPECT_EQ(type_indexed(2, places, null, integer, &type).mpi_class(), MPI_ERR_ARG);
  EXPECT_EQ(type_create_indexed_block(2, 1, null, integer, &type).mpi_class(), MPI_ERR_ARG);
  EXPECT_EQ(type_create_struct(2, negative, addresses, bad, &type).mpi_class(), MPI_ERR_TYPE);
  EXPECT_EQ(type_create_struct(2, places, addresses, bad, &type).message(), "array_of_types[1] is MPI_DATATYPE_NULL");
  EXPECT_EQ(type_create_subarray(2, two, three, places, MPI_ORDER_C, integer, &type).mpi_class(), MPI_ERR_ARG);
  EXPECT_EQ(type_create_subarray(2, two, two, places, MPI_ORDER_C, integer, &type).mpi_class(), MPI_ERR_ARG);
  EXPECT_EQ(type_create_subarray(2, three, two, places, 7, integer, &type).mpi_class(), MPI_ERR_ARG);
  const int dealt[] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_NONE},
            by_default[] = {MPI_DISTRIBUTE_DFLT_DARG, MPI_DISTRIBUTE_DFLT_DARG};
  EXPECT_EQ(type_create_darray(5, 0, 2, three, dealt, by_default, two, MPI_ORDER_C, integer, &type).mpi_class(),
            MPI_ERR_ARG);
  EXPECT_EQ(type_create_darray(4, 0, 2, three, dealt, by_default, two, MPI_ORDER_C, integer, &type).mpi_class(),
            MPI_ERR_ARG);
  EXPECT_EQ(type_contiguous_c(kHuge, integer, &type).mpi_class(), MPI_ERR_ARG);
  EXPECT_EQ(type_vector_c(kHuge, kHuge, 1, integer, &type).mpi_class(), MPI_ERR_ARG);
  EXPECT_EQ(type.handle, MPI_DATATYPE_NULL);
  MPI_Datatype predefined = MPI_INT;
  EXPECT_EQ(type_free(&predefined).mpi_class(), MPI_ERR_TYPE);
}

// --- life

TEST(Datatype, PartsLiveAsLongAsWhatIsMadeOfThem) {
  Type inner, outer;
  ASSERT_FALSE(type_vector(2, 1, 2, of(MPI_INT), &inner));
  ASSERT_FALSE(type_contiguous(2, *inner, &outer));
  Datatype* freed = &*inner;
  ASSERT_FALSE(type_free(&inner));
  EXPECT_EQ(inner.handle, MPI_DATATYPE_NULL);
  EXPECT_EQ(ints_of(*outer), (List{0, 2, 3, 5}));
  int integers[1];
  MPI_Aint addresses[1];
  Type again;
  ASSERT_FALSE(type_get_contents(*outer, 1, 0, 1, integers, addresses, &again));
  EXPECT_EQ(&*again, freed);
  ASSERT_FALSE(type_free(&outer));
  EXPECT_EQ(again->layout->size(), 8);
}

// --- envelope and contents

struct Envelope {
  int64_t integers = -1, addresses = -1, large = -1, datatypes = -1;
  int combiner = 0;
};
Envelope envelope(const Datatype& type) {
  Envelope e;
  EXPECT_FALSE(type_get_envelope_c(type, e.integers, e.addresses, e.large, e.datatypes, &e.combiner));
  return e;
}

void expect_contents(const Datatype& type, int combiner, List integers, std::vector<MPI_Aint> addresses,
                     std::vector<MPI_Count> large, std::vector<MPI_Datatype> types) {
  const Envelope e = envelope(type);
  EXPECT_EQ(e.combiner, combiner);
  ASSERT_EQ(e.integers, static_cast<int64_t>(integers.size()));
  ASSERT_EQ(e.addresses, static_cast<int64_t>(addresses.size()));
  ASSERT_EQ(e.large, static_cast<int64_t>(large.size()));
  ASSERT_EQ(e.datatypes, static_cast<int64_t>(types.size()));
  List i(integers.size());
  std::vector<MPI_Aint> a(addresses.size());
  std::vector<MPI_Count> c(large.size());
  std::vector<MPI_Datatype> t(types.size());
  ASSERT_FALSE(
      type_get_contents_c(type, e.integers, e.addresses, e.large, e.datatypes, i.data(), a.data(), c.data(), t.data()));
  EXPECT_EQ(i, integers);
  EXPECT_EQ(a, addresses);
  EXPECT_EQ(c, large);
  EXPECT_EQ(t, types);
}

TEST(Datatype, ContentsAreTheArguments) {
  const int lengths[] = {2, 1}, places[] = {5, 0}, sizes[] = {4, 6}, ones[] = {1, 1};
  const MPI_Aint addresses[] = {20, 0};
  const MPI_Datatype types[] = {MPI_INT, MPI_CHAR};
  const int distribs[] = {MPI_DISTRIBUTE_NONE, MPI_DISTRIBUTE_BLOCK};
  const int dargs[] = {MPI_DISTRIBUTE_DFLT_DARG, 6};
  auto& integer = of(MPI_INT);
  Type t[11];
  ASSERT_FALSE(type_contiguous(3, integer, &t[0]));
  expect_contents(*t[0], MPI_COMBINER_CONTIGUOUS, {3}, {}, {}, {MPI_INT});
  ASSERT_FALSE(type_vector(2, 3, 4, integer, &t[1]));
  expect_contents(*t[1], MPI_COMBINER_VECTOR, {2, 3, 4}, {}, {}, {MPI_INT});
  ASSERT_FALSE(type_create_hvector(2, 3, 40, integer, &t[2]));
  expect_contents(*t[2], MPI_COMBINER_HVECTOR, {2, 3}, {40}, {}, {MPI_INT});
  ASSERT_FALSE(type_indexed(2, lengths, places, integer, &t[3]));
  expect_contents(*t[3], MPI_COMBINER_INDEXED, {2, 2, 1, 5, 0}, {}, {}, {MPI_INT});
  ASSERT_FALSE(type_create_hindexed(2, lengths, addresses, integer, &t[4]));
  expect_contents(*t[4], MPI_COMBINER_HINDEXED, {2, 2, 1}, {20, 0}, {}, {MPI_INT});
  ASSERT_FALSE(type_create_indexed_block(2, 7, places, integer, &t[5]));
  expect_contents(*t[5], MPI_COMBINER_INDEXED_BLOCK, {2, 7, 5, 0}, {}, {}, {MPI_INT});
  ASSERT_FALSE(type_create_hindexed_block(2, 7, addresses, integer, &t[6]));
  expect_contents(*t[6], MPI_COMBINER_HINDEXED_BLOCK, {2, 7}, {20, 0}, {}, {MPI_INT});
  ASSERT_FALSE(type_create_struct(2, lengths, addresses, types, &t[7]));
  expect_contents(*t[7], MPI_COMBINER_STRUCT, {2, 2, 1}, {20, 0}, {}, {MPI_INT, MPI_CHAR});
  ASSERT_FALSE(type_create_subarray(2, sizes, lengths, ones, MPI_ORDER_C, integer, &t[8]));
  expect_contents(*t[8], MPI_COMBINER_SUBARRAY, {2, 4, 6, 2, 1, 1, 1, MPI_ORDER_C}, {}, {}, {MPI_INT});
  ASSERT_FALSE(type_create_darray(1, 0, 2, sizes, distribs, dargs, ones, MPI_ORDER_C, integer, &t[9]));
  expect_contents(*t[9], MPI_COMBINER_DARRAY, {1, 0, 2, 4, 6, distribs[0], distribs[1], dargs[0], 6, 1, 1, MPI_ORDER_C},
                  {}, {}, {MPI_INT});
  ASSERT_FALSE(type_create_resized(integer, -4, 12, &t[10]));
  expect_contents(*t[10], MPI_COMBINER_RESIZED, {}, {-4, 12}, {}, {MPI_INT});
}

TEST(Datatype, LargeFormsHaveLargeContents) {
  const MPI_Count lengths[] = {2, 1}, places[] = {20, 0}, sizes[] = {4, 6}, ones[] = {1, 1};
  auto& integer = of(MPI_INT);
  Type t[6];
  ASSERT_FALSE(type_contiguous_c(3'000'000'000, integer, &t[0]));
  expect_contents(*t[0], MPI_COMBINER_CONTIGUOUS, {}, {}, {3'000'000'000}, {MPI_INT});
  int64_t size = 0;
  ASSERT_FALSE(type_size(*t[0], size));
  EXPECT_EQ(size, 12'000'000'000);
  ASSERT_FALSE(type_create_hvector_c(2, 3, 40, integer, &t[1]));
  expect_contents(*t[1], MPI_COMBINER_HVECTOR, {}, {}, {2, 3, 40}, {MPI_INT});
  ASSERT_FALSE(type_create_hindexed_c(2, lengths, places, integer, &t[2]));
  expect_contents(*t[2], MPI_COMBINER_HINDEXED, {}, {}, {2, 2, 1, 20, 0}, {MPI_INT});
  ASSERT_FALSE(type_create_subarray_c(2, sizes, lengths, ones, MPI_ORDER_C, integer, &t[3]));
  expect_contents(*t[3], MPI_COMBINER_SUBARRAY, {2, MPI_ORDER_C}, {}, {4, 6, 2, 1, 1, 1}, {MPI_INT});
  ASSERT_FALSE(type_create_resized_c(integer, -4, 12, &t[4]));
  expect_contents(*t[4], MPI_COMBINER_RESIZED, {}, {}, {-4, 12}, {MPI_INT});
  int64_t n = 0;
  int combiner = 0;
  EXPECT_EQ(type_get_envelope(*t[0], n, n, n, &combiner).mpi_class(), MPI_ERR_TYPE);
}

TEST(Datatype, ContentsNeedRoom) {
  Type type;
  ASSERT_FALSE(type_vector(2, 3, 4, of(MPI_INT), &type));
  int integers[3];
  MPI_Datatype types[1];
  EXPECT_EQ(type_get_contents(*type, 2, 0, 1, integers, nullptr, types).mpi_class(), MPI_ERR_ARG);
  EXPECT_EQ(type_get_contents(*type, 3, 0, 0, integers, nullptr, types).mpi_class(), MPI_ERR_ARG);
  EXPECT_FALSE(type_get_contents(*type, 3, 0, 1, integers, nullptr, types));
  EXPECT_EQ(type_get_contents(of(MPI_INT), 9, 9, 9, integers, nullptr, types).mpi_class(), MPI_ERR_TYPE);
  EXPECT_EQ(envelope(of(MPI_INT)).combiner, MPI_COMBINER_NAMED);
  EXPECT_EQ(envelope(of(MPI_INT)).datatypes, 0);
}

TEST(Datatype, NamesAreCutToTheRoomForThem) {
  Type type;
  ASSERT_FALSE(type_contiguous(1, of(MPI_INT), &type));
  char name[MPI_MAX_OBJECT_NAME] = "x";
  int length = -1;
  ASSERT_FALSE(type_get_name(&*type, name, &length));
  EXPECT_STREQ(name, "");
  ASSERT_FALSE(type_set_name(*type, std::string(500, 'n').c_str()));
  ASSERT_FALSE(type_get_name(&*type, name, &length));
  EXPECT_EQ(length, MPI_MAX_OBJECT_NAME - 1);
  EXPECT_EQ(std::strlen(name), static_cast<size_t>(length));
}

TEST(Datatype, DupIsTheSameTypeInAllBut) {
  Type vector, copy, of_predefined;
  ASSERT_FALSE(type_vector(2, 1, 2, of(MPI_INT), &vector));
  ASSERT_FALSE(type_commit(&vector));
  ASSERT_FALSE(type_dup(*vector, &copy));
  EXPECT_TRUE(copy->committed);
  EXPECT_EQ(copy->layout, vector->layout);
  EXPECT_EQ(copy->signature, vector->signature);
  expect_contents(*copy, MPI_COMBINER_DUP, {}, {}, {}, {vector.handle});
  MPI_Datatype held = vector.handle;  // expect_contents was given a reference
  ASSERT_FALSE(type_free(&held));
  ASSERT_FALSE(type_dup(of(MPI_FLOAT), &of_predefined));
  EXPECT_EQ(of_predefined->element, Element::float32);
}

// --- counts in a status

int64_t count_of(int64_t bytes, const Datatype& type, bool elements = false) {
  MPI_Status status{};
  set_status_bytes(status, bytes);
  int64_t count = -1;
  EXPECT_FALSE(elements ? get_elements(&status, type, count) : get_count(&status, type, count));
  return count;
}

TEST(Datatype, CountsAndElementsOfAMessage) {
  Type two, nested, empty;
  ASSERT_FALSE(type_contiguous(2, of(MPI_FLOAT), &two));  // 5.1.11's example
  EXPECT_EQ(count_of(8, *two), 1);
  EXPECT_EQ(count_of(12, *two), MPI_UNDEFINED);
  EXPECT_EQ(count_of(12, *two, true), 3);
  EXPECT_EQ(count_of(13, *two, true), MPI_UNDEFINED);
  EXPECT_EQ(count_of(0, *two), 0);
  const int lengths[] = {3, 2, 1};
  const MPI_Aint places[] = {0, 64, 128};
  const MPI_Datatype types[] = {MPI_CHAR, two.handle, MPI_DOUBLE_INT};
  ASSERT_FALSE(type_create_struct(3, lengths, places, types, &nested));
  EXPECT_EQ(nested->basic_elements, 9);
  // char char char | float float | float float | double int
  const std::vector<std::pair<int64_t, int64_t>> ends = {{0, 0},  {1, 1},  {3, 3},  {7, 4},   {11, 5},  {15, 6},
                                                         {19, 7}, {27, 8}, {31, 9}, {32, 10}, {62, 18}, {69, 22}};
  for (const auto& [bytes, elements] : ends) {
    EXPECT_EQ(count_of(bytes, *nested, true), elements) << bytes;
    EXPECT_EQ(bytes_of(*nested, elements), bytes);
  }
  EXPECT_EQ(count_of(5, *nested, true), MPI_UNDEFINED);
  EXPECT_EQ(count_of(25, *nested, true), MPI_UNDEFINED);
  ASSERT_FALSE(type_contiguous(0, of(MPI_INT), &empty));
  EXPECT_EQ(count_of(0, *empty), 0);
  EXPECT_EQ(count_of(4, *empty), MPI_UNDEFINED);
  EXPECT_EQ(count_of(12'000'000'000, of(MPI_INT)), 3'000'000'000);
}

TEST(Datatype, ElementsCanBeSetInAStatus) {
  MPI_Status status{};
  set_status_cancelled(status, true);
  ASSERT_FALSE(status_set_elements(&status, of(MPI_DOUBLE_INT), 5));
  EXPECT_EQ(status_bytes(status), 12 + 12 + 8);
  EXPECT_TRUE(status_cancelled(status));
  int64_t count = 0;
  ASSERT_FALSE(get_elements(&status, of(MPI_DOUBLE_INT), count));
  EXPECT_EQ(count, 5);
  Type empty;
  ASSERT_FALSE(type_contiguous(0, of(MPI_INT), &empty));
  EXPECT_EQ(status_set_elements(&status, *empty, 1).mpi_class(), MPI_ERR_ARG);
}

// --- types by property

TEST(Datatype, FoundByProperty) {
  MPI_Datatype found = MPI_INT;
  ASSERT_FALSE(type_match_size(MPI_TYPECLASS_REAL, 8, &found));
  EXPECT_EQ(found, MPI_REAL8);
  ASSERT_FALSE(type_match_size(MPI_TYPECLASS_COMPLEX, 8, &found));
  EXPECT_EQ(found, MPI_COMPLEX8);
  EXPECT_EQ(type_match_size(MPI_TYPECLASS_INTEGER, 3, &found).mpi_class(), MPI_ERR_ARG);
  EXPECT_EQ(type_match_size(5, 4, &found).mpi_class(), MPI_ERR_ARG);
  ASSERT_FALSE(type_get_value_index(of(MPI_DOUBLE), of(MPI_INT), &found));
  EXPECT_EQ(found, MPI_DOUBLE_INT);
  ASSERT_FALSE(type_get_value_index(of(MPI_DOUBLE), of(MPI_DOUBLE), &found));
  EXPECT_EQ(found, MPI_DATATYPE_NULL);
}

TEST(Datatype, FortranTypesByPrecision) {
  MPI_Datatype one = MPI_DATATYPE_NULL, same = MPI_DATATYPE_NULL;
  ASSERT_FALSE(type_create_f90_real(15, MPI_UNDEFINED, &one));
  ASSERT_FALSE(type_create_f90_real(15, MPI_UNDEFINED, &same));
  EXPECT_EQ(one, same);
  EXPECT_EQ(of(one).layout->size(), 8);
  expect_contents(of(one), MPI_COMBINER_F90_REAL, {15, MPI_UNDEFINED}, {}, {}, {});
  const Error freed = type_free(&one);
  EXPECT_EQ(freed.mpi_class(), MPI_ERR_TYPE);
  EXPECT_EQ(freed.message(), "a datatype of MPI_Type_create_f90_real is predefined and cannot be freed");
  ASSERT_FALSE(type_create_f90_complex(6, 200, &one));
  EXPECT_EQ(of(one).layout->size(), 16);
#if LDBL_MANT_DIG == 64  // kind 10 of gfortran, whose numbers are not those of 16 bytes by IEEE
  using Asked = std::pair<int, int>;
  for (const auto& [p, r] : {Asked(16, MPI_UNDEFINED), Asked(18, 4931), Asked(MPI_UNDEFINED, 308)}) {
    ASSERT_FALSE(type_create_f90_real(p, r, &one));
    EXPECT_EQ(of(one).element, of(MPI_LONG_DOUBLE).element);
    ASSERT_FALSE(type_create_f90_complex(p, r, &one));
    EXPECT_EQ(of(one).element, of(MPI_C_LONG_DOUBLE_COMPLEX).element);
  }
#endif
  ASSERT_FALSE(type_create_f90_real(19, 4931, &one));
  EXPECT_EQ(of(one).element, of(MPI_REAL16).element);
  ASSERT_FALSE(type_create_f90_integer(10, &one));
  EXPECT_EQ(of(one).layout->size(), 8);
  expect_contents(of(one), MPI_COMBINER_F90_INTEGER, {10}, {}, {}, {});
  EXPECT_EQ(type_create_f90_integer(99, &one).mpi_class(), MPI_ERR_ARG);
  EXPECT_EQ(type_create_f90_real(MPI_UNDEFINED, MPI_UNDEFINED, &one).mpi_class(), MPI_ERR_ARG);
  EXPECT_EQ(type_create_f90_real(34, MPI_UNDEFINED, &one).message(), "no type has 34 decimal digits");
}

}  // namespace
}  // namespace tutti::mpi
