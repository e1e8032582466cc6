// SPDX-License-Identifier: BSD-3-Clause
// A program of sessions alone: process sets, infos, groups, communicators, and that the World Model is not
// there; several sessions at once and one after the other.
#include "session.hpp"

namespace {

void psets(MPI_Session mine, int rank, int size) {
  int count = 0;
  OK(MPI_Session_get_num_psets(mine, MPI_INFO_NULL, &count));
  CHECK(count >= 2);
  bool world = false, self = false;
  for (int n = 0; n < count; ++n) {
    int length = 0;
    OK(MPI_Session_get_nth_pset(mine, MPI_INFO_NULL, n, &length, nullptr));
    CHECK(length > 1 && length <= MPI_MAX_PSET_NAME_LEN);
    std::vector<char> name(static_cast<size_t>(length) + 1, '?');
    int room = length;
    OK(MPI_Session_get_nth_pset(mine, MPI_INFO_NULL, n, &room, name.data()));
    CHECK_EQ(room, length);
    CHECK_EQ(static_cast<int>(std::strlen(name.data())) + 1, length);
    CHECK_EQ(name[static_cast<size_t>(length)], '?');
    room = 5;  // cut short, with its end
    std::vector<char> cut(6, '?');
    OK(MPI_Session_get_nth_pset(mine, MPI_INFO_NULL, n, &room, cut.data()));
    CHECK_EQ(room, length);
    CHECK_EQ(std::strlen(cut.data()), size_t{4});
    CHECK_EQ(cut[5], '?');

    MPI_Info info = MPI_INFO_NULL;
    OK(MPI_Session_get_pset_info(mine, name.data(), &info));
    char value[16] = "";
    int flag = 0, room_of_value = sizeof value;
    OK(MPI_Info_get_string(info, "mpi_size", &room_of_value, value, &flag));
    CHECK(flag);
    OK(MPI_Info_free(&info));
    MPI_Group group = session::group(mine, name.data());
    int members = 0;
    OK(MPI_Group_size(group, &members));
    CHECK_EQ(members, std::atoi(value));
    if (!std::strcmp(name.data(), "mpi://WORLD")) {
      world = true;
      CHECK_EQ(members, size);
      int me = -1;
      OK(MPI_Group_rank(group, &me));
      CHECK_EQ(me, rank);
    }
    if (!std::strcmp(name.data(), "mpi://SELF")) {
      self = true;
      CHECK_EQ(members, 1);
    }
    OK(MPI_Group_free(&group));
  }
  CHECK(world && self);
  int room = 0;
  CHECK_EQ(check::error_class(MPI_Session_get_nth_pset(mine, MPI_INFO_NULL, count, &room, nullptr)), MPI_ERR_ARG);
  MPI_Group none = MPI_GROUP_NULL;
  CHECK_EQ(check::error_class(MPI_Group_from_session_pset(mine, "mpi://NOBODY", &none)), MPI_ERR_ARG);
}

void world_is_not_there() {
  int flag = -1;
  OK(MPI_Initialized(&flag));
  CHECK(!flag);
  OK(MPI_Finalized(&flag));
  CHECK(!flag);
}

// A group that is put together of others: odd ranks, in the other direction.
void parts(MPI_Session mine, int rank, int size) {
  MPI_Group all = session::group(mine), some = MPI_GROUP_NULL;
  int range[1][3] = {{size - 1, 0, -1}};
  OK(MPI_Group_range_incl(all, 1, range, &some));
  MPI_Comm turned = session::comm(some, "turned");
  int me = -1;
  OK(MPI_Comm_rank(turned, &me));
  CHECK_EQ(me, size - 1 - rank);
  session::use(turned, 3);
  MPI_Comm copy = MPI_COMM_NULL, half = MPI_COMM_NULL;
  OK(MPI_Comm_dup(turned, &copy));
  session::use(copy, 4);
  OK(MPI_Comm_split(copy, me % 2, me, &half));
  session::use(half, 5);
  OK(MPI_Comm_free(&half));
  OK(MPI_Comm_free(&copy));
  OK(MPI_Comm_free(&turned));
  OK(MPI_Group_free(&some));

  std::vector<int> odd;
  for (int r = 1; r < size; r += 2) odd.push_back(r);
  OK(MPI_Group_incl(all, static_cast<int>(odd.size()), odd.data(), &some));
  if (odd.empty()) {
    MPI_Comm nothing = MPI_COMM_SELF;
    OK(MPI_Comm_create_from_group(some, "odd", MPI_INFO_NULL, MPI_ERRORS_RETURN, &nothing));
    CHECK(nothing == MPI_COMM_NULL);
  } else if (rank % 2 == 1) {
    MPI_Comm comm = session::comm(some, "odd");
    session::use(comm, 6);
    OK(MPI_Comm_disconnect(&comm));
  } else {
    MPI_Comm nothing = MPI_COMM_NULL;
    CHECK_EQ(check::error_class(MPI_Comm_create_from_group(some, "odd", MPI_INFO_NULL, MPI_ERRORS_RETURN, &nothing)),
             MPI_ERR_GROUP);
  }
  if (some != MPI_GROUP_EMPTY) OK(MPI_Group_free(&some));
  OK(MPI_Group_free(&all));
}

void windows(MPI_Comm comm) {
  int rank = -1, size = 0;
  OK(MPI_Comm_rank(comm, &rank));
  OK(MPI_Comm_size(comm, &size));
  int* memory = nullptr;
  MPI_Win win = MPI_WIN_NULL;
  OK(MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, comm, &memory, &win));
  *memory = -1;
  OK(MPI_Win_fence(0, win));
  OK(MPI_Put(&rank, 1, MPI_INT, (rank + 1) % size, 0, 1, MPI_INT, win));
  OK(MPI_Win_fence(0, win));
  CHECK_EQ(*memory, (rank + size - 1) % size);
  OK(MPI_Win_free(&win));
}

void levels(MPI_Session mine, const char* expected) {
  MPI_Info info = MPI_INFO_NULL;
  OK(MPI_Session_get_info(mine, &info));
  char value[64] = "";
  int flag = 0, room = sizeof value;
  OK(MPI_Info_get_string(info, "thread_level", &room, value, &flag));
  CHECK(flag);
  CHECK(!std::strcmp(value, expected));
  room = sizeof value;
  OK(MPI_Info_get_string(info, "mpi_memory_alloc_kinds", &room, value, &flag));
  CHECK(flag);
  CHECK(std::strstr(value, "system") && std::strstr(value, "mpi"));
  OK(MPI_Info_free(&info));
}

}  // namespace

int main() {
  world_is_not_there();
  MPI_Session first = session::begin("MPI_THREAD_FUNNELED");
  MPI_Comm all = session::comm(first, "mpi://WORLD", "all");
  int rank = -1, size = 0;
  OK(MPI_Comm_rank(all, &rank));
  OK(MPI_Comm_size(all, &size));
  check::world_rank = rank;
  world_is_not_there();
  levels(first, "MPI_THREAD_FUNNELED");
  psets(first, rank, size);
  session::use(all, 1);
  parts(first, rank, size);
  windows(all);

  MPI_Session second = session::begin();
  levels(second, "MPI_THREAD_SINGLE");
  MPI_Comm other = session::comm(second, "mpi://WORLD", "all");
  int same = -1;
  OK(MPI_Comm_compare(all, other, &same));
  CHECK_EQ(same, MPI_CONGRUENT);
  session::use(other, 2);
  MPI_Comm own = session::comm(second, "MPI://self", "own");
  session::use(own, 7);
  OK(MPI_Comm_free(&own));
  OK(MPI_Comm_free(&all));
  session::end(first);
  session::use(other, 8);
  OK(MPI_Comm_free(&other));
  session::end(second);
  world_is_not_there();

  for (int round = 0; round < 20; ++round) {
    MPI_Session again = session::begin();
    MPI_Comm comm = session::comm(again, "mpi://WORLD", "again");
    session::use(comm, round);
    OK(MPI_Comm_free(&comm));
    session::end(again);
  }
  if (rank == 0) std::puts("ok");
  return 0;
}
