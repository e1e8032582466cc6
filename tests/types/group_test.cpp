// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/comm/group.hpp"

#include <gtest/gtest.h>

#include <numeric>

#include "mpi/comm/api_group.hpp"

namespace tutti::mpi {
namespace {

// A handle that is freed at the end of the test.
struct Held {
  explicit Held(MPI_Group handle = MPI_GROUP_NULL) : handle(handle) {}
  Held(std::vector<int> processes, int rank) : handle(make_group(std::move(processes), rank)) {}
  Held(const Held&) = delete;
  ~Held() {
    if (handle != MPI_GROUP_NULL) {
      EXPECT_FALSE(group_free(&handle));
    }
    EXPECT_EQ(handle, MPI_GROUP_NULL);
  }
  Group& operator*() const { return *resolve<Group>(handle); }
  Group* operator->() const { return resolve<Group>(handle); }
  std::vector<int> processes() const { return resolve<Group>(handle)->processes.to_vector(); }
  MPI_Group handle;
};

using List = std::vector<int>;

TEST(Group, EmptyIsPredefined) {
  Group* empty = resolve<Group>(MPI_GROUP_EMPTY);
  ASSERT_NE(empty, nullptr);
  int size = -1, rank = 0;
  EXPECT_FALSE(group_size(*empty, &size));
  EXPECT_FALSE(group_rank(*empty, &rank));
  EXPECT_EQ(size, 0);
  EXPECT_EQ(rank, MPI_UNDEFINED);
  EXPECT_EQ(resolve<Group>(MPI_GROUP_NULL), nullptr);
  EXPECT_EQ(make_group({}, MPI_UNDEFINED), MPI_GROUP_EMPTY);
}

TEST(Group, InclKeepsTheOrderOfTheList) {
  Held world(List{10, 11, 12, 13, 14}, 3), some;
  const int ranks[] = {4, 0, 3};
  ASSERT_FALSE(group_incl(*world, 3, ranks, &some.handle));
  EXPECT_EQ(some.processes(), (List{14, 10, 13}));
  EXPECT_EQ(some->rank, 2);
  Held none;
  ASSERT_FALSE(group_incl(*world, 0, static_cast<const int*>(nullptr), &none.handle));
  EXPECT_EQ(none.handle, MPI_GROUP_EMPTY);
}

TEST(Group, ExclKeepsTheOrderOfTheGroup) {
  Held world(List{10, 11, 12, 13, 14}, 3), rest, without_me;
  const int ranks[] = {4, 0};
  ASSERT_FALSE(group_excl(*world, 2, ranks, &rest.handle));
  EXPECT_EQ(rest.processes(), (List{11, 12, 13}));
  EXPECT_EQ(rest->rank, 2);
  const int me[] = {3};
  ASSERT_FALSE(group_excl(*world, 1, me, &without_me.handle));
  EXPECT_EQ(without_me->rank, MPI_UNDEFINED);
}

TEST(Group, BadListsAreRefused) {
  Held world(List{10, 11, 12}, 0), out;
  const int twice[] = {1, 1}, outside[] = {0, 3}, negative[] = {-1};
  EXPECT_EQ(group_incl(*world, 2, twice, &out.handle).mpi_class(), MPI_ERR_RANK);
  EXPECT_EQ(group_incl(*world, 2, outside, &out.handle).mpi_class(), MPI_ERR_RANK);
  EXPECT_EQ(group_excl(*world, 1, negative, &out.handle).mpi_class(), MPI_ERR_RANK);
  EXPECT_NE(group_excl(*world, 2, twice, &out.handle).message().find("rank 1 stands twice"), std::string::npos);
  int zero_stride[][3] = {{0, 2, 0}}, backwards[][3] = {{2, 0, 1}}, beyond[][3] = {{0, 3, 1}};
  int overlapping[][3] = {{0, 1, 1}, {2, 1, -1}};
  EXPECT_EQ(group_range_incl(*world, 1, zero_stride, &out.handle).mpi_class(), MPI_ERR_ARG);
  EXPECT_EQ(group_range_incl(*world, 1, backwards, &out.handle).mpi_class(), MPI_ERR_ARG);
  EXPECT_EQ(group_range_incl(*world, 1, beyond, &out.handle).mpi_class(), MPI_ERR_RANK);
  EXPECT_EQ(group_range_excl(*world, 2, overlapping, &out.handle).mpi_class(), MPI_ERR_RANK);
  EXPECT_EQ(out.handle, MPI_GROUP_NULL);
}

TEST(Group, RangesCountBothWays) {
  Held world(List{10, 11, 12, 13, 14, 15, 16, 17}, 6), in, out;
  int ranges[][3] = {{6, 1, -2}, {0, 1, 5}, {7, 7, 1}};  // the last of the second is 0
  ASSERT_FALSE(group_range_incl(*world, 3, ranges, &in.handle));
  EXPECT_EQ(in.processes(), (List{16, 14, 12, 10, 17}));
  EXPECT_EQ(in->rank, 0);
  ASSERT_FALSE(group_range_excl(*world, 3, ranges, &out.handle));
  EXPECT_EQ(out.processes(), (List{11, 13, 15}));
}

TEST(Group, SetsKeepTheOrderOfTheStandard) {
  Held a(List{1, 2, 3, 4}, MPI_UNDEFINED), b(List{9, 4, 7, 2}, 2), both, common, left, none;
  ASSERT_FALSE(group_union(*a, *b, &both.handle));
  EXPECT_EQ(both.processes(), (List{1, 2, 3, 4, 9, 7}));
  EXPECT_EQ(both->rank, 5);
  ASSERT_FALSE(group_intersection(*b, *a, &common.handle));
  EXPECT_EQ(common.processes(), (List{4, 2}));
  ASSERT_FALSE(group_difference(*b, *a, &left.handle));
  EXPECT_EQ(left.processes(), (List{9, 7}));
  EXPECT_EQ(left->rank, 1);
  ASSERT_FALSE(group_difference(*a, *a, &none.handle));
  EXPECT_EQ(none.handle, MPI_GROUP_EMPTY);
}

TEST(Group, CompareSeesOrder) {
  Held a(List{1, 2, 3}, 0), b(List{3, 1, 2}, 0), c(List{1, 2, 4}, 0), d(List{1, 2, 3}, 0);
  int result = 0;
  EXPECT_FALSE(group_compare(*a, *d, &result));
  EXPECT_EQ(result, MPI_IDENT);
  EXPECT_FALSE(group_compare(*a, *b, &result));
  EXPECT_EQ(result, MPI_SIMILAR);
  EXPECT_FALSE(group_compare(*a, *c, &result));
  EXPECT_EQ(result, MPI_UNEQUAL);
  EXPECT_FALSE(group_compare(*a, *resolve<Group>(MPI_GROUP_EMPTY), &result));
  EXPECT_EQ(result, MPI_UNEQUAL);
}

TEST(Group, TranslatesRanks) {
  Held a(List{5, 6, 7}, 0), b(List{7, 5}, 0);
  const int ranks[] = {0, 1, MPI_PROC_NULL, 2};
  int translated[4];
  ASSERT_FALSE(group_translate_ranks(*a, 4, ranks, *b, translated));
  EXPECT_EQ((List{translated, translated + 4}), (List{1, MPI_UNDEFINED, MPI_PROC_NULL, 0}));
  const int outside[] = {3};
  EXPECT_EQ(group_translate_ranks(*a, 1, outside, *b, translated).mpi_class(), MPI_ERR_RANK);
}

TEST(Group, LargeGroupsAreNotQuadratic) {
  constexpr int size = 200'000;  // a quadratic look-up would take minutes
  List up(size), down(size), translated(size);
  std::iota(up.begin(), up.end(), 0);
  std::iota(down.rbegin(), down.rend(), 0);
  Held a(up, 0), b(down, 0), both;
  ASSERT_FALSE(group_translate_ranks(*a, size, up.data(), *b, translated.data()));
  EXPECT_EQ(translated, down);
  ASSERT_FALSE(group_union(*a, *b, &both.handle));
  EXPECT_EQ(both->size(), size);
  int result = 0;
  ASSERT_FALSE(group_compare(*a, *b, &result));
  EXPECT_EQ(result, MPI_SIMILAR);
}

}  // namespace
}  // namespace tutti::mpi
