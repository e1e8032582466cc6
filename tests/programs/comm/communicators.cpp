// SPDX-License-Identifier: BSD-3-Clause
// Making, comparing, naming and freeing communicators; messages of one never reach another.
// NOT_OPENMPI: 4.1 mixes up MPI_Comm_idup with collectives of the parent.
#include "check.hpp"

namespace {

// Who is in it, in which order: everyone tells its world rank. A sum that is right proves little.
void expect(MPI_Comm comm, const std::vector<int>& members) {
  int size = -1, rank = -1;
  OK(MPI_Comm_size(comm, &size));
  OK(MPI_Comm_rank(comm, &rank));
  CHECK_EQ(size, members.size());
  CHECK_EQ(members[rank], check::world_rank);
  std::vector<int> told(size, -1);
  OK(MPI_Allgather(&check::world_rank, 1, MPI_INT, told.data(), 1, MPI_INT, comm));
  CHECK(told == members);
}
int comparison(MPI_Comm a, MPI_Comm b) {
  int result = -1;
  OK(MPI_Comm_compare(a, b, &result));
  return result;
}
std::vector<int> everyone(int size) {
  std::vector<int> all(size);
  std::iota(all.begin(), all.end(), 0);
  return all;
}

void dup(const check::Program& world) {
  const auto all = everyone(world.size());
  MPI_Comm copy, later[20];
  MPI_Request requests[20];
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &copy));
  CHECK_EQ(comparison(MPI_COMM_WORLD, copy), MPI_CONGRUENT);
  CHECK_EQ(comparison(copy, copy), MPI_IDENT);
  expect(copy, all);
  // The same message on two communicators: contexts keep them apart.
  const int to = (world.rank() + 1) % world.size();
  const int from = (world.rank() + world.size() - 1) % world.size();
  const int first = 1, second = 2;
  int got[2] = {0, 0};
  MPI_Request sends[2];
  OK(MPI_Isend(&first, 1, MPI_INT, to, 0, MPI_COMM_WORLD, &sends[0]));
  OK(MPI_Isend(&second, 1, MPI_INT, to, 0, copy, &sends[1]));
  OK(MPI_Recv(&got[1], 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, copy, MPI_STATUS_IGNORE));
  OK(MPI_Recv(&got[0], 1, MPI_INT, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  OK(MPI_Waitall(2, sends, MPI_STATUSES_IGNORE));
  CHECK_EQ(got[0], 1);
  CHECK_EQ(got[1], 2);

  // Many at once, with other collectives of the parent in between.
  int sums[20];
  MPI_Request reductions[20];
  for (int i = 0; i < 20; ++i) {
    OK(MPI_Comm_idup(copy, &later[i], &requests[i]));
    OK(MPI_Iallreduce(&i, &sums[i], 1, MPI_INT, MPI_SUM, copy, &reductions[i]));
    OK(MPI_Wait(&reductions[i], MPI_STATUS_IGNORE));
    CHECK_EQ(sums[i], i * world.size());
  }
  OK(MPI_Waitall(20, requests, MPI_STATUSES_IGNORE));
  for (int i = 19; i >= 0; --i) {
    expect(later[i], all);
    CHECK_EQ(comparison(later[i], copy), MPI_CONGRUENT);
    OK(MPI_Comm_free(&later[i]));
    CHECK(later[i] == MPI_COMM_NULL);
  }
  OK(MPI_Comm_free(&copy));
}

void split(const check::Program& world) {
  const int size = world.size(), rank = world.rank();
  for (int colours = 1; colours <= 3; ++colours) {
    MPI_Comm part;
    OK(MPI_Comm_split(MPI_COMM_WORLD, rank % colours, -rank, &part));  // keys turn the order round
    std::vector<int> members;
    for (int r = size - 1; r >= 0; --r)
      if (r % colours == rank % colours) members.push_back(r);
    expect(part, members);
    // A split of a split, ties in keys keep the parent's order.
    MPI_Comm half;
    int here = -1;
    OK(MPI_Comm_rank(part, &here));
    OK(MPI_Comm_split(part, here % 2, 7, &half));
    std::vector<int> few;
    for (size_t i = here % 2; i < members.size(); i += 2) few.push_back(members[i]);
    expect(half, few);
    OK(MPI_Comm_free(&half));
    OK(MPI_Comm_free(&part));
  }
  MPI_Comm some;
  OK(MPI_Comm_split(MPI_COMM_WORLD, rank % 3 == 1 ? MPI_UNDEFINED : 1000000 + rank % 3, 0, &some));
  CHECK_EQ(some == MPI_COMM_NULL, rank % 3 == 1);
  if (some != MPI_COMM_NULL) {
    std::vector<int> members;
    for (int r = rank % 3; r < size; r += 3) members.push_back(r);
    expect(some, members);
    OK(MPI_Comm_free(&some));
  }
  OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &some));
  int local = 0, place = -1;
  OK(MPI_Comm_size(some, &local));
  OK(MPI_Comm_rank(some, &place));
  CHECK(local >= 1 && local <= size && place < local);
  // Same node, same name; and the nodes make up the world.
  char name[MPI_MAX_PROCESSOR_NAME] = "", theirs[MPI_MAX_PROCESSOR_NAME] = "";
  int length = 0, leaders = place == 0 ? local : 0, total = 0;
  OK(MPI_Get_processor_name(name, &length));
  std::memcpy(theirs, name, sizeof name);
  OK(MPI_Bcast(theirs, sizeof theirs, MPI_CHAR, 0, some));
  CHECK(std::strcmp(name, theirs) == 0);
  OK(MPI_Allreduce(&leaders, &total, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
  CHECK_EQ(total, size);
  OK(MPI_Comm_free(&some));
  OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_UNDEFINED, rank, MPI_INFO_NULL, &some));
  CHECK(some == MPI_COMM_NULL);
}

void create(const check::Program& world) {
  const int size = world.size(), rank = world.rank();
  MPI_Group all, mine;
  OK(MPI_Comm_group(MPI_COMM_WORLD, &all));
  // Disjoint groups in one call, each in reverse order; rank 0 stays out when there are others.
  std::vector<int> members;
  for (int r = size - 1; r > 0; --r)
    if (r % 2 == rank % 2) members.push_back(r);
  if (rank == 0) members.clear();
  OK(MPI_Group_incl(all, members.size(), members.data(), &mine));
  MPI_Comm made;
  OK(MPI_Comm_create(MPI_COMM_WORLD, mine, &made));
  CHECK_EQ(made == MPI_COMM_NULL, members.empty());
  if (made != MPI_COMM_NULL) {
    expect(made, members);
    OK(MPI_Comm_free(&made));
  }
  // create_group is called by members only, here while the others are elsewhere.
  if (!members.empty()) {
    OK(MPI_Comm_create_group(MPI_COMM_WORLD, mine, 5, &made));
    expect(made, members);
    OK(MPI_Comm_free(&made));
  }
  if (mine != MPI_GROUP_EMPTY) OK(MPI_Group_free(&mine));

  // Overlapping groups {i, i+1, i+2}, each rank in up to three, told apart by tags.
  for (int round = 0; round < 10; ++round)
    for (int first = 0; first + 2 < size; ++first) {
      if (rank < first || rank > first + 2) continue;
      const int three[] = {first + 2, first, first + 1};
      OK(MPI_Group_incl(all, 3, three, &mine));
      OK(MPI_Comm_create_group(MPI_COMM_WORLD, mine, first, &made));
      expect(made, {three[0], three[1], three[2]});
      OK(MPI_Group_free(&mine));
      OK(MPI_Comm_free(&made));
    }
  OK(MPI_Group_free(&all));
}

void names() {
  char name[MPI_MAX_OBJECT_NAME];
  int length = -1;
  OK(MPI_Comm_get_name(MPI_COMM_WORLD, name, &length));
  CHECK(std::string(name) == "MPI_COMM_WORLD");
  CHECK_EQ(length, 14);
  OK(MPI_Comm_get_name(MPI_COMM_SELF, name, &length));
  CHECK(std::string(name) == "MPI_COMM_SELF");
  MPI_Comm copy, again;
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &copy));
  OK(MPI_Comm_get_name(copy, name, &length));
  CHECK_EQ(length, 0);
  OK(MPI_Comm_set_name(copy, "rows of the matrix"));
  OK(MPI_Comm_dup(copy, &again));
  OK(MPI_Comm_get_name(copy, name, &length));
  CHECK(std::string(name) == "rows of the matrix");
  CHECK_EQ(length, 18);
  OK(MPI_Comm_get_name(again, name, &length));
  CHECK_EQ(length, 0);  // a copy is not given the name
  OK(MPI_Comm_free(&copy));
  OK(MPI_Comm_free(&again));
}

// Freed while messages are under way: they arrive.
void free_in_use(const check::Program& world) {
  const int to = (world.rank() + 1) % world.size();
  const int from = (world.rank() + world.size() - 1) % world.size();
  MPI_Comm copy;
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &copy));
  std::vector<int> out(100000, world.rank()), in(100000, -1);
  int sum = -1;
  MPI_Request requests[3];
  OK(MPI_Irecv(in.data(), in.size(), MPI_INT, from, 0, copy, &requests[0]));
  OK(MPI_Isend(out.data(), out.size(), MPI_INT, to, 0, copy, &requests[1]));
  OK(MPI_Iallreduce(&to, &sum, 1, MPI_INT, MPI_SUM, copy, &requests[2]));
  OK(MPI_Comm_free(&copy));
  OK(MPI_Waitall(3, requests, MPI_STATUSES_IGNORE));
  CHECK_EQ(in[0], from);
  CHECK_EQ(in[99999], from);
  CHECK_EQ(sum, world.size() * (world.size() - 1) / 2);
}

}  // namespace

int main(int argc, char** argv) {
  check::Program world(&argc, &argv);
  expect(MPI_COMM_SELF, {world.rank()});
  dup(world);
  split(world);
  create(world);
  names();
  free_in_use(world);
  if (world.size() > 1) CHECK_EQ(comparison(MPI_COMM_WORLD, MPI_COMM_SELF), MPI_UNEQUAL);
  int inter = -1;
  OK(MPI_Comm_test_inter(MPI_COMM_WORLD, &inter));
  CHECK_EQ(inter, 0);
}
