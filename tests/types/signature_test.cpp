// SPDX-License-Identifier: BSD-3-Clause
// Signatures of datatypes: equal where the standard calls two type signatures equal, and else not.
#include <set>
#include <type_traits>

#include "types.hpp"

namespace tutti::mpi {
namespace {

TEST(Signature, IsTheSameForEveryFactoring) {
  Type two, six, mixed, twice;
  ASSERT_FALSE(type_contiguous(2, of(MPI_INT), &two));
  ASSERT_FALSE(type_vector(3, 1, 9, *two, &six));
  EXPECT_EQ(signature(*two, 10), signature(of(MPI_INT), 20));
  EXPECT_EQ(signature(*six, 10), signature(*two, 30));
  const int lengths[] = {3, 2};
  const MPI_Aint places[] = {100, 0};
  const MPI_Datatype types[] = {MPI_INT, MPI_DOUBLE};
  ASSERT_FALSE(type_create_struct(2, lengths, places, types, &mixed));
  ASSERT_FALSE(type_contiguous(2, *mixed, &twice));
  EXPECT_EQ(signature(*twice, 500), signature(*mixed, 1000));
  // The same by hand: i i i d d i i i d d …
  const Signature i = signature(of(MPI_INT), 1), d = signature(of(MPI_DOUBLE), 1);
  Signature all;
  for (int n = 0; n < 7; n++) all = all.then(i).then(i).then(i).then(d).then(d);
  EXPECT_EQ(signature(*mixed, 7), all);
  EXPECT_EQ(all.length(), 35u);
  // And cut elsewhere: i i i, then six times d d i i i, then d d.
  const Signature shifted = d.times(2).then(i.times(3));
  EXPECT_EQ(i.times(3).then(shifted.times(6)).then(d.times(2)), all);
}

TEST(Signature, DiffersForDifferentSequences) {
  const MPI_Datatype types[] = {MPI_INT, MPI_DOUBLE, MPI_CHAR, MPI_FLOAT, MPI_UNSIGNED, MPI_DOUBLE_INT};
  std::set<uint64_t> seen = {Signature().digest()};
  size_t made = 1;
  for (MPI_Datatype a : types) {
    for (int64_t n : {1, 2, 3, 1000}) seen.insert(signature(of(a), n).digest()), made++;
    for (MPI_Datatype b : types)
      if (a != b)
        for (int64_t n : {1, 2, 3, 1000}) seen.insert(signature(of(a), 2).then(signature(of(b), n)).digest()), made++;
  }
  EXPECT_EQ(seen.size(), made);
}

TEST(Signature, PairsAndNamesOfOneRepresentation) {
  const Signature i = signature(of(MPI_INT), 1), d = signature(of(MPI_DOUBLE), 1);
  EXPECT_EQ(signature(of(MPI_2INT), 3), i.times(6));
  EXPECT_EQ(signature(of(MPI_DOUBLE_INT), 2), d.then(i).times(2));
  EXPECT_EQ(signature(of(MPI_INT32_T), 4), signature(of(MPI_INTEGER), 4));
  EXPECT_EQ(signature(of(MPI_INT), 0), Signature());
}

TEST(Pattern, IsOneForAllCountsAndFactorings) {
  const MPI_Datatype parts[] = {MPI_INT, MPI_DOUBLE};
  const int lengths[] = {2, 1};
  const MPI_Aint places[] = {0, 8};
  Type mixed, thrice, ints, vector;
  ASSERT_FALSE(type_create_struct(2, lengths, places, parts, &mixed));
  ASSERT_FALSE(type_contiguous(3, *mixed, &thrice));
  ASSERT_FALSE(type_contiguous(7, of(MPI_INT), &ints));
  ASSERT_FALSE(type_vector(5, 2, 4, *thrice, &vector));
  EXPECT_EQ(ints->pattern, of(MPI_INT).pattern);
  EXPECT_EQ(of(MPI_2INT).pattern, of(MPI_INT).pattern);
  EXPECT_EQ(thrice->pattern, mixed->pattern);
  EXPECT_EQ(vector->pattern, mixed->pattern);
  EXPECT_NE(mixed->pattern, 0);
  EXPECT_EQ(of(MPI_BYTE).pattern, 0);
  // What a receive would take first: of whole structs, of its ints, of both and more.
  EXPECT_EQ(pattern_of(*vector, 3), mixed->pattern);
  EXPECT_EQ(pattern_of(*vector, 2), of(MPI_INT).pattern);
  EXPECT_EQ(pattern_of(*vector, 6), mixed->pattern);
  EXPECT_NE(pattern_of(*vector, 4), mixed->pattern);
  EXPECT_EQ(pattern_of(*vector, 0), 0);
}

// By chance two of them could have one: then one would be taken for the other.
TEST(Pattern, DiffersForDifferentPredefinedTypes) {
  // MPI_CHAR is the one of the two that char is on this machine.
  const MPI_Datatype other_char = std::is_signed_v<char> ? MPI_UNSIGNED_CHAR : MPI_SIGNED_CHAR;
  // clang-format off
  const MPI_Datatype types[] = {
      MPI_CHAR,          MPI_SHORT,       MPI_INT,      MPI_LONG,
      other_char,        MPI_UNSIGNED_SHORT, MPI_UNSIGNED, MPI_UNSIGNED_LONG,
      MPI_INTEGER16,     MPI_FLOAT,       MPI_DOUBLE,   MPI_LONG_DOUBLE,
      MPI_REAL2,         MPI_REAL16,      MPI_C_BOOL,   MPI_C_FLOAT_COMPLEX,
      MPI_C_DOUBLE_COMPLEX, MPI_C_LONG_DOUBLE_COMPLEX, MPI_COMPLEX4, MPI_COMPLEX32,
      MPI_LOGICAL,       MPI_LOGICAL2,    MPI_LOGICAL8, MPI_LOGICAL16,
      MPI_FLOAT_INT,     MPI_DOUBLE_INT,  MPI_LONG_INT, MPI_SHORT_INT,
      MPI_LONG_DOUBLE_INT};
  // clang-format on
  std::set<Pattern> seen;
  for (MPI_Datatype type : types) seen.insert(of(type).pattern);
  EXPECT_EQ(seen.size(), std::size(types));
}

TEST(Signature, BytesAndPackedDataAreWildcards) {
  EXPECT_FALSE(signature(of(MPI_BYTE), 4).exact());
  EXPECT_FALSE(signature(of(MPI_PACKED), 4).exact());
  EXPECT_EQ(signature(of(MPI_PACKED), 4).digest(), 0u);
  Type mixed;
  const int lengths[] = {1, 1};
  const MPI_Aint places[] = {0, 4};
  const MPI_Datatype types[] = {MPI_INT, MPI_BYTE};
  ASSERT_FALSE(type_create_struct(2, lengths, places, types, &mixed));
  EXPECT_EQ(signature(*mixed, 4).digest(), 0u);
  EXPECT_NE(signature(of(MPI_INT), 4).digest(), 0u);
}

}  // namespace
}  // namespace tutti::mpi
