// SPDX-License-Identifier: BSD-3-Clause
// Communicators of random subsets in random orders, made by their members alone and one after the other with the
// same tag: what one says to another about the second must not be taken for the first. Regular subsets too: strides,
// runs, the world backwards. Each is checked against the list that it was made of, by its group and by messages.
#include "check.hpp"

namespace {

// The same on all ranks.
std::vector<int> subset(int size, int turn) {
  std::mt19937 random(static_cast<unsigned>(turn) * 7919u + 1);
  std::vector<int> all(static_cast<size_t>(size)), some;
  std::iota(all.begin(), all.end(), 0);
  if (turn % 4 == 0) {
    std::shuffle(all.begin(), all.end(), random);
  } else if (turn % 4 == 1) {
    std::reverse(all.begin(), all.end());
  }
  const int step = turn % 3 + 1, first = static_cast<int>(random() % static_cast<unsigned>(size));
  for (int i = turn % 4 == 3 ? first : 0; i < size; i += step) some.push_back(all[static_cast<size_t>(i)]);
  return some;
}

void check_members(MPI_Comm comm, const std::vector<int>& members, int me, int turn) {
  int rank = -1, size = -1;
  OK(MPI_Comm_rank(comm, &rank));
  OK(MPI_Comm_size(comm, &size));
  CHECK_EQ(size, static_cast<int>(members.size()));
  CHECK_EQ(members[static_cast<size_t>(rank)], me);
  MPI_Group world, group;
  OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
  OK(MPI_Comm_group(comm, &group));
  std::vector<int> ranks(members.size()), back(members.size());
  std::iota(ranks.begin(), ranks.end(), 0);
  OK(MPI_Group_translate_ranks(group, size, ranks.data(), world, back.data()));
  for (size_t i = 0; i < members.size(); ++i) CHECK_EQ(back[i], members[i]);
  OK(MPI_Group_translate_ranks(world, size, members.data(), group, back.data()));
  for (size_t i = 0; i < members.size(); ++i) CHECK_EQ(back[i], ranks[i]);
  OK(MPI_Group_free(&group));
  OK(MPI_Group_free(&world));
  // A message to the next one says where it came from, and all of them together who all are.
  const int next = (rank + 1) % size, previous = (rank + size - 1) % size, mine = me * 1000 + turn;
  int got = -1;
  MPI_Status status;
  OK(MPI_Sendrecv(&mine, 1, MPI_INT, next, turn, &got, 1, MPI_INT, previous, turn, comm, &status));
  CHECK_EQ(got, members[static_cast<size_t>(previous)] * 1000 + turn);
  CHECK_EQ(status.MPI_SOURCE, previous);
  std::vector<int> all(members.size());
  OK(MPI_Allgather(&mine, 1, MPI_INT, all.data(), 1, MPI_INT, comm));
  for (size_t i = 0; i < members.size(); ++i) CHECK_EQ(all[i], members[i] * 1000 + turn);
}

}  // namespace

int main(int argc, char** argv) {
  check::Program world(&argc, &argv);
  const int me = world.rank();
  MPI_Group everybody;
  OK(MPI_Comm_group(MPI_COMM_WORLD, &everybody));
  for (int round = 0; round < 3; ++round) {
    struct Made {
      MPI_Comm comm;
      std::vector<int> members;
      int turn;
    };
    std::vector<Made> made;
    for (int turn = round * 10; turn < (round + 1) * 10; ++turn) {
      const std::vector<int> members = subset(world.size(), turn);
      if (std::find(members.begin(), members.end(), me) == members.end()) continue;
      MPI_Group group;
      OK(MPI_Group_incl(everybody, static_cast<int>(members.size()), members.data(), &group));
      MPI_Comm comm = MPI_COMM_NULL;
      OK(MPI_Comm_create_group(MPI_COMM_WORLD, group, 5, &comm));  // nothing in between: the next one follows at once
      OK(MPI_Group_free(&group));
      made.push_back({comm, members, turn});
    }
    for (Made& one : made) check_members(one.comm, one.members, me, one.turn);
    for (Made& one : made) {
      MPI_Comm duplicate;
      OK(MPI_Comm_dup(one.comm, &duplicate));
      int relation = -1;
      OK(MPI_Comm_compare(one.comm, duplicate, &relation));
      CHECK_EQ(relation, MPI_CONGRUENT);
      OK(MPI_Comm_free(&one.comm));
      check_members(duplicate, one.members, me, one.turn);
      OK(MPI_Comm_free(&duplicate));
    }
  }
  OK(MPI_Group_free(&everybody));
  return 0;
}
