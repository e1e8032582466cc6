// SPDX-License-Identifier: BSD-3-Clause
// Divisions of MPI_COMM_WORLD by colors and keys that are regular, by some that are not, and by groups: each new
// communicator has the ranks that it has to have, in their order, and works. With many ranks they are told in runs.
#include "check.hpp"

namespace {

int ranks = 0;  // of MPI_COMM_WORLD

struct Said {
  int color, key;
};

// The ranks of one color by key and rank.
std::vector<int> members_of(const std::vector<Said>& all, int color) {
  std::vector<int> members;
  for (size_t rank = 0; rank < all.size(); ++rank)
    if (all[rank].color == color) members.push_back(static_cast<int>(rank));
  std::ranges::stable_sort(members, {}, [&](int rank) { return all[static_cast<size_t>(rank)].key; });
  return members;
}

void expect_members(MPI_Comm comm, const std::vector<int>& members) {
  int size = 0, rank = 0;
  OK(MPI_Comm_size(comm, &size));
  OK(MPI_Comm_rank(comm, &rank));
  CHECK_EQ(size, static_cast<int>(members.size()));
  CHECK_EQ(members[static_cast<size_t>(rank)], check::world_rank);
  std::vector<int> all(members.size());
  const int mine = check::world_rank;
  OK(MPI_Allgather(&mine, 1, MPI_INT, all.data(), 1, MPI_INT, comm));
  CHECK(all == members);
}

void divide(const std::vector<Said>& all) {
  const Said mine = all[static_cast<size_t>(check::world_rank)];
  MPI_Comm comm = MPI_COMM_NULL;
  OK(MPI_Comm_split(MPI_COMM_WORLD, mine.color, mine.key, &comm));
  CHECK_EQ(comm == MPI_COMM_NULL, mine.color == MPI_UNDEFINED);
  if (comm == MPI_COMM_NULL) return;
  expect_members(comm, members_of(all, mine.color));
  // Once more, out of one whose ranks are other numbers than the world's.
  MPI_Comm again = MPI_COMM_NULL;
  int rank = 0;
  OK(MPI_Comm_rank(comm, &rank));
  OK(MPI_Comm_split(comm, rank % 2, -rank, &again));
  const std::vector<int> members = members_of(all, mine.color);
  std::vector<int> half;
  for (size_t i = members.size(); i-- > 0;)
    if (static_cast<int>(i) % 2 == rank % 2) half.push_back(members[i]);
  expect_members(again, half);
  OK(MPI_Comm_free(&again));
  OK(MPI_Comm_free(&comm));
}

template <class Rule>
void divide_by(Rule&& rule) {
  std::vector<Said> all;
  for (int rank = 0; rank < ranks; ++rank) all.push_back(rule(rank));
  divide(all);
}

void by_groups(int parts) {
  const int size = ranks, mine = check::world_rank % parts;
  std::vector<int> members;  // backwards
  for (int rank = size - 1; rank >= 0; --rank)
    if (rank % parts == mine) members.push_back(rank);
  const bool takes_part = mine != parts - 1;
  MPI_Group world = MPI_GROUP_NULL, group = MPI_GROUP_NULL;
  OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
  OK(MPI_Group_incl(world, takes_part ? static_cast<int>(members.size()) : 0, members.data(), &group));
  MPI_Comm comm = MPI_COMM_NULL;
  OK(MPI_Comm_create(MPI_COMM_WORLD, group, &comm));
  CHECK_EQ(comm != MPI_COMM_NULL, takes_part);
  if (comm != MPI_COMM_NULL) {
    expect_members(comm, members);
    OK(MPI_Comm_free(&comm));
  }
  if (group != MPI_GROUP_EMPTY) OK(MPI_Group_free(&group));
  OK(MPI_Group_free(&world));
}

void planes_of_a_grid() {
  int extents[3] = {};
  OK(MPI_Dims_create(ranks, 3, extents));
  const int periods[3] = {}, keep[3] = {1, 0, 1};
  MPI_Comm grid = MPI_COMM_NULL, plane = MPI_COMM_NULL;
  OK(MPI_Cart_create(MPI_COMM_WORLD, 3, extents, periods, 0, &grid));
  OK(MPI_Cart_sub(grid, keep, &plane));
  const int y = check::world_rank / extents[2] % extents[1];
  std::vector<int> members;
  for (int rank = 0; rank < ranks; ++rank)
    if (rank / extents[2] % extents[1] == y) members.push_back(rank);
  expect_members(plane, members);
  OK(MPI_Comm_free(&plane));
  OK(MPI_Comm_free(&grid));
}

void those_who_share_memory() {
  MPI_Comm comm = MPI_COMM_NULL;
  OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, -check::world_rank, MPI_INFO_NULL, &comm));
  int size = 0;
  OK(MPI_Comm_size(comm, &size));
  std::vector<int> all(static_cast<size_t>(size));
  const int mine = check::world_rank;
  OK(MPI_Allgather(&mine, 1, MPI_INT, all.data(), 1, MPI_INT, comm));
  CHECK(std::ranges::is_sorted(all, std::greater<>()));
  OK(MPI_Comm_free(&comm));
  const int type = check::world_rank % 2 ? int{MPI_UNDEFINED} : int{MPI_COMM_TYPE_SHARED};
  OK(MPI_Comm_split_type(MPI_COMM_WORLD, type, 0, MPI_INFO_NULL, &comm));
  CHECK_EQ(comm == MPI_COMM_NULL, check::world_rank % 2 == 1);
  if (comm != MPI_COMM_NULL) OK(MPI_Comm_free(&comm));
}

// Two groups, and one out of both again, in either order.
void two_groups() {
  if (ranks < 2) return;
  MPI_Comm side = MPI_COMM_NULL, between = MPI_COMM_NULL, both = MPI_COMM_NULL;
  const int odd = check::world_rank % 2;
  OK(MPI_Comm_split(MPI_COMM_WORLD, odd, 0, &side));
  OK(MPI_Intercomm_create(side, 0, MPI_COMM_WORLD, odd ? 0 : 1, 5, &between));
  for (const int high : {odd, 1 - odd}) {
    OK(MPI_Intercomm_merge(between, high, &both));
    std::vector<int> members;
    for (int turn = 0; turn < 2; ++turn)
      for (int rank = 0; rank < ranks; ++rank)
        if ((rank % 2 == odd ? high : 1 - high) == turn) members.push_back(rank);
    expect_members(both, members);
    OK(MPI_Comm_free(&both));
  }
  OK(MPI_Comm_free(&between));
  OK(MPI_Comm_free(&side));
}

}  // namespace

int main(int argc, char** argv) {
  const check::Program program(&argc, &argv);
  ranks = program.size();
  const int size = ranks;
  for (const int k : {1, 2, 3, 8, 20}) {
    divide_by([=](int r) { return Said{r % k, 0}; });
    divide_by([=](int r) { return Said{r / k, -r}; });
    divide_by([=](int r) { return Said{r % k ? MPI_UNDEFINED : 7, r}; });
  }
  divide_by([=](int r) { return Said{r < size / 2, 0}; });
  divide_by([=](int r) { return Said{0, r % 5}; });
  std::mt19937 random(11);
  for (int turn = 0; turn < 2; ++turn) {  // too many runs, and a few
    std::vector<Said> all;
    for (int rank = 0; rank < size; ++rank)
      all.push_back({static_cast<int>(random() % 3), turn ? static_cast<int>(random() % 4) : 0});
    divide(all);
  }
  by_groups(2);
  by_groups(3);
  planes_of_a_grid();
  those_who_share_memory();
  two_groups();
  return 0;
}
