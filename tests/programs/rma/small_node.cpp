// SPDX-License-Identifier: BSD-3-Clause
// Windows on several nodes of which one, named by the first argument, has no room in /dev/shm for the second argument's MiB
// of each rank: its ranks have private memory and messages there, those of other nodes share theirs, and nobody is told.
// What both do together is right, MPI_Win_allocate_shared is refused there and there alone, and what could not be had has
// taken no room of what comes next.
#include <string>

#include "check.hpp"

namespace {

int me, size;
std::vector<int> node_of, has_room;  // of each rank: the first one of its node; whether there is room

bool shares(int a, int b) {
  return a == b || (node_of[static_cast<size_t>(a)] == node_of[static_cast<size_t>(b)]);
}

void find_nodes(const char* small, MPI_Comm node) {
  char name[MPI_MAX_PROCESSOR_NAME] = "";
  int length, first = me;
  OK(MPI_Get_processor_name(name, &length));
  OK(MPI_Bcast(&first, 1, MPI_INT, 0, node));
  const int room = std::string(name) != small;
  node_of.resize(static_cast<size_t>(size));
  has_room.resize(static_cast<size_t>(size));
  OK(MPI_Allgather(&first, 1, MPI_INT, node_of.data(), 1, MPI_INT, MPI_COMM_WORLD));
  OK(MPI_Allgather(&room, 1, MPI_INT, has_room.data(), 1, MPI_INT, MPI_COMM_WORLD));
  int with = 0;
  for (const int has : has_room) with += has;
  CHECK(with > 0 && with < size);  // or this shows nothing
}

// Each rank adds to the first and the last number of every part, and reads what it has put between them.
void operations(MPI_Win win, MPI_Aint last) {
  const long one = 1, mine = 100 + me;
  for (int target = 0; target < size; ++target) {
    OK(MPI_Win_lock(MPI_LOCK_SHARED, target, 0, win));
    OK(MPI_Accumulate(&one, 1, MPI_LONG, target, 0, 1, MPI_LONG, MPI_SUM, win));
    OK(MPI_Accumulate(&one, 1, MPI_LONG, target, last, 1, MPI_LONG, MPI_SUM, win));
    OK(MPI_Put(&mine, 1, MPI_LONG, target, 1 + me, 1, MPI_LONG, win));
    OK(MPI_Win_unlock(target, win));
  }
  // Taking turns, with what each has read of the one before.
  for (int turn = 0; turn < 20; ++turn)
    for (const int target : {0, size - 1, size / 2}) {
      long seen = -1;
      OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win));
      OK(MPI_Get(&seen, 1, MPI_LONG, target, 1 + size, 1, MPI_LONG, win));
      OK(MPI_Win_flush(target, win));
      ++seen;
      OK(MPI_Put(&seen, 1, MPI_LONG, target, 1 + size, 1, MPI_LONG, win));
      OK(MPI_Win_unlock(target, win));
    }
}

void allocated(MPI_Aint bytes, bool all_have_room) {
  const MPI_Aint last = bytes / static_cast<MPI_Aint>(sizeof(long)) - 1;
  long* mine = nullptr;
  MPI_Win win;
  OK(MPI_Win_allocate(bytes, sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &mine, &win));
  for (int r = 0; r < size; ++r) {
    MPI_Aint there = -1;
    int unit = -1;
    long* base = nullptr;
    OK(MPI_Win_shared_query(win, r, &there, &unit, &base));
    const bool near = r == me || (shares(me, r) && (all_have_room || has_room[static_cast<size_t>(me)]));
    CHECK_EQ_IN(there, near ? bytes : MPI_Aint{0}, "rank %d", r);
    CHECK((base != nullptr) == near);
    if (r == me) CHECK(base == mine);
  }
  for (const MPI_Aint i : {MPI_Aint{0}, last, MPI_Aint{1 + size}}) mine[i] = 0;
  OK(MPI_Win_fence(0, win));
  const long number = 7 + me;
  OK(MPI_Put(&number, 1, MPI_LONG, (me + 1) % size, 2 + size, 1, MPI_LONG, win));
  OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
  CHECK_EQ(mine[2 + size], static_cast<long>(7 + (me + size - 1) % size));
  operations(win, last);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPI_Win_lock(MPI_LOCK_SHARED, me, 0, win));
  CHECK_EQ(mine[0], static_cast<long>(size));
  CHECK_EQ(mine[last], static_cast<long>(size));
  for (int r = 0; r < size; ++r) CHECK_EQ(mine[1 + r], static_cast<long>(100 + r));
  int turns = 0;
  for (const int target : {0, size - 1, size / 2}) turns += target == me ? 20 * size : 0;
  CHECK_EQ(mine[1 + size], static_cast<long>(turns));
  OK(MPI_Win_unlock(me, win));
  OK(MPI_Win_free(&win));
}

void allocated_shared(MPI_Aint bytes, MPI_Comm node, bool is_room) {
  int error_class = MPI_SUCCESS;
  char* mine = nullptr;
  MPI_Win win = MPI_WIN_NULL;
  const int code = MPI_Win_allocate_shared(bytes, 1, MPI_INFO_NULL, node, &mine, &win);
  OK(MPI_Error_class(code, &error_class));
  CHECK_EQ(error_class, is_room ? MPI_SUCCESS : MPI_ERR_NO_MEM);
  if (is_room) OK(MPI_Win_free(&win));
}

}  // namespace

int main(int argc, char** argv) {
  check::Program mpi(&argc, &argv);
  CHECK(argc == 3);
  me = mpi.rank();
  size = mpi.size();
  const MPI_Aint bytes = static_cast<MPI_Aint>(std::atoi(argv[2])) << 20, few = 64 << 10;
  MPI_Comm node;
  OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node));
  OK(MPI_Comm_set_errhandler(node, MPI_ERRORS_RETURN));
  find_nodes(argv[1], node);
  const bool is_room = has_room[static_cast<size_t>(me)] != 0;
  for (int time = 0; time < 2; ++time) {
    allocated(bytes, false);
    allocated_shared(bytes, node, is_room);
    allocated(few, true);
    allocated_shared(few, node, true);
  }
  OK(MPI_Comm_free(&node));
}
