// SPDX-License-Identifier: BSD-3-Clause
// Group functions: set algebra, ranges, translation, comparison; local, so each rank checks all.
#include "check.hpp"

namespace {

std::vector<int> members(MPI_Group group, MPI_Group world) {
  int size = -1;
  OK(MPI_Group_size(group, &size));
  std::vector<int> own(size), there(size);
  std::iota(own.begin(), own.end(), 0);
  OK(MPI_Group_translate_ranks(group, size, own.data(), world, there.data()));
  return there;
}
void expect(MPI_Group group, MPI_Group world, const std::vector<int>& expected, int line) {
  const auto got = members(group, world);
  CHECK_EQ_IN(got.size(), expected.size(), "line %d", line);
  for (size_t i = 0; i < got.size(); ++i) CHECK_EQ_IN(got[i], expected[i], "line %d, place %zu", line, i);
}
int comparison(MPI_Group a, MPI_Group b) {
  int result = -1;
  OK(MPI_Group_compare(a, b, &result));
  return result;
}

}  // namespace

int main(int argc, char** argv) {
  check::Program program(&argc, &argv);
  const int size = program.size(), rank = program.rank();
  MPI_Group world, even, backwards, none, group;
  OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
  int n = -1, r = -1;
  OK(MPI_Group_size(world, &n));
  CHECK_EQ(n, size);
  OK(MPI_Group_rank(world, &r));
  CHECK_EQ(r, rank);

  std::vector<int> evens, odds, reversed, all(size);
  std::iota(all.begin(), all.end(), 0);
  for (int i = 0; i < size; ++i) (i % 2 ? odds : evens).push_back(i);
  reversed.assign(all.rbegin(), all.rend());
  OK(MPI_Group_incl(world, evens.size(), evens.data(), &even));
  expect(even, world, evens, __LINE__);
  OK(MPI_Group_rank(even, &r));
  CHECK_EQ(r, rank % 2 ? MPI_UNDEFINED : rank / 2);
  OK(MPI_Group_excl(world, evens.size(), evens.data(), &group));
  expect(group, world, odds, __LINE__);
  if (odds.empty()) CHECK(group == MPI_GROUP_EMPTY);
  if (group != MPI_GROUP_EMPTY) OK(MPI_Group_free(&group));
  OK(MPI_Group_incl(world, size, reversed.data(), &backwards));
  expect(backwards, world, reversed, __LINE__);
  OK(MPI_Group_incl(world, 0, nullptr, &none));
  CHECK(none == MPI_GROUP_EMPTY);

  CHECK_EQ(comparison(world, world), MPI_IDENT);
  CHECK_EQ(comparison(world, backwards), size == 1 ? MPI_IDENT : MPI_SIMILAR);
  CHECK_EQ(comparison(world, even), size == 1 ? MPI_IDENT : MPI_UNEQUAL);
  CHECK_EQ(comparison(none, MPI_GROUP_EMPTY), MPI_IDENT);

  // The order of results: the first group's, then what the second adds.
  std::vector<int> upper;
  for (int i = size - 1; i >= size / 2; --i) upper.push_back(i);
  MPI_Group high;
  OK(MPI_Group_incl(world, upper.size(), upper.data(), &high));
  std::vector<int> both = evens, common, only;
  for (int i : upper)
    if (i % 2) both.push_back(i);
  for (int i : evens) (i >= size / 2 ? common : only).push_back(i);
  OK(MPI_Group_union(even, high, &group));
  expect(group, world, both, __LINE__);
  OK(MPI_Group_free(&group));
  OK(MPI_Group_intersection(even, high, &group));
  expect(group, world, common, __LINE__);
  if (group != MPI_GROUP_EMPTY) OK(MPI_Group_free(&group));
  OK(MPI_Group_difference(even, high, &group));
  expect(group, world, only, __LINE__);
  if (group != MPI_GROUP_EMPTY) OK(MPI_Group_free(&group));

  int ranges[2][3] = {{0, size - 1, 3}, {size > 1 ? 1 : 0, size - 1, 3}};
  std::vector<int> included;
  for (int i = 0; i < size; i += 3) included.push_back(i);
  if (size > 1)
    for (int i = 1; i < size; i += 3) included.push_back(i);
  OK(MPI_Group_range_incl(world, size > 1 ? 2 : 1, ranges, &group));
  expect(group, world, included, __LINE__);
  OK(MPI_Group_free(&group));
  std::vector<int> excluded;
  for (int i = 0; i < size; ++i)
    if (i % 3 == 2) excluded.push_back(i);
  OK(MPI_Group_range_excl(world, size > 1 ? 2 : 1, ranges, &group));
  expect(group, world, excluded, __LINE__);
  if (group != MPI_GROUP_EMPTY) OK(MPI_Group_free(&group));
  int down[1][3] = {{size - 1, 0, -1}};
  OK(MPI_Group_range_incl(world, 1, down, &group));
  expect(group, world, reversed, __LINE__);
  OK(MPI_Group_free(&group));

  // Translation: strangers are undefined, MPI_PROC_NULL stays what it is.
  std::vector<int> asked = all, answers(size + 1);
  asked.push_back(MPI_PROC_NULL);
  OK(MPI_Group_translate_ranks(world, size + 1, asked.data(), even, answers.data()));
  for (int i = 0; i < size; ++i) CHECK_EQ(answers[i], i % 2 ? MPI_UNDEFINED : i / 2);
  CHECK_EQ(answers[size], MPI_PROC_NULL);

  [[maybe_unused]] const int twice[] = {0, 0};
  const int beyond[] = {size};
  FAILS(MPI_Group_incl(world, 1, beyond, &group), MPI_ERR_RANK);
#ifndef OTHER_MPI  // which trust their callers
  if (size > 1) CHECK(MPI_Group_incl(world, 2, twice, &group) != MPI_SUCCESS);
#endif

  for (MPI_Group* each : {&world, &even, &backwards, &high}) {
    OK(MPI_Group_free(each));
    CHECK(*each == MPI_GROUP_NULL);
  }
}
